// From a value to the messages that are sent: encode, round, randomize. A pure function of the value and the random words,
// equal to the Python package's for the same words.

import { bigEndian, concat, fromHex, sha256, utf8 } from "./bytes.js";
import { canonicalText, exactly, isObject } from "./canonical.js";
import { readStructure, trueMessage } from "./design.js";
import { cappedPoisson, dummies } from "./dummies.js";
import { invalid } from "./errors.js";
import { uniformBelow } from "./uniform.js";
import { pointOf as vectorPoint, vectorMessages } from "./vector.js";

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

/** The words of one of several messages: none that another uses. */
class QuestionWords {
  constructor(words, question) {
    Object.assign(this, { words, question });
  }

  /** A lane for each question and purpose. */
  byte(lane) {
    return this.words.byte(lane + 8 * this.question);
  }

  /** Draws below 2^40 are moved up by multiples of that. */
  block(draw) {
    return this.words.block(draw + this.question * 2 ** 40);
  }
}

/**
 * The protocol of a plan document, checked: kind, domain, structure, size, mostMessages and epsilon0; threshold and gamma of a
 * response; number, which is the law of how many, of dummies; base and numbers, those of each digit, of digits.
 */
export function readProtocol(document) {
  const wrong = invalid("this is not a protocol of a plan that this client knows. Make a plan with shuffledp plan.");
  if (isObject(document) && document.kind === TABLE) return readTable(document, wrong);
  if (!isObject(document) || !Object.hasOwn(KINDS, document.kind)) throw wrong;
  const { kind, total, domain, randomizer, regression } = document;
  const { fields, domains, read } = KINDS[kind];
  if (!exactly(document, fields)) throw wrong;
  if (fields.includes("total") && !["sum", "mean", "query"].includes(total)) throw wrong;
  const law = read(randomizer);
  if (!law) throw wrong;
  const { values, ...rest } = law; // how many values there are room for, if there may be fewer
  const entries = law.dimension; // of a row, where values are rows
  if (!domains.includes(domain?.kind) || !isDomain(domain, entries ?? (values ? sizeOf(domain) : law.size))) throw wrong;
  if (values && domain.kind !== "texts" && !(sizeOf(domain) >= 2 && sizeOf(domain) <= values)) throw wrong;
  if (fields.includes("regression") && !isRegression(regression, domain.columns)) throw wrong;
  if (total === "query" && (domain.low !== 0 || domain.high !== 1)) throw wrong;
  return { kind, total, domain, mostMessages: 1, ...rest };
}

