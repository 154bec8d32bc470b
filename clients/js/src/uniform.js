// Exactly uniform numbers from blocks of random words.

/**
 * Uniform below `bound`, by multiply-shift with rejection (Lemire 2019) on 32 bits of the second word of `block`, which is
 * number `draw`, or of the next ones.
 */
export function uniformBelow(bound, words, block, draw = 0) {
  const size = BigInt(bound);
  const least = (1n << 32n) % size;
  for (; ; block = words.block(++draw)) {
    const product = BigInt.asUintN(32, block[1]) * size;
    if (BigInt.asUintN(32, product) >= least) return Number(product >> 32n);
  }
}
