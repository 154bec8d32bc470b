// Words that were recorded elsewhere.

/** The words of a vector, and no others. */
export class RecordedWords {
  constructor({ bytes, blocks, words }) {
    this.bytes = { ...bytes };
    this.words = { ...words };
    this.blocks = { ...blocks };
  }
  byte(lane) {
    const found = this.bytes[lane];
    delete this.bytes[lane];
    return found;
  }
  word(lane) {
    const found = parseInt(this.words[lane], 16);
    delete this.words[lane];
    return found;
  }
  block(draw) {
    const found = this.blocks[draw].map((word) => BigInt(`0x${word}`));
    delete this.blocks[draw];
    return found;
  }
}
