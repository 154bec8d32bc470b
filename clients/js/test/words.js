// Words that were recorded elsewhere.

/** The words of a vector, and no others. */
export class RecordedWords {
  constructor({ bytes, blocks }) {
    this.bytes = { ...bytes };
    this.blocks = { ...blocks };
  }
  byte(lane) {
    const found = this.bytes[lane];
    delete this.bytes[lane];
    return found;
  }
  block(draw) {
    const found = this.blocks[draw].map((word) => BigInt(`0x${word}`));
    delete this.blocks[draw];
    return found;
  }
}
