// From a value to the messages that are sent: encode, round, randomize. A pure function of the value and the random words,
// equal to the Python package's for the same words.

import { bigEndian, concat, fromHex, sha256, utf8 } from "./bytes.js";
import { exactly, isObject } from "./canonical.js";
import { readStructure, trueMessage } from "./design.js";
import { cappedPoisson, dummies } from "./dummies.js";
import { invalid } from "./errors.js";
import { uniformBelow } from "./uniform.js";

const RESPONSE = 0;
const ROUNDING = 1;
const ROUNDING_DRAW = 2 ** 32;
const WORD = 2 ** 64;

/** Fresh words of the system's generator, whatever the address. */
export class SystemWords {
  /** A uniform byte; `lane` is 0 for the randomized response, 1 for rounding and 4 for the number of dummies. */
  byte(_lane) {
    return crypto.getRandomValues(new Uint8Array(1))[0];
  }

  /** A uniform number of 32 bits; `lane` is 2, for the choice of one of a value's messages. */
  word(_lane) {
    return crypto.getRandomValues(new Uint32Array(1))[0];
  }

  /** Two uniform 64-bit words of draw number `draw`. */
  block(_draw) {
    return Array.from(crypto.getRandomValues(new BigUint64Array(2)));
  }
}

/**
 * The protocol of a plan document, checked: kind, domain, structure, size, mostMessages and epsilon0; threshold and gamma of a
 * response; number, which is the law of how many, of dummies.
 */
export function readProtocol(document) {
  const wrong = invalid("this is not a protocol of a plan that this client knows. Make a plan with shuffledp plan.");
  if (!isObject(document) || !Object.hasOwn(KINDS, document.kind)) throw wrong;
  const { kind, total, domain, randomizer } = document;
  const { fields, domains, read } = KINDS[kind];
  if (!exactly(document, fields)) throw wrong;
  if (kind === "summation" && !["sum", "mean", "query"].includes(total)) throw wrong;
  const law = read(randomizer);
  if (!law) throw wrong;
  const { values, ...rest } = law; // how many values there are room for, if there may be fewer
  if (!domains.includes(domain?.kind) || !isDomain(domain, values ? sizeOf(domain) : law.size)) throw wrong;
  if (values && domain.kind !== "texts" && !(sizeOf(domain) >= 2 && sizeOf(domain) <= values)) throw wrong;
  if (total === "query" && (domain.low !== 0 || domain.high !== 1)) throw wrong;
  return { kind, total, domain, mostMessages: 1, ...rest };
}

const LISTED = ["labels", "whole-numbers", "intervals"];
const FIELDS = ["kind", "domain", "randomizer"];
const KINDS = {
  histogram: { fields: FIELDS, domains: LISTED, read: readResponse },
  frequencies: { fields: FIELDS, domains: LISTED, read: readDesign },
  "text-frequencies": { fields: FIELDS, domains: ["texts"], read: readDesign },
  "counts-with-dummies": { fields: FIELDS, domains: LISTED, read: readDummies },
  summation: { fields: ["kind", "total", "domain", "randomizer"], domains: ["reals"], read: readResponse },
};

/** Randomized response: as many messages as symbols; null if the document is of another randomizer. */
function readResponse(randomizer) {
  if (!exactly(randomizer, ["kind", "size", "threshold"]) || randomizer.kind !== "response") return null;
  const { size } = randomizer;
  const mixed = isSize(size) ? blanket(randomizer.threshold, size) : null;
  return mixed && { size, ...mixed };
}

/** Design response: a value has several messages, a share of 1 / prime of all; null likewise. */
function readDesign(randomizer) {
  if (!exactly(randomizer, ["kind", "structure", "threshold"]) || randomizer.kind !== "design") return null;
  const structure = readStructure(randomizer.structure);
  const mixed = structure ? blanket(randomizer.threshold, structure.prime) : null;
  return mixed && { structure, size: structure.prime * structure.choices, values: structure.points, ...mixed };
}

/** Truth and dummies, on a list of values or on a structure; null likewise. By itself a report protects nothing. */
function readDummies(randomizer) {
  if (!exactly(randomizer, ["kind", "structure", "dummies"]) || randomizer.kind !== "dummies") return null;
  const listed = exactly(randomizer.structure, ["kind", "size"]) && randomizer.structure.kind === "identity";
  const structure = listed ? undefined : readStructure(randomizer.structure);
  const size = listed ? randomizer.structure.size : structure && structure.prime * structure.choices;
  const number = cappedPoisson(randomizer.dummies);
  if (!number || !isSize(size)) return null;
  return { structure, size, values: structure?.points ?? size, number, mostMessages: 1 + number.most, epsilon0: Infinity };
}

function isSize(size) {
  return Number.isInteger(size) && size >= 2 && size <= 2 ** 32;
}

/** What mixes the messages of a value, a share of 1 / gain of all, with all others; null if that leaves nothing of the value. */
function blanket(text, gain) {
  if (typeof text !== "string" || !/^[1-9][0-9]{0,19}$/.test(text)) return null;
  const threshold = BigInt(text);
  const gamma = Number(threshold) / WORD;
  return gamma < 1 ? { threshold, gamma, epsilon0: Math.log1p((gain * (1 - gamma)) / gamma) } : null;
}

