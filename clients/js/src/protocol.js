// From a value to the message that is sent: encode, round, randomize. A pure function of the value and the random words,
// equal to the Python package's for the same words.

import { bigEndian, concat, fromHex, sha256, utf8 } from "./bytes.js";
import { exactly, isObject } from "./canonical.js";
import { readStructure, trueMessage } from "./design.js";
import { invalid } from "./errors.js";

const RESPONSE = 0;
const ROUNDING = 1;
const ROUNDING_DRAW = 2 ** 32;
const WORD = 2 ** 64;

/** Fresh words of the system's generator, whatever the address. */
export class SystemWords {
  /** A uniform byte; `lane` is 0 for the randomized response and 1 for rounding. */
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

/** The protocol of a plan document, checked: kind, domain, structure, size, threshold, gamma and epsilon0. */
export function readProtocol(document) {
  const wrong = invalid("this is not a protocol of a plan that this client knows. Make a plan with shuffledp plan.");
  if (!isObject(document) || !Object.hasOwn(FIELDS, document.kind)) throw wrong;
  const { kind, total, domain, randomizer } = document;
  if (!exactly(document, FIELDS[kind])) throw wrong;
  if (kind === "summation" && !["sum", "mean", "query"].includes(total)) throw wrong;
  const law = DESIGNS.includes(kind) ? readDesign(randomizer) : readResponse(randomizer);
  if (!law) throw wrong;
  const { size, structure, gain } = law;
  if (typeof randomizer.threshold !== "string" || !/^[1-9][0-9]{0,19}$/.test(randomizer.threshold)) throw wrong;
  const threshold = BigInt(randomizer.threshold);
  const gamma = Number(threshold) / WORD;
  if (!(gamma < 1)) throw wrong; // messages would say nothing about the values
  if (!DOMAINS[kind].includes(domain?.kind) || !isDomain(domain, structure ? sizeOf(domain) : size)) throw wrong;
  if (kind === "frequencies" && !(sizeOf(domain) >= 2 && sizeOf(domain) <= structure.points)) throw wrong;
  if (total === "query" && (domain.low !== 0 || domain.high !== 1)) throw wrong;
  return { kind, total, domain, structure, size, threshold, gamma, epsilon0: Math.log1p((gain * (1 - gamma)) / gamma) };
}

const FIELDS = {
  histogram: ["kind", "domain", "randomizer"],
  frequencies: ["kind", "domain", "randomizer"],
  "text-frequencies": ["kind", "domain", "randomizer"],
  summation: ["kind", "total", "domain", "randomizer"],
};
const LISTED = ["labels", "whole-numbers", "intervals"];
const DOMAINS = { histogram: LISTED, frequencies: LISTED, "text-frequencies": ["texts"], summation: ["reals"] };
const DESIGNS = ["frequencies", "text-frequencies"];

/** Randomized response: as many messages as symbols; null if the document is of another randomizer. */
function readResponse(randomizer) {
  const { kind, size } = randomizer ?? {};
  const sound = exactly(randomizer, ["kind", "size", "threshold"]) && kind === "response";
  return sound && Number.isInteger(size) && size >= 2 && size <= 2 ** 32 ? { size, gain: size } : null;
}

/** Design response: a value has several messages, a share of 1 / prime of all; null likewise. */
function readDesign(randomizer) {
  if (!exactly(randomizer, ["kind", "structure", "threshold"]) || randomizer.kind !== "design") return null;
  const structure = readStructure(randomizer.structure);
  return structure && { structure, size: structure.prime * structure.choices, gain: structure.prime };
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

/** The message for a value: what is sealed and sent. */
export async function randomized(protocol, value, words = new SystemWords()) {
  return randomize(protocol, await encode(protocol, value, words), words);
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
export function randomize({ structure, size, threshold }, symbol, words) {
  const truth = structure ? trueMessage(structure, symbol, words) : symbol;
  const top = Number(threshold >> 56n);
  const byte = words.byte(RESPONSE);
  if (byte > top) return truth;
  const block = words.block(0);
  // a byte equal to the threshold's settles nothing: the next 56 bits do
  if (byte === top && block[0] >> 8n >= threshold % (1n << 56n)) return truth;
  return uniformBelow(size, words, block);
}

/** Exactly uniform below `bound`, by multiply-shift with rejection (Lemire 2019) on 32 bits of the second word. */
function uniformBelow(bound, words, block) {
  const size = BigInt(bound);
  const least = (1n << 32n) % size;
  for (let draw = 0; ; block = words.block(++draw)) {
    const product = BigInt.asUintN(32, block[1]) * size;
    if (BigInt.asUintN(32, product) >= least) return Number(product >> 32n);
  }
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
