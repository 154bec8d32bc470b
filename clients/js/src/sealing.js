// Records: header || encapsulated key || ciphertext, one layer around the other.

import { bigEndian, concat, fromHex, sha256, utf8 } from "./bytes.js";
import { SUITE, seal } from "./hpke.js";

/** Seven bytes: the key's number and the algorithms. */
export function header(keyId) {
  return concat(bigEndian(keyId, 1), bigEndian(SUITE.kem, 2), bigEndian(SUITE.kdf, 2), bigEndian(SUITE.aead, 2));
}

/** Binds a layer to its place, its header, the task and the very key. */
export function info(label, head, taskId, fingerprint) {
  return concat(utf8(`shuffledp/2 ${label}\0`), head, fromHex(taskId), fromHex(fingerprint));
}

/** The innermost plaintext: the message in 8 bytes, and 8 zero bytes. */
export function payload(message) {
  return concat(bigEndian(message, 8), new Uint8Array(8));
}

/** The layer that the analyzer takes off. */
export function sealInner(message, taskId, key, options) {
  return layer(payload(message), "analyzer", taskId, key, options);
}

/** The layer that the shuffler of a hop takes off; hop 1 is next to the analyzer. */
export function wrap(record, hop, taskId, key, options) {
  return layer(record, hop === 1 ? "shuffler" : `shuffler${hop}`, taskId, key, options);
}

/** The name of a report: what the shuffler knows it again by. */
export async function reportId(inner) {
  return (await sha256(inner)).slice(0, 16);
}

async function layer(plaintext, label, taskId, key, options) {
  const head = header(key.key_id);
  return concat(head, await seal(plaintext, key.public, info(label, head, taskId, key.fingerprint), options));
}
