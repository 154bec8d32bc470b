// The vectors that the Python package ships, reproduced byte for byte; and the one of RFC 9180.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromBase64, fromHex, toHex } from "../src/bytes.js";
import { canonicalText } from "../src/canonical.js";
import { open, seal } from "../src/hpke.js";
import { fingerprint } from "../src/keys.js";
import { encode, messagesFor, randomize, readProtocol, SystemWords } from "../src/protocol.js";
import { header, info, payload, reportId, sealInner, wrap } from "../src/sealing.js";
import { taskId, verifyTask } from "../src/task.js";
import { pairOf } from "./shuffler.js";
import { RecordedWords } from "./words.js";

const read = (path) => JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8"));
const VECTORS = read("src/shuffledp/service/wire/vectors.json");

test("canonical forms", () => {
  for (const { json, canonical } of VECTORS.canonical) {
    if (canonical === null) assert.throws(() => canonicalText(JSON.parse(json)), { kind: "invalid" });
    else assert.equal(canonicalText(JSON.parse(json)), canonical);
  }
  for (const value of [undefined, NaN, Infinity, [undefined], { a: () => 1 }, 1n]) {
    assert.throws(() => canonicalText(value), { kind: "invalid" });
  }
});

test("task ids", async () => {
  for (const { document, id } of VECTORS.tasks) {
    const task = await verifyTask(document, id);
    assert.equal(task.hops, document.shufflers.length);
    await assert.rejects(verifyTask({ ...document, window: document.window + 1 }, id), { kind: "untrusted" });
  }
});

test("fingerprints", async () => {
  for (const key of VECTORS.keys) {
    const pair = await pairOf(fromHex(key.private));
    assert.deepEqual(pair.raw, fromBase64(key.public));
    assert.equal(await fingerprint(key), key.fingerprint);
  }
});

test("randomization from recorded words", async () => {
  for (const vector of VECTORS.randomization) {
    const words = new RecordedWords(vector);
    const protocol = readProtocol(vector.protocol);
    const symbol = await encode(protocol, vector.value, words);
    assert.equal(symbol, vector.symbol);
    assert.equal(randomize(protocol, symbol, words), vector.message);
    assert.deepEqual([words.bytes, words.blocks, words.words], [{}, {}, {}]); // all of them were used
  }
});

test("true messages, which take no words", async () => {
  const none = { byte: assert.fail, word: assert.fail, block: assert.fail };
  for (const { protocol, value, message } of VECTORS.truths) {
    assert.deepEqual(await messagesFor(readProtocol(protocol), value, none), [message]);
  }
  const [table] = VECTORS.truths.map((one) => one.protocol).filter((one) => one.questions);
  const [first, second, third] = table.questions;
  const other = { ...third, randomizer: { ...third.randomizer, noise: { ...third.randomizer.noise, peak: 3 } } };
  for (const questions of [[first, second], [first, second, other], [first, second, table], [first, second, {}]]) {
    assert.throws(() => readProtocol({ ...table, questions }), { kind: "invalid" });
  }
  for (const value of [null, 3, [], { fruit: "apple", hours: 0.5 }, { fruit: "plum", hours: 0.5, again: "pear" }]) {
    await assert.rejects(messagesFor(readProtocol(table), value, none), { kind: "invalid" });
  }
});

test("a task that tops up says with what", async () => {
  const { document } = VECTORS.tasks.find((one) => one.document.top_up);
  const { top_up: noise, ...without } = document;
  const thinned = { kind: "thinned-geometric", kept: "5", ratio: "5" };
  for (const wrong of [without, { ...document, on_expiry: "destroy" }, { ...document, on_expiry: "keep" },
    { ...document, top_up: { ...noise, peak: -1 } }, { ...document, top_up: thinned }]) {
    await assert.rejects(verifyTask(wrong, await taskId(wrong)), { kind: "invalid" });
  }
});

