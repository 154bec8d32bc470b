// Codebook response: a row of numbers, and which of a few random codewords is nearest to it. Everything up to the last division
// is in whole numbers that doubles hold exactly, so that this is the very codeword that the Python package finds.

import { bigEndian, concat, subtle, utf8 } from "./bytes.js";
import { invalid } from "./errors.js";

const KEY = "shuffledp vector"; // public, and the same for everybody
const UNIT = 2 ** 26;
const OUTERMOST = 18075;
const AT_ONCE = 2 ** 20; // bytes of the cipher that are made at once
const CHOICE_DRAW = 2 ** 33;
const QUESTION_DRAWS = 2 ** 40;
const QUESTION_LANES = 8;
let table = null;
let key = null;

/** A row, an array or an object by column, as a point of the unit ball; an Error that does not show it if it is none. */
export function pointOf(domain, value) {
  const { columns } = domain;
  const count = domain.kind === "ball" ? domain.dimension : domain.lows.length;
  const named = columns.length > 0 && typeof value === "object" && value !== null && !Array.isArray(value);
  const row = named ? columns.map((name) => (Object.hasOwn(value, name) ? value[name] : null)) : value;
  const numbers = (Array.isArray(row) || ArrayBuffer.isView(row)) && row.length === count;
  if (!numbers || !Array.from(row).every(Number.isFinite)) {
    throw invalid(`the value is no row of ${count} numbers. Give an array of so many.`);
  }
  const given = Array.from(row);
  if (domain.kind === "ball") {
    const point = given.map((x) => x / domain.norm);
    if (!(Math.hypot(...chunked(point)) <= 1 + 1e-12)) throw outside(`the ball of radius ${domain.norm}`);
    return point;
  }
  const { lows, highs } = domain;
  if (given.some((x, k) => x < lows[k] || x > highs[k])) throw outside("the ranges of the columns");
  const root = Math.sqrt(count);
  if (domain.kind === "products") {
    return products(given.map((x, k) => (x - (lows[k] + highs[k]) / 2) / ((highs[k] - lows[k]) / 2)));
  }
  return given.map((x, k) => (x - (lows[k] + highs[k]) / 2) / (((highs[k] - lows[k]) / 2) * root));
}

/** Scaled columns, their squares and the products of every two, as a point of the unit ball. */
function products(scaled) {
  const columns = scaled.length;
  const wide = Math.sqrt((columns * (columns + 1)) / 2);
  const squares = scaled.map((x) => (x * x - 1) / Math.sqrt(columns));
  const pairs = scaled.flatMap((x, k) => scaled.slice(k + 1).map((y) => (x * y) / wide));
  return [...scaled.map((x) => x / wide), ...squares, ...pairs];
}

function outside(limits) {
  return invalid(`the value is outside ${limits}. Cut it down first.`);
}

/** Lengths of parts, so that no function gets more arguments than it can take. */
function chunked(numbers) {
  const found = [];
  for (let at = 0; at < numbers.length; at += 1024) found.push(Math.hypot(...numbers.slice(at, at + 1024)));
  return found;
}

/** The messages about a point, in decimal digits because they are larger than what a number holds exactly. */
export async function vectorMessages(protocol, point, words, mixed) {
  const target = onSphere(point);
  const found = [];
  for (let t = 0; t < protocol.repeats; t++) {
    const own = part(words, t);
    const seed = own.block(CHOICE_DRAW)[0] >> 16n;
    const number = mixed(protocol, await nearest(target, seed, protocol.size), own);
    found.push((seed * BigInt(protocol.size) + BigInt(number)).toString());
  }
  return found;
}

/** The words of one of several messages: none that another one uses. */
function part(words, t) {
  return {
    byte: (lane) => words.byte(lane + QUESTION_LANES * t),
    block: (draw) => words.block(draw + QUESTION_DRAWS * t),
  };
}

/** The point of the sphere above, in whole numbers. */
export function onSphere(point) {
  const target = point.map((x) => rounded(x * UNIT));
  const squares = target.reduce((sum, x) => sum + x * x, 0);
  return Float64Array.from([...target, rounded(Math.sqrt(Math.max(UNIT * UNIT - squares, 0)))]);
}

/** To the nearest whole number, ties to the even one. */
function rounded(x) {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Which of `size` codewords is nearest: all are made and compared, whatever the point. */
export async function nearest(target, seed, size) {
  const width = target.length;
  const blocks = Math.ceil(width / 8);
  const each = Math.max(1, Math.floor(AT_ONCE / (16 * blocks)));
  let [best, where] = [-Infinity, 0];
  for (let first = 0; first < size; first += each) {
    const count = Math.min(each, size - first);
    const entries = await codewords(seed, first, count, blocks);
    for (let i = 0; i < count; i++) {
      let [product, squares] = [0, 0];
      for (let k = 0, at = i * blocks * 8; k < width; k++, at++) {
        product += entries[at] * target[k];
        squares += entries[at] * entries[at];
      }
      const score = product / Math.sqrt(squares);
      const nearer = score > best;
      best = nearer ? score : best;
      where = nearer ? first + i : where;
    }
  }
  return where;
}

/** The entries of `count` codewords under a seed from number `first` on, each in whole blocks. */
export async function codewords(seed, first, count, blocks) {
  key ??= subtle().importKey("raw", utf8(KEY), "AES-CTR", false, ["encrypt"]);
  const counter = concat(bigEndian(seed, 8), bigEndian(BigInt(first) * BigInt(blocks), 8));
  const zeros = new Uint8Array(16 * blocks * count);
  const drawn = await subtle().encrypt({ name: "AES-CTR", counter, length: 64 }, await key, zeros);
  const bytes = new Uint8Array(drawn);
  const normals = entriesOfCodewords();
  const found = new Float64Array(8 * blocks * count);
  for (let at = 0; at < found.length; at++) found[at] = normals[bytes[2 * at] + 256 * bytes[2 * at + 1]];
  return found;
}

/** 65,536 equally likely entries of a normal law, odd whole numbers of 1 / 4096 of its standard deviation. */
export function entriesOfCodewords() {
  if (table) return table;
  table = new Float64Array(65536);
  for (let word = 32768; word < 65536; word++) {
    const entry = word === 65535 ? OUTERMOST : 2 * Math.floor(2048 * quantile((word + 0.5) / 65536)) + 1;
    table[word] = entry;
    table[65535 - word] = -entry;
  }
  return table;
}

/** The quantile of the standard normal law for 1/2 < p < 1 (Wichura 1988, AS 241). */
function quantile(p) {
  const q = p - 0.5;
  if (q <= 0.425) {
    const r = 0.180625 - q * q;
    return (q * over(r, CENTRE)) / over(r, UNDER_CENTRE);
  }
  const r = Math.sqrt(-Math.log(1 - p));
  return r <= 5 ? over(r - 1.6, MIDDLE) / over(r - 1.6, UNDER_MIDDLE) : NaN; // as far out as that no entry is
}

function over(x, coefficients) {
  return coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);
}

const CENTRE = [
  2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
  1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0,
];
const UNDER_CENTRE = [
  5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
  5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0,
];
const MIDDLE = [
  7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
  3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0,
];
const UNDER_MIDDLE = [
  1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
  6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0,
];
