// Khronos' own validator over GLB files: `node validate.mjs FILE.glb …`. Errors and warnings fail; hints are printed.
// `OUT.glb=IN.glb` fails when OUT gets a message of a kind that IN, from which it was made, does not get.

import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import validator from "gltf-validator";

const SEVERITIES = ["error", "warning", "information", "hint"];
let bad = 0;
for (const argument of process.argv.slice(2)) {
  const [file, source] = argument.split("=");
  const { issues, info } = await validate(file);
  const known = new Set(source ? (await validate(source)).issues.messages.map(({ code }) => code) : []);
  const isNew = ({ code, severity }) => !known.has(code) && (source || severity < 2);
  const failed = issues.messages.some(isNew);
  bad += failed ? 1 : 0;
  const counts = `${issues.numErrors} errors, ${issues.numWarnings} warnings, ${issues.numInfos + issues.numHints} remarks`;
  console.log(`${failed ? "BAD" : "ok "} ${basename(file)}: ${counts}; ${info?.totalVertexCount ?? 0} vertices, ${info?.animationCount ?? 0} animations`);
  for (const issue of issues.messages.filter((issue) => !source || isNew(issue)).slice(0, 12)) {
    console.log(`    ${SEVERITIES[issue.severity]} ${issue.code} at ${issue.pointer ?? `byte ${issue.offset}`}: ${issue.message}`);
  }
}
process.exit(bad ? 1 : 0);

async function validate(file) {
  const beside = async (uri) => new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri))));
  const bytes = new Uint8Array(await readFile(file));
  return validator.validateBytes(bytes, { uri: basename(file), maxIssues: 2000, externalResourceFunction: beside });
}
