// Rows of numbers: the very codewords and messages that the Python package makes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sha256, toHex } from "../src/bytes.js";
import { messagesFor, readProtocol } from "../src/protocol.js";
import { payload } from "../src/sealing.js";
import { codewords, entriesOfCodewords } from "../src/vector.js";
import { RecordedWords } from "./words.js";

const path = new URL("../../../src/shuffledp/service/wire/vectors.json", import.meta.url);
const VECTORS = JSON.parse(readFileSync(path, "utf8"));
// as docs/maths/vectors.md has it
const ENTRIES = "f432b59464a545e7c6f6e97462e7db99e7b22cf7b22676c934b89c08193304bc";

function ball(changes = {}, randomizer = {}) {
  return {
    kind: "vector-mean",
    domain: { kind: "ball", dimension: 2, norm: 1, columns: ["x", "y"], ...changes },
    randomizer: { kind: "codebook", dimension: 2, size: 4, repeats: 1, threshold: "4611686018427387904", ...randomizer },
  };
}

test("entries of codewords", async () => {
  const table = entriesOfCodewords();
  assert.equal(toHex(await sha256(new Uint8Array(Int16Array.from(table).buffer))), ENTRIES);
});

test("codewords come in any pieces", async () => {
  const whole = await codewords(123456789012345n, 0, 6, 3);
  const piece = await codewords(123456789012345n, 4, 2, 3);
  assert.deepEqual(whole.slice(4 * 24), piece);
});

test("rows from recorded words", async () => {
  assert.ok(VECTORS.rows.length >= 8);
  for (const { protocol, value, messages, ...recorded } of VECTORS.rows) {
    const words = new RecordedWords(recorded);
    assert.deepEqual(await messagesFor(readProtocol(protocol), value, words), messages);
    assert.deepEqual([words.bytes, words.blocks], [{}, {}]);
  }
});

test("moments: other documents are refused", () => {
  const { protocol } = VECTORS.rows.find(({ protocol }) => protocol.regression);
  assert.equal(readProtocol(protocol).mostMessages, protocol.randomizer.repeats);
  for (const changes of [
    { regression: undefined },
    { regression: { ...protocol.regression, target: "another" } },
    { regression: { ...protocol.regression, features: [protocol.regression.target] } },
    { regression: { ...protocol.regression, features: [] } },
    { regression: { ...protocol.regression, ridge: -1 } },
    { regression: { ...protocol.regression, more: 1 } },
    { domain: { ...protocol.domain, kind: "box" } },
    { domain: { ...protocol.domain, columns: [] } },
    { domain: { ...protocol.domain, lows: [0] } },
    { randomizer: { ...protocol.randomizer, dimension: 2 } },
  ]) {
    assert.throws(() => readProtocol({ ...protocol, ...changes }), { kind: "invalid" });
  }
});

test("a message is eight bytes", () => {
  assert.equal(toHex(payload("4611686018427387903")), "3fffffffffffffff0000000000000000");
});

test("fresh rows", async () => {
  const protocol = readProtocol(ball({}, { repeats: 3 }));
  assert.equal(protocol.mostMessages, 3);
  assert.ok(Math.abs(protocol.epsilon0 - 3 * Math.log(13)) < 1e-12);
  const messages = await messagesFor(protocol, { y: 0.5, x: -0.5 });
  assert.equal(messages.length, 3);
  assert.ok(messages.every((message) => BigInt(message) < 4n * 2n ** 48n));
});

test("what is no row is refused, and not shown", async () => {
  const protocol = readProtocol(ball());
  for (const value of [[1], [1, 2, 3], ["1", "0"], [NaN, 0], [Infinity, 0], [31337, 0], { x: 1 }, 7, null, "0.1,0.2"]) {
    await assert.rejects(messagesFor(protocol, value), (error) => error.kind === "invalid" && !/31337/.test(error.message));
  }
});

test("other documents are refused", () => {
  for (const [domain, randomizer] of [
    [{ dimension: 3 }, {}],
    [{ norm: 0 }, {}],
    [{ columns: ["x"] }, {}],
    [{ columns: ["x", "x"] }, {}],
    [{ more: 1 }, {}],
    [{ kind: "box" }, {}],
    [{}, { size: 1 }],
    [{}, { size: 2 ** 15 }],
    [{}, { repeats: 0 }],
    [{}, { threshold: "0" }],
    [{}, { threshold: "18446744073709551616" }],
    [{}, { more: 1 }],
  ]) {
    assert.throws(() => readProtocol(ball(domain, randomizer)), { kind: "invalid" });
  }
});
