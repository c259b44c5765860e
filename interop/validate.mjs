// Khronos' own validator over GLB files: `node validate.mjs FILE.glb …`. Errors and warnings fail; hints are printed.

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import validator from "gltf-validator";

const SEVERITIES = ["error", "warning", "information", "hint"];
let bad = 0;
for (const file of process.argv.slice(2)) {
  const bytes = new Uint8Array(await readFile(file));
  const { issues, info } = await validator.validateBytes(bytes, { uri: basename(file), maxIssues: 50 });
  const failed = issues.numErrors + issues.numWarnings > 0;
  bad += failed ? 1 : 0;
  const counts = `${issues.numErrors} errors, ${issues.numWarnings} warnings, ${issues.numInfos + issues.numHints} remarks`;
  console.log(`${failed ? "BAD" : "ok "} ${basename(file)}: ${counts}; ${info?.totalVertexCount ?? 0} vertices, ${info?.animationCount ?? 0} animations`);
  for (const issue of issues.messages.slice(0, 12)) {
    console.log(`    ${SEVERITIES[issue.severity]} ${issue.code} at ${issue.pointer ?? `byte ${issue.offset}`}: ${issue.message}`);
  }
}
process.exit(bad ? 1 : 0);
