// Bytes, their texts, and their hash.

import { ShuffledpError } from "./errors.js";

export function subtle() {
  const found = globalThis.crypto?.subtle;
  if (!found) {
    throw new ShuffledpError(
      "invalid",
      "there is no WebCrypto here. Serve the page over https, or use node 20 or newer.",
    );
  }
  return found;
}

export function utf8(text) {
  return new TextEncoder().encode(text);
}

export function concat(...parts) {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** `length` bytes of a number, the most significant first. */
export function bigEndian(number, length) {
  const bytes = new Uint8Array(length);
  let left = BigInt(number);
  for (let at = length - 1; at >= 0; at--) {
    bytes[at] = Number(left & 255n);
    left >>= 8n;
  }
  return bytes;
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Bytes of a text of hexadecimal digits; null if it is none. */
export function fromHex(text) {
  if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

/** Bytes of a text in standard base64 with padding; null if it is none. */
export function fromBase64(text) {
  if (typeof text !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) return null;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : null; // one text for the same bytes
}

export async function sha256(bytes) {
  return new Uint8Array(await subtle().digest("SHA-256", bytes));
}
