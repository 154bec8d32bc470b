// Records: header || encapsulated key || ciphertext, one layer around the other.

import { bigEndian, concat, fromHex, sha256, utf8 } from "./bytes.js";
import { invalid } from "./errors.js";
import { SUITE, seal } from "./hpke.js";

const SEALED = 71; // bytes of a message that is sealed to the analyzer
const SALT = 16; // bytes behind the slots of a bundle

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

/** What hop 1 takes apart: each message as the analyzer opens it, in increasing order, in `slots` slots of one length. */
export async function sealBundle(messages, slots, taskId, key) {
  const inOrder = [...messages].sort((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));
  const sealed = await Promise.all(inOrder.map((message) => sealInner(message, taskId, key)));
  return bundle(sealed, slots);
}

/** Sealed messages side by side; what is left is zeros. Behind several slots is a salt that no released batch has. */
export function bundle(sealed, slots, salt = crypto.getRandomValues(new Uint8Array(SALT))) {
  const [used, length] = [concat(...sealed), slots * SEALED];
  if (!used.length || used.length > length) throw invalid(`a report of this task has 1 to ${slots} messages.`);
  return concat(used, new Uint8Array(length - used.length), slots === 1 ? new Uint8Array(0) : salt);
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
