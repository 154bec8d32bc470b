// Dummies: a user sends the true message and, beside it, a number of uniform ones that is Poisson but for a largest value.

import { uniformBelow } from "./uniform.js";

const NUMBER = 4;
const DRAW = 2 ** 35;
const BITS = 2048n; // of the numbers below, behind the point: more than are lost even with 1000 dummies on average
const ONE = 1n << BITS;
const laws = new Map();

/** How many dummies: at most `most`, and at most k with probability thresholds[k] / 2^128; null if no user sends `mean`. */
export function cappedPoisson(mean) {
  if (typeof mean !== "number" || !(mean >= 1e-9 && mean <= 1000)) return null;
  if (!laws.has(mean)) laws.set(mean, computed(mean));
  return laws.get(mean);
}

function computed(mean) {
  const exact = BigInt(mean * 2 ** 83) << (BITS - 83n); // doubles from 1e-9 on are multiples of 2^-83
  let chance = decayed(exact);
  let below = chance;
  const thresholds = [];
  while (ONE - below >= ONE >> 120n) {
    thresholds.push(below >> (BITS - 128n));
    chance = (chance * exact) / (BigInt(thresholds.length) << BITS);
    below += chance;
  }
  return { most: thresholds.length, thresholds };
}

/** e^-x: the series for x / 2^12, squared twelve times. */
function decayed(x) {
  const part = x >> 12n;
  let [sum, term] = [ONE, ONE];
  for (let n = 1n; term !== 0n; n++) {
    term = (term * part) / (n << BITS);
    sum += n % 2n ? -term : term;
  }
  for (let squared = 0; squared < 12; squared++) sum = (sum * sum) >> BITS;
  return sum;
}

/** The dummies of one report, each below `size`. */
export function dummies({ most, thresholds }, size, words) {
  return Array.from({ length: drawn(thresholds, most, words) }, (_, at) => {
    const draw = DRAW + (at + 1) * 2 ** 20;
    return uniformBelow(size, words, words.block(draw), draw);
  });
}

/** A byte settles most; if it does not, 120 bits more do. */
function drawn(thresholds, most, words) {
  const byte = BigInt(words.byte(NUMBER));
  if (byte < thresholds[0] >> 120n) return 0;
  const [first, second] = words.block(DRAW);
  const x = (byte << 120n) | ((first >> 8n) << 64n) | second;
  const found = thresholds.findIndex((threshold) => x < threshold);
  return found < 0 ? most : found;
}
