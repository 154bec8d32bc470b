// Public keys: the lists that parties publish, and the fingerprint by which a key is known.

import { fromBase64, sha256, toBase64, toHex } from "./bytes.js";
import { canonical, isObject } from "./canonical.js";
import { invalid, untrusted } from "./errors.js";

const STATES = ["PENDING", "ACTIVE", "EXPIRED"];

/** SHA-256 of a key, its number and its role: 64 hexadecimal digits. Shown by shuffledp keygen and task show. */
export async function fingerprint({ key_id, public: key, role }) {
  return toHex(await sha256(canonical({ key_id, public: typeof key === "string" ? key : toBase64(key), role })));
}

/** The keys of a published list, each {key_id, state, public, role, fingerprint}; refused if it is not one of that role. */
export async function readKeys(document, role) {
  const wrong = invalid(`this is not a list of the ${role}'s keys. Ask its operator for one.`);
  if (!isObject(document) || document.role !== role || !Array.isArray(document.keys)) throw wrong;
  const seen = new Set();
  const found = [];
  for (const key of document.keys) {
    const bytes = fromBase64(key?.public);
    const { key_id, state } = key ?? {};
    if (!Number.isInteger(key_id) || key_id < 0 || key_id > 255 || seen.has(key_id)) throw wrong;
    if (!STATES.includes(state) || bytes?.length !== 32) throw wrong;
    seen.add(key_id);
    const one = { key_id, state, public: bytes, role };
    found.push({ ...one, fingerprint: await fingerprint(one) });
  }
  return found;
}

/** The key to seal to: the newest active one. */
export function activeKey(keys, role) {
  const found = keys.findLast((key) => key.state === "ACTIVE");
  if (!found) throw invalid(`the ${role} has no active key. Ask for a new list of keys.`);
  return found;
}

/** What the caller trusts a party by, its key list or fingerprints: {keys (null without a list), fingerprints}. */
export async function readTrust(given, role) {
  if (isObject(given)) {
    const keys = await readKeys(given, role);
    return { keys, fingerprints: new Set(keys.map((key) => key.fingerprint)) };
  }
  const list = typeof given === "string" ? [given] : given;
  if (!Array.isArray(list) || !list.length || !list.every((text) => /^[0-9a-f]{64}$/i.test(text))) {
    throw invalid(
      `say which ${role} to trust: its key list, or a fingerprint of 64 hexadecimal digits from its operator.`,
    );
  }
  return { keys: null, fingerprints: new Set(list.map((text) => text.toLowerCase())) };
}

/** The key that a shuffler announces for whoever opens its batches, if it is one that the caller trusts. */
export async function announcedKey(document, keyId, role, trust) {
  const keys = await readKeys(document, role);
  const found = keys.find((key) => key.key_id === keyId);
  if (!found)
    throw untrusted(`the shuffler announces a key of the ${role} that it does not show. Do not report to it.`);
  if (!trust.fingerprints.has(found.fingerprint)) {
    throw untrusted(
      `the shuffler announces a key of the ${role} that is not the one you trust. ` +
        `Do not report; ask the ${role}'s operator whether its fingerprint is now ${found.fingerprint}.`,
    );
  }
  return found;
}
