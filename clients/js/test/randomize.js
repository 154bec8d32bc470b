// Randomize from recorded words: one {"protocol", "value", "bytes", "blocks"} a line in, [symbol, message] or all messages out.

import { createInterface } from "node:readline";
import { encode, messagesFor, randomize, readProtocol } from "../src/protocol.js";
import { RecordedWords } from "./words.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { protocol: document, value, ...recorded } = JSON.parse(line);
  const words = new RecordedWords(recorded);
  const protocol = readProtocol(document);
  const one = async () => {
    const symbol = await encode(protocol, value, words);
    return [symbol, randomize(protocol, symbol, words)];
  };
  console.log(JSON.stringify(await (protocol.number || protocol.numbers || protocol.truthful ? messagesFor(protocol, value, words) : one())));
}