test("values outside the domain are refused and not shown", async () => {
  for (const { protocol, value } of VECTORS.refused) {
    await assert.rejects(encode(readProtocol(protocol), value, new SystemWords()), { kind: "invalid" });
  }
  const labelled = readProtocol(VECTORS.refused[0].protocol);
  await assert.rejects(
    encode(labelled, "s3cret", new SystemWords()),
    (error) => !error.message.includes("s3cret"),
  );
  const { protocol } = VECTORS.refused.at(-1);
  for (const value of [NaN, Infinity, "1", true, null, 12345.678]) {
    await assert.rejects(
      encode(readProtocol(protocol), value, new SystemWords()),
      (error) => !error.message.includes("12345"),
    );
  }
});

test("layers, sealed with the same ephemeral keys, and opened again", async () => {
  for (const { task_id: id, message, layers } of VECTORS.sealing) {
    let record = payload(message);
    for (const layer of layers) {
      const role = layer.role;
      const key = { key_id: layer.key_id, public: fromBase64(layer.public), role };
      key.fingerprint = await fingerprint(key);
      const label = layer.hop > 1 ? `${role}${layer.hop}` : role;
      const bound = info(label, header(layer.key_id), id, key.fingerprint);
      assert.equal(toHex(bound), layer.info);
      assert.equal(toHex(record), layer.plaintext);
      const ephemeral = await pairOf(fromHex(layer.ephemeral));
      const plaintext = record;
      record = await (layer.hop
        ? wrap(plaintext, layer.hop, id, key, { ephemeral })
        : sealInner(message, id, key, { ephemeral }));
      assert.equal(toHex(record), layer.record);
      assert.deepEqual(await open(record.slice(7), await pairOf(fromHex(layer.private)), bound), plaintext);
      assert.equal(toHex(await reportId(record)), layer.report_id);
    }
  }
});

test("RFC 9180, A.1.1", async () => {
  const vector = read("tests/golden/hpke.json").rfc9180_a1;
  const recipient = await pairOf(fromHex(vector.skRm));
  const ephemeral = await pairOf(fromHex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")); // skEm there
  const [bound, aad] = [fromHex(vector.info), fromHex(vector.aad)];
  const sealed = await seal(fromHex(vector.pt), recipient.raw, bound, { aad, ephemeral });
  assert.equal(toHex(sealed), vector.enc + vector.ct);
  assert.equal(toHex(await open(sealed, recipient, bound, { aad })), vector.pt);
  sealed[40] ^= 1;
  await assert.rejects(open(sealed, recipient, bound, { aad }));
});

test("nothing is sealed to a point of small order", async () => {
  const one = Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? 1 : 0));
  for (const point of [new Uint8Array(32), one])
    await assert.rejects(seal(new Uint8Array(1), point, new Uint8Array(1)));
});

test("a value's messages are lines or planes through its point, and each is sent as often", () => {
  for (const [prime, dimension, choices] of [
    [5, 2, 6],
    [3, 3, 13],
  ]) {
    const protocol = readProtocol({
      kind: "frequencies",
      domain: { kind: "whole-numbers", size: prime ** dimension },
      randomizer: { kind: "design", structure: { kind: "affine", prime, dimension }, threshold: "1" },
    });
    const sent = (value) => {
      const counts = new Map();
      for (let i = 0; i < 1000 * choices; i++) {
        const message = randomize(protocol, value, new SystemWords());
        counts.set(message, (counts.get(message) ?? 0) + 1);
      }
      return counts;
    };
    const [one, other] = [sent(7), sent(prime ** dimension - 1)];
    assert.equal(one.size, choices);
    assert.ok([...one.values()].every((count) => Math.abs(count - 1000) < 260)); // eight standard deviations
    const shared = [...one.keys()].filter((message) => other.has(message)).length;
    assert.equal(shared, (prime ** (dimension - 1) - 1) / (prime - 1));
  }
});

test("fresh words are spread over all values", () => {
  const words = new SystemWords();
  const seen = new Set(Array.from({ length: 10_000 }, () => words.byte(0)));
  assert.equal(seen.size, 256);
  const protocol = { size: 4, threshold: 2n ** 64n - 1n };
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 20_000; i++) counts[randomize(protocol, 0, words)] += 1;
  for (const count of counts) assert.ok(Math.abs(count - 5000) < 500); // eight standard deviations
});
