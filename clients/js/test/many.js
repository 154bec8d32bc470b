// Many people report at once: {"url", "taskId", "analyzer", "values"} on standard input, how many arrived on standard output.

import { text } from "node:stream/consumers";
import { Client, MemoryStorage } from "../shuffledp.js";

const AT_ONCE = 25;
const { values, ...options } = JSON.parse(await text(process.stdin));
const people = values.entries();
const counts = { fresh: 0, earlier: 0 };

async function report() {
  for (const [, value] of people) {
    const client = new Client({ ...options, storage: new MemoryStorage() });
    const { earlier } = await client.submit(value);
    counts[earlier ? "earlier" : "fresh"] += 1;
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, report));
console.log(JSON.stringify(counts));
