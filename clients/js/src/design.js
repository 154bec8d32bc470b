// Design response: which messages belong to a value. Values are points of an affine plane or space, messages its lines or planes.

import { exactly } from "./canonical.js";

const CHOICE = 2;
const CHOICE_DRAW = 2 ** 33;

/** The structure of a randomizer document, checked: {prime, dimension, points, choices}; null if it is none. */
export function readStructure(document) {
  if (!exactly(document, ["kind", "prime", "dimension"]) || document.kind !== "affine") return null;
  const { prime, dimension } = document;
  if (!isPrime(prime) || (dimension !== 2 && dimension !== 3)) return null;
  const choices = dimension === 2 ? prime + 1 : prime * prime + prime + 1;
  return prime * choices <= 2 ** 32 ? { prime, dimension, points: prime ** dimension, choices } : null;
}

function isPrime(number) {
  if (!Number.isInteger(number) || number < 2 || number >= 65536) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}

/** One of the messages that belong to a point, each as likely. */
export function trueMessage(structure, point, words) {
  return member(structure, point, choose(structure.choices, words));
}

/** The message number `choice` of a point: prime * choice + which of the parallel lines or planes. */
function member({ prime: q, dimension }, point, choice) {
  const w = point % q;
  const rest = Math.floor(point / q);
  const v = dimension === 2 ? 0 : rest % q;
  const u = dimension === 2 ? rest : Math.floor(rest / q);
  const less = (from, ...parts) => parts.reduce((left, part) => (left + q * q - part) % q, from); // parts are below q^2
  let offset = u; // the last choice
  if (dimension === 2 && choice < q) offset = less(w, choice * u);
  if (dimension === 3 && choice < q * q) offset = less(w, Math.floor(choice / q) * u, (choice % q) * v);
  else if (dimension === 3 && choice < q * q + q) offset = less(v, (choice - q * q) * u);
  return q * choice + offset;
}

/** Exactly uniform below `bound`: 32 bits of a word, blocks for what they reject. */
function choose(bound, words) {
  const size = BigInt(bound);
  const least = (1n << 32n) % size;
  let drawn = BigInt(words.word(CHOICE));
  for (let draw = CHOICE_DRAW; ; draw++) {
    const product = drawn * size;
    if (BigInt.asUintN(32, product) >= least) return Number(product >> 32n);
    drawn = BigInt.asUintN(32, words.block(draw)[1]);
  }
}
