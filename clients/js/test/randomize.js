// Randomize from recorded words: one {"protocol", "value", "bytes", "blocks"} a line in, one [symbol, message] a line out.

import { createInterface } from "node:readline";
import { encode, randomize, readProtocol } from "../src/protocol.js";
import { RecordedWords } from "./words.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { protocol: document, value, ...recorded } = JSON.parse(line);
  const words = new RecordedWords(recorded);
  const protocol = readProtocol(document);
  const symbol = await encode(protocol, value, words);
  console.log(JSON.stringify([symbol, randomize(protocol, symbol, words)]));
}
