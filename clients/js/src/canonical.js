// One form of a JSON document for every language: RFC 8785. Names of plans, tasks and keys are hashes of it.

import { utf8 } from "./bytes.js";
import { invalid } from "./errors.js";

const DEEPEST = 64;

/** The canonical text of a JSON value. */
export function canonicalText(value, depth = 0) {
  if (depth > DEEPEST) throw invalid("the document is nested too deeply. Use fewer levels.");
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw invalid("the document has a number that JSON cannot carry. Use finite numbers.");
    return JSON.stringify(value); // RFC 8785 writes numbers as ECMAScript does
  }
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, depth + 1)).join(",")}]`;
  if (typeof value === "object") {
    const names = Object.keys(value).sort(); // by UTF-16 units, as RFC 8785 wants
    return `{${names.map((name) => `${quoted(name)}:${canonicalText(value[name], depth + 1)}`).join(",")}}`;
  }
  throw invalid("the document has a value that JSON does not know. Use JSON data only.");
}

/** The bytes that are hashed. */
export function canonical(value) {
  return utf8(canonicalText(value));
}

function quoted(text) {
  // half a surrogate pair is no character, so it has no UTF-8 form
  if (/\p{Surrogate}/u.test(text)) throw invalid("the document has text that is not valid Unicode. Correct it.");
  return JSON.stringify(text);
}

/** Whether an object has exactly these fields. */
export function exactly(document, fields) {
  return (
    isObject(document) &&
    Object.keys(document).length === fields.length &&
    fields.every((field) => Object.hasOwn(document, field))
  );
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
