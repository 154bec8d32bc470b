// HPKE (RFC 9180) on WebCrypto: base mode, one message, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.

import { bigEndian, concat, subtle, utf8 } from "./bytes.js";

export const SUITE = { kem: 0x0020, kdf: 0x0001, aead: 0x0001 };

const KEM_ID = concat(utf8("KEM"), bigEndian(SUITE.kem, 2));
const HPKE_ID = concat(utf8("HPKE"), bigEndian(SUITE.kem, 2), bigEndian(SUITE.kdf, 2), bigEndian(SUITE.aead, 2));
const BASE_MODE = Uint8Array.of(0);
const EMPTY = new Uint8Array(0);

/** The encapsulated key (32 bytes) and the ciphertext with its tag. `ephemeral` is a fresh key pair but in test vectors. */
export async function seal(plaintext, publicKey, info, { aad = EMPTY, ephemeral } = {}) {
  const pair = ephemeral ?? (await subtle().generateKey({ name: "X25519" }, false, ["deriveBits"]));
  const enc = new Uint8Array(await subtle().exportKey("raw", pair.publicKey));
  const recipient = await subtle().importKey("raw", publicKey, { name: "X25519" }, true, []);
  const { key, nonce } = await keySchedule(pair.privateKey, recipient, concat(enc, publicKey), info, "encrypt");
  const sealed = await subtle().encrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, key, plaintext);
  return concat(enc, new Uint8Array(sealed));
}

/** What `seal` sealed to this key pair; rejects if it was changed or meant for another. */
export async function open(sealed, pair, info, { aad = EMPTY } = {}) {
  const enc = sealed.slice(0, 32);
  const sender = await subtle().importKey("raw", enc, { name: "X25519" }, true, []);
  const own = new Uint8Array(await subtle().exportKey("raw", pair.publicKey));
  const { key, nonce } = await keySchedule(pair.privateKey, sender, concat(enc, own), info, "decrypt");
  const found = await subtle().decrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, key, sealed.slice(32));
  return new Uint8Array(found);
}

/** RFC 9180, 4.1 (Encap and Decap) and 5.1 (KeySchedule). */
async function keySchedule(privateKey, publicKey, kemContext, info, use) {
  const shared = new Uint8Array(await subtle().deriveBits({ name: "X25519", public: publicKey }, privateKey, 256));
  if (shared.every((byte) => byte === 0)) {
    throw new Error("the key is a point of small order (RFC 9180, 7.1.4). Do not seal to it.");
  }
  const prk = await labeledExtract(KEM_ID, EMPTY, "eae_prk", shared);
  const secret = await labeledExpand(KEM_ID, prk, "shared_secret", kemContext, 32);
  const pskIdHash = await labeledExtract(HPKE_ID, EMPTY, "psk_id_hash", EMPTY);
  const infoHash = await labeledExtract(HPKE_ID, EMPTY, "info_hash", info);
  const context = concat(BASE_MODE, pskIdHash, infoHash);
  const root = await labeledExtract(HPKE_ID, secret, "secret", EMPTY);
  const key = await labeledExpand(HPKE_ID, root, "key", context, 16);
  const nonce = await labeledExpand(HPKE_ID, root, "base_nonce", context, 12);
  return { key: await subtle().importKey("raw", key, "AES-GCM", false, [use]), nonce };
}

function labeledExtract(suite, salt, label, material) {
  // WebCrypto takes no empty HMAC key; zeros are the same key, because HMAC pads with them
  return hmac(salt.length ? salt : new Uint8Array(32), concat(utf8("HPKE-v1"), suite, utf8(label), material));
}

/** At most 32 bytes: one step of HKDF-Expand. */
async function labeledExpand(suite, prk, label, info, length) {
  const labeled = concat(bigEndian(length, 2), utf8("HPKE-v1"), suite, utf8(label), info);
  return (await hmac(prk, concat(labeled, Uint8Array.of(1)))).slice(0, length);
}

async function hmac(key, data) {
  const loaded = await subtle().importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", loaded, data));
}
