// three.js plays a GLB of ours, and every corner of every triangle must be where our own point cache says it is:
// `node play.mjs FILE.glb CACHE.pc2 [RATE]`, with the cache's OBJ beside it. The first animation is played, at RATE frames a second or as long as it is.

import { readFile } from "node:fs/promises";
import { AnimationMixer, Vector3 } from "three";

// What the loader expects of a browser. Pictures need no decoding here, but they must be pictures.
globalThis.self = globalThis;
globalThis.createImageBitmap = async (blob) => {
  const start = [...new Uint8Array(await blob.slice(0, 4).arrayBuffer())];
  const is = (...magic) => magic.every((byte, i) => start[i] === byte);
  if (!is(0x89, 0x50, 0x4e, 0x47) && !is(0xff, 0xd8) && !is(0x52, 0x49, 0x46, 0x46)) {
    throw new Error(`a texture begins with ${start}, like no picture`);
  }
  return { width: 1, height: 1, close() {} };
};
const complaints = [];
for (const kind of ["warn", "error"]) console[kind] = (...words) => complaints.push(words.join(" "));
const { GLTFLoader } = await import("three/addons/loaders/GLTFLoader.js");

const [glbPath, cachePath, rate] = process.argv.slice(2);
const glb = await readFile(glbPath);
const gltf = await new GLTFLoader().parseAsync(glb.buffer.slice(glb.byteOffset, glb.byteOffset + glb.byteLength), "");
const cache = readCache(await readFile(cachePath));
const corners = readCorners(await readFile(cachePath.replace(/\.pc2$/, ".obj"), "utf8"));

const mixer = new AnimationMixer(gltf.scene);
const duration = gltf.animations[0]?.duration ?? 0;
if (cache.frames > 1 && gltf.animations.length === 0) fail("there is no animation");
// a quaternion of a file that rounds to three digits is still a rotation
for (const { name, times, values } of gltf.animations[0]?.tracks ?? []) {
  if (!name.endsWith(".quaternion") || values.length !== 4 * times.length) continue;
  for (let k = 0; k < values.length; k += 4) {
    const length = Math.hypot(...values.subarray(k, k + 4));
    for (let i = k; i < k + 4; i++) values[i] /= length;
  }
}
if (gltf.animations.length > 0) mixer.clipAction(gltf.animations[0]).play();
const step = rate ? 1 / rate : cache.frames > 1 ? duration / (cache.frames - 1) : 0;
const meshes = inOrder(gltf);

let worst = { distance: 0 };
let extent = 0;
for (let frame = 0; frame < cache.frames; frame++) {
  // the end of a looping action is its beginning: stay a hair before it
  mixer.setTime(Math.min(frame * step, duration * (1 - 1e-7)));
  gltf.scene.updateMatrixWorld(true);
  let corner = 0;
  for (const mesh of meshes) {
    if (!mesh.isSkinnedMesh && mesh.matrixWorld.determinant() === 0) continue; // scaled to nothing: another run of frames
    const { index, attributes } = mesh.geometry;
    const count = index ? index.count : attributes.position.count;
    for (let k = 0; k < count; k++, corner++) {
      if (corner >= corners.length) fail(`three.js has more corners than the OBJ's ${corners.length}`);
      const at = mesh.getVertexPosition(index ? index.getX(k) : k, new Vector3()).applyMatrix4(mesh.matrixWorld);
      const expected = cache.at(frame, corners[corner]);
      extent = Math.max(extent, expected.length());
      const distance = at.distanceTo(expected);
      if (!(distance <= worst.distance)) worst = { distance, frame, corner };
    }
  }
  if (corner !== corners.length) fail(`frame ${frame}: three.js shows ${corner} corners, the OBJ has ${corners.length}`);
}
// single precision, skins blended in it, and weights that are a hair off at the last frame
const allowed = 2e-6 * Math.max(extent, 1) + 8e-6 * extent;
const words = `${cache.frames} frames, ${corners.length} corners, at most ${worst.distance.toExponential(2)} m apart`;
if (!(worst.distance <= allowed)) fail(`${words} (frame ${worst.frame}, corner ${worst.corner}); ${allowed.toExponential(2)} is allowed`);
if (complaints.length) fail(`three.js complains: ${complaints.join("; ")}`);
console.log(`ok  ${glbPath.split("/").pop()}: ${words}`);

function fail(words) {
  console.log(`BAD ${glbPath.split("/").pop()}: ${words}`);
  process.exit(1);
}

// The meshes as our reader has them: in the order of their nodes, parents before children, then of their primitives.
function inOrder({ scene, parser }) {
  const { nodes = [] } = parser.json;
  const children = new Set(nodes.flatMap((node) => node.children ?? []));
  const rank = new Map();
  const walk = (node) => {
    rank.set(node, rank.size);
    (nodes[node].children ?? []).forEach(walk);
  };
  nodes.forEach((_, node) => children.has(node) || walk(node));
  const place = (object) => parser.associations.get(object)?.nodes ?? (object.parent ? place(object.parent) : -1);
  const found = [];
  scene.traverse((mesh) => mesh.isMesh && found.push(mesh));
  const key = (mesh) => [rank.get(place(mesh)), parser.associations.get(mesh)?.primitives ?? 0];
  return found.sort((a, b) => key(a)[0] - key(b)[0] || key(a)[1] - key(b)[1]);
}

// PC2: twelve bytes of magic, version, points, first frame, step, frames; then floats, little-endian.
function readCache(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [points, frames] = [view.getInt32(16, true), view.getInt32(28, true)];
  const number = (i) => view.getFloat32(32 + 4 * i, true);
  const at = (frame, point) => {
    const i = 3 * (frame * points + point);
    return new Vector3(number(i), number(i + 1), number(i + 2));
  };
  return { points, frames, at };
}

// The point under each corner of each triangle of an OBJ, polygons fanned as glTF needs them.
function readCorners(text) {
  const corners = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("f ")) continue;
    const face = line.trim().split(/\s+/).slice(1).map((corner) => parseInt(corner, 10) - 1);
    for (let k = 1; k + 1 < face.length; k++) corners.push(face[0], face[k], face[k + 1]);
  }
  return corners;
}