function sizeOf(domain) {
  return domain.kind === "labels" ? domain.labels?.length : domain.size;
}

function isDomain(domain, size) {
  const { kind, labels, low, high } = domain;
  if (kind === "labels") {
    const texts = Array.isArray(labels) && labels.every((label) => typeof label === "string");
    return exactly(domain, ["kind", "labels"]) && texts && labels.length === size && new Set(labels).size === size;
  }
  if (kind === "texts") return exactly(domain, ["kind", "key"]) && /^[0-9a-f]{32}$/.test(domain.key);
  if (kind === "whole-numbers") return exactly(domain, ["kind", "size"]) && domain.size === size;
  const range = [low, high].every((end) => typeof end === "number" && Math.abs(end) <= 1e100) && high - low >= 1e-100;
  if (kind === "reals") return exactly(domain, ["kind", "low", "high"]) && range;
  return exactly(domain, ["kind", "size", "low", "high"]) && range && domain.size === size;
}

/** The messages for a value, in increasing order: what is sealed and sent. In most protocols there is one. */
export async function messagesFor(protocol, value, words = new SystemWords()) {
  const symbol = await encode(protocol, value, words);
  if (!protocol.number) return [randomize(protocol, symbol, words)];
  const beside = dummies(protocol.number, protocol.size, words);
  return [truth(protocol, symbol, words), ...beside].sort((one, other) => one - other);
}

/** The symbol of a value: its label, bin or point, or a grid point; an Error that does not show the value if it has none. */
export async function encode(protocol, value, words) {
  const { domain } = protocol;
  if (domain.kind === "texts") return pointOf(domain.key, value, protocol.structure.points);
  if (domain.kind === "labels") {
    const symbol = typeof value === "string" ? domain.labels.indexOf(value) : -1;
    if (symbol < 0) throw invalid("the value is not one of the plan's labels. Give one of them.");
    return symbol;
  }
  if (domain.kind === "whole-numbers") {
    if (!Number.isInteger(value) || value < 0 || value >= domain.size) {
      throw invalid(`the value is not a whole number from 0 to ${domain.size - 1}. Give one.`);
    }
    return Math.abs(value); // -0 is 0
  }
  const real = number(domain, value);
  return domain.kind === "intervals" ? place(domain, real) : toGrid(domain, protocol.size - 1, real, words);
}

/** Where a text falls among so many points: its hash under the plan's public key. */
async function pointOf(key, text, points) {
  if (typeof text !== "string" || /\p{Surrogate}/u.test(text)) {
    throw invalid("the value is not a text in valid Unicode. Give one.");
  }
  const hashed = await sha256(concat(utf8("shuffledp text 1"), fromHex(key), bigEndian(0, 4), utf8(text)));
  return Number(new DataView(hashed.buffer).getBigUint64(0) % BigInt(points));
}

/** Below the threshold a uniform message, else the symbol itself, or one of the messages that belong to it. */
export function randomize(protocol, symbol, words) {
  const { size, threshold } = protocol;
  const honest = truth(protocol, symbol, words);
  const top = Number(threshold >> 56n);
  const byte = words.byte(RESPONSE);
  if (byte > top) return honest;
  const block = words.block(0);
  // a byte equal to the threshold's settles nothing: the next 56 bits do
  if (byte === top && block[0] >> 8n >= threshold % (1n << 56n)) return honest;
  return uniformBelow(size, words, block);
}

function truth({ structure }, symbol, words) {
  return structure ? trueMessage(structure, symbol, words) : symbol;
}

/** One of the size equal intervals of [low, high]. */
function place({ low, high, size }, value) {
  const edge = (j) => (j === 0 ? low : j === size ? high : (low * (size - j) + high * j) / size);
  let bin = Math.trunc(Math.min(((value - low) / (high - low)) * size, size - 1));
  // rounding may be off by one bin: the edges decide
  if (value < edge(bin)) bin -= 1;
  if (bin < size - 1 && value >= edge(bin + 1)) bin += 1;
  return bin;
}

/** A grid point 0 ... steps of [low, high], rounded up with the probability that keeps the mean. */
function toGrid({ low, high }, steps, value, words) {
  const scaled = ((value - low) / (high - low)) * steps;
  const floor = Math.min(Math.floor(scaled), steps - 1);
  const bits = (scaled - floor) * 256;
  const first = Math.trunc(bits);
  // a byte below the fraction's first eight bits rounds up; a byte equal to them leaves it to the next 128 bits
  const byte = words.byte(ROUNDING);
  if (byte !== first) return floor + (byte < first ? 1 : 0);
  const rest = (bits - first) * WORD;
  const whole = Math.floor(rest);
  const last = Math.floor((rest - whole) * WORD);
  const [high64, low64] = words.block(ROUNDING_DRAW);
  const up = high64 < BigInt(whole) || (high64 === BigInt(whole) && low64 < BigInt(last));
  return floor + (up ? 1 : 0);
}

function number({ low, high }, value) {
  if (typeof value !== "number" || !(value >= low && value <= high)) {
    throw invalid(`the value is not a number from ${low} to ${high}. Give one.`);
  }
  return value;
}