const TABLE = "survey-table-with-shuffler-noise";
const LISTED = ["labels", "whole-numbers", "intervals"];
const FIELDS = ["kind", "domain", "randomizer"];
const KINDS = {
  histogram: { fields: FIELDS, domains: LISTED, read: readResponse },
  frequencies: { fields: FIELDS, domains: LISTED, read: readDesign },
  "text-frequencies": { fields: FIELDS, domains: ["texts"], read: readDesign },
  "counts-with-shuffler-noise": { fields: FIELDS, domains: LISTED, read: readShufflerNoise },
  "distribution-with-shuffler-noise": { fields: FIELDS, domains: ["intervals"], read: readShufflerNoise },
  "counts-with-dummies": { fields: FIELDS, domains: LISTED, read: readDummies },
  "vector-mean": { fields: FIELDS, domains: ["ball", "box"], read: readCodebook },
  moments: { fields: [...FIELDS, "regression"], domains: ["products"], read: readCodebook },
  summation: { fields: ["kind", "total", "domain", "randomizer"], domains: ["reals"], read: readResponse },
  "digit-sums": { fields: ["kind", "total", "domain", "randomizer"], domains: ["reals"], read: readDigits },
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

/** Codebook response: `repeats` messages about a row of `dimension` numbers, each a seed and one of `size` codewords; null likewise. */
function readCodebook(randomizer) {
  const fields = ["kind", "dimension", "size", "repeats", "threshold"];
  if (!exactly(randomizer, fields) || randomizer.kind !== "codebook") return null;
  const { dimension, size, repeats } = randomizer;
  const within = (value, low, high) => Number.isInteger(value) && value >= low && value <= high;
  if (!within(dimension, 1, 2 ** 20) || !within(size, 2, 2 ** 14) || !within(repeats, 1, 2 ** 10)) return null;
  const mixed = blanket(randomizer.threshold, size);
  return mixed && { dimension, size, repeats, mostMessages: repeats, ...mixed, epsilon0: repeats * mixed.epsilon0 };
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

/** The truth alone: the shuffler adds dummies of every value. By itself a report protects nothing. */
function readShufflerNoise(randomizer) {
  if (!exactly(randomizer, ["kind", "size", "noise"]) || randomizer.kind !== "shuffler-noise") return null;
  const { size, noise } = randomizer;
  const thinned = exactly(noise, ["kind", "kept", "ratio"]) && noise.kind === "thinned-geometric" && isWord(noise.ratio);
  const known = isNoise(noise) || (thinned && isWord(noise.kept));
  return known && isSize(size) ? { size, truthful: true, epsilon0: Infinity } : null;
}

/** Numbers of dummies with a peak, from which their chances fall to both sides. */
export function isNoise(noise) {
  const twoSided = exactly(noise, ["kind", "ratio", "peak"]) && noise.kind === "two-sided-geometric" && isWord(noise.ratio);
  return twoSided && Number.isInteger(noise.peak) && noise.peak >= 0;
}

/** Several questions with noise from the shuffler: one message for the cell of the table of all of them. */
function readTable(document, wrong) {
  const { kind, names, weights, questions } = document;
  const lists = [names, weights, questions];
  if (!exactly(document, ["kind", "names", "weights", "questions"]) || !lists.every(Array.isArray)) throw wrong;
  const several = names.length >= 2 && lists.every((list) => list.length === names.length) && new Set(names).size === names.length;
  const named = names.every((name) => typeof name === "string" && name !== "" && name === name.trim());
  const weighted = weights.every((weight) => Number.isInteger(weight) && weight >= 1 && weight <= 1e6);
  if (!several || !named || !weighted || questions.some((question) => question?.kind === TABLE)) throw wrong;
  const asked = questions.map((question, j) => ({ name: names[j], protocol: readProtocol(question) }));
  const size = asked.reduce((cells, one) => cells * one.protocol.size, 1);
  if (!asked.every((one) => one.protocol.truthful) || !(size <= 2 ** 20)) throw wrong;
  if (new Set(questions.map((question) => canonicalText(question.randomizer.noise))).size !== 1) throw wrong;
  return { kind, domain: { kind: "record", names }, questions: asked, size, mostMessages: 1, truthful: true, epsilon0: Infinity };
}

function isWord(text) {
  return typeof text === "string" && /^[1-9][0-9]{0,19}$/.test(text) && BigInt(text) < 2n ** 64n;
}

/** A message for each digit of a number, the least significant first, each among dummies; null likewise. */
function readDigits(randomizer) {
  if (!exactly(randomizer, ["kind", "base", "groups", "dummies"]) || randomizer.kind !== "digits") return null;
  const { base, groups, dummies } = randomizer;
  if (!isSize(base) || groups !== 1 || !Array.isArray(dummies) || dummies.length === 0) return null;
  const size = base ** dummies.length; // how many numbers there are
  const numbers = dummies.map(cappedPoisson);
  if (!(size <= 2 ** 30) || numbers.includes(null)) return null;
  const mostMessages = numbers.reduce((most, number) => most + 1 + number.most, 0);
  return { size, base, numbers, mostMessages, epsilon0: Infinity };
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
  if (["ball", "box", "products"].includes(kind)) return isOfRows(domain, size);
  if (kind === "texts") return exactly(domain, ["kind", "key"]) && /^[0-9a-f]{32}$/.test(domain.key);
  if (kind === "whole-numbers") return exactly(domain, ["kind", "size"]) && domain.size === size;
  const range = [low, high].every((end) => typeof end === "number" && Math.abs(end) <= 1e100) && high - low >= 1e-100;
  if (kind === "reals") return exactly(domain, ["kind", "low", "high"]) && range;
  return exactly(domain, ["kind", "size", "low", "high"]) && range && domain.size === size;
}

/** What is made of moments in the end: of columns that are there, and nothing to a client. */
function isRegression(regression, columns) {
  if (regression === null) return true;
  if (!exactly(regression, ["target", "features", "ridge"]) || !Array.isArray(regression.features)) return false;
  const { target, features, ridge } = regression;
  const known = features.length > 0 && new Set([target, ...features]).size === features.length + 1;
  return known && [target, ...features].every((name) => columns.includes(name)) && ridge >= 0 && ridge <= 1e6;
}

/** A ball or a box of rows of so many numbers, whose columns may have names; products are of rows of fewer. */
function isOfRows(domain, size) {
  const { kind, columns, dimension, norm, lows, highs } = domain;
  const entries = kind === "products" ? columns?.length : size;
  if (kind === "products" && !(entries >= 1 && entries <= 16 && (entries * (entries + 3)) / 2 === size)) return false;
  const named = Array.isArray(columns) && [0, entries].includes(columns.length) && new Set(columns).size === columns.length;
  if (!named || !columns.every((name) => typeof name === "string")) return false;
  if (kind === "ball") {
    const sized = exactly(domain, ["kind", "dimension", "norm", "columns"]) && dimension === entries;
    return sized && typeof norm === "number" && norm >= 1e-100 && norm <= 1e100;
  }
  if (!exactly(domain, ["kind", "lows", "highs", "columns"])) return false;
  const ends = [lows, highs].every(
    (some) => Array.isArray(some) && some.length === entries && some.every((end) => Math.abs(end) <= 1e100),
  );
  return ends && lows.every((low, k) => highs[k] - low >= 1e-100);
}

/** The messages for a value, in increasing order: what is sealed and sent. In most protocols there is one. */
export async function messagesFor(protocol, value, words = new SystemWords()) {
  if (protocol.repeats) return vectorMessages(protocol, vectorPoint(protocol.domain, value), words, mixed);
  const symbol = await encode(protocol, value, words);
  if (protocol.truthful) return [symbol];
  if (protocol.numbers) return digits(protocol, symbol, words);
  if (!protocol.number) return [randomize(protocol, symbol, words)];
  const beside = dummies(protocol.number, protocol.size, words);
  return [truth(protocol, symbol, words), ...beside].sort((one, other) => one - other);
}

/** The digits of a number, each among its dummies, in increasing order: those of one digit have numbers of their own. */
function digits({ base, numbers }, symbol, words) {
  const messages = numbers.flatMap((number, j) => {
    const digit = Math.floor(symbol / base ** j) % base;
    return [digit, ...dummies(number, base, new QuestionWords(words, j))].map((message) => j * base + message);
  });
  return messages.sort((one, other) => one - other);
}

/** The symbol of a value: its label, bin or point, or a grid point; an Error that does not show the value if it has none. */
export async function encode(protocol, value, words) {
  const { domain } = protocol;
  if (domain.kind === "record") return cellOf(protocol, value, words);
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

/** The cell of a table of several questions, the last one changing fastest; the value is an object with an answer to each. */
async function cellOf({ questions }, value, words) {
  if (!isObject(value) || !questions.every((one) => Object.hasOwn(value, one.name))) {
    throw invalid("the value is not an object with an answer to each question. Give one.");
  }
  let cell = 0;
  for (const { name, protocol } of questions) cell = cell * protocol.size + (await encode(protocol, value[name], words));
  return cell;
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
  return mixed(protocol, truth(protocol, symbol, words), words);
}

/** The message itself, or below the threshold a uniform one. */
function mixed({ size, threshold }, honest, words) {
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
