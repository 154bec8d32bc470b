// Reports of several messages: a true one among dummies, in a bundle of one length.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Client, MemoryStorage } from "../shuffledp.js";
import { fromHex, toHex } from "../src/bytes.js";
import { cappedPoisson } from "../src/dummies.js";
import { messagesFor, readProtocol, SystemWords } from "../src/protocol.js";
import { bundle, reportId } from "../src/sealing.js";
import { FakeShuffler, party } from "./shuffler.js";
import { RecordedWords } from "./words.js";

const path = new URL("../../../src/shuffledp/service/wire/vectors.json", import.meta.url);
const VECTORS = JSON.parse(readFileSync(path, "utf8"));
const FOUR = { kind: "identity", size: 4 };

function dummiesOn(structure, dummies = 1.5, domain = { kind: "whole-numbers", size: 4 }) {
  return { kind: "counts-with-dummies", domain, randomizer: { kind: "dummies", structure, dummies } };
}

test("the law of the number of dummies", () => {
  for (const { dummies, thresholds } of VECTORS.poisson) {
    const law = cappedPoisson(dummies);
    assert.deepEqual(
      law.thresholds.map((threshold) => threshold.toString(16).padStart(32, "0")),
      thresholds,
    );
    assert.equal(law.most, thresholds.length);
  }
});

test("true messages and dummies from recorded words", async () => {
  for (const { protocol, value, messages, ...recorded } of VECTORS.dummies) {
    const words = new RecordedWords(recorded);
    assert.deepEqual(await messagesFor(readProtocol(protocol), value, words), messages);
    assert.deepEqual([words.bytes, words.blocks, words.words], [{}, {}, {}]);
  }
});

test("digits and dummies from recorded words", async () => {
  for (const { protocol, value, messages, ...recorded } of VECTORS.digits) {
    const words = new RecordedWords(recorded);
    assert.deepEqual(await messagesFor(readProtocol(protocol), value, words), messages);
    assert.deepEqual([words.bytes, words.blocks], [{}, {}]);
  }
});

test("digits that cannot be are refused", () => {
  const [{ protocol }] = VECTORS.digits;
  const wrong = [{ base: 1 }, { base: 2.5 }, { groups: 2 }, { dummies: [] }, { dummies: [0] }, { dummies: Array(31).fill(1) }];
  for (const other of wrong) {
    const randomizer = { ...protocol.randomizer, ...other };
    assert.throws(() => readProtocol({ ...protocol, randomizer }), /not a protocol/, JSON.stringify(other));
  }
  assert.equal(readProtocol(protocol).epsilon0, Infinity);
});

test("fresh dummies: their number and what they are", async () => {
  const protocol = readProtocol(dummiesOn(FOUR));
  const counts = [0, 0, 0, 0];
  const reports = 4000;
  for (let i = 0; i < reports; i++)
    for (const one of await messagesFor(protocol, 2, new SystemWords())) counts[one] += 1;
  counts[2] -= reports;
  for (const count of counts) assert.ok(Math.abs(count - 1500) < 320); // eight standard deviations of a Poisson number
});

test("bundles", async () => {
  for (const { slots, sealed, salt, bundle: expected, report_id: id } of VECTORS.bundles) {
    const made = bundle(
      sealed.map(({ record }) => fromHex(record)),
      slots,
      fromHex(salt),
    );
    assert.equal(toHex(made), expected);
    assert.equal(toHex(await reportId(made)), id);
    assert.throws(() => bundle([made, made], slots), { kind: "invalid" });
    assert.throws(() => bundle([], slots), { kind: "invalid" });
  }
});

/** Four dummies of 1.5 on average; every word can be told from the others. */
class Four {
  made = 0;
  byte() {
    this.made += 1;
    return 240;
  }
  block(draw) {
    return [0n, BigInt(draw / 2 ** 20) << 29n];
  }
}

test("all messages are in one report of one length, and after a rotation the same ones are", async () => {
  const [after, words, storage] = [await party("analyzer", 1), new Four(), new MemoryStorage()];
  const shuffler = await FakeShuffler.start({ protocol: dummiesOn(FOUR) });
  const before = shuffler.next;
  before.list.keys.push(after.list.keys[0]);
  const client = new Client({
    url: "http://127.0.0.1:1/",
    taskId: shuffler.id,
    analyzer: before.list,
    storage,
    words,
    fetch: shuffler.fetch,
  });
  const { task } = await client.describe();
  assert.deepEqual([task.protocol.epsilon0, task.protocol.mostMessages], [Infinity, 37]);
  let kept = "";
  shuffler.answers = [
    undefined,
    async () => {
      kept = await storage.get(`shuffledp/2/${shuffler.id}`);
      shuffler.next = { ...after, list: before.list };
      shuffler.window = 2;
    },
  ];
  await client.submit(3);
  const { messages } = JSON.parse(kept).windows[1];
  assert.equal(messages.length, 5);
  assert.ok(messages.includes(3));
  assert.deepEqual(await shuffler.opened(after), messages);
  assert.equal(words.made, 1);
  const lengths = shuffler.requests.filter(({ method }) => method === "POST").map(({ body }) => body.length);
  assert.deepEqual(lengths, [55 + 37 * 71 + 16, 55 + 37 * 71 + 16]);
});

test("dummies that this client does not understand are refused", () => {
  const affine = { kind: "affine", prime: 5, dimension: 2 };
  assert.equal(readProtocol(dummiesOn(affine)).size, 30);
  for (const wrong of [
    ...[0, 1e-10, 1001, NaN, "1.5", null].map((dummies) => dummiesOn(FOUR, dummies)),
    ...[1, 2.5, 2 ** 32 + 1, "4", undefined].map((size) => dummiesOn({ kind: "identity", size })),
    dummiesOn({ ...FOUR, more: 1 }),
    dummiesOn({ ...affine, prime: 4 }),
    dummiesOn(undefined),
    dummiesOn(FOUR, 1.5, { kind: "whole-numbers", size: 5 }),
    dummiesOn(FOUR, 1.5, { kind: "whole-numbers", size: 1 }),
    dummiesOn(FOUR, 1.5, { kind: "reals", low: 0, high: 1 }),
    { ...dummiesOn(FOUR), kind: "histogram" },
    { ...dummiesOn(FOUR), total: "sum" },
  ]) {
    assert.throws(() => readProtocol(wrong), { kind: "invalid" });
  }
});
