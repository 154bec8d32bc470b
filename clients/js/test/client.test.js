import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, MemoryStorage } from "../shuffledp.js";
import { FakeShuffler, json, party, peel } from "./shuffler.js";
import { taskId } from "../src/task.js";

/** Words that always tell the truth: the byte is above every threshold. */
class Truth {
  made = 0;
  byte() {
    this.made += 1;
    return 255;
  }
  block() {
    return [2n ** 64n - 1n, 0n];
  }
}

async function setUp(options = {}) {
  const shuffler = await FakeShuffler.start(options);
  const words = new Truth();
  const clock = { now: 1_000_000_000_000 };
  const storage = new MemoryStorage();
  const sleeps = [];
  const settings = {
    url: "http://127.0.0.1:1/",
    taskId: shuffler.id,
    analyzer: shuffler.next.list,
    storage,
    words,
    now: () => clock.now,
    fetch: shuffler.fetch,
  };
  const client = new Client({ ...settings, sleep: async (pause) => sleeps.push(pause), ...options.client });
  const kept = async () => JSON.parse(await storage.get(`shuffledp/2/${shuffler.id}`));
  return { shuffler, client, words, clock, storage, sleeps, kept, settings };
}

const lost = () => {
  throw new TypeError("network");
};
const posts = (shuffler) => shuffler.requests.filter((request) => request.method === "POST");

test("a report arrives, is opened by the analyzer, and what was sent is forgotten", async () => {
  const { shuffler, client, kept, clock } = await setUp();
  assert.deepEqual(await client.submit("b"), { window: 1, earlier: false });
  assert.deepEqual(await shuffler.opened(), [1]);
  assert.deepEqual(await kept(), { first: clock.now, period: 0, fresh: 1, windows: { 1: { arrived: clock.now } } });
});

test("requests carry nothing about the person and follow nobody", async () => {
  const { shuffler, client } = await setUp();
  await client.submit("b");
  assert.deepEqual(
    shuffler.requests.map((request) => request.method),
    [undefined, "POST"],
  );
  for (const { credentials, cache, redirect, referrerPolicy } of shuffler.requests) {
    assert.deepEqual([credentials, cache, redirect, referrerPolicy], ["omit", "no-store", "error", "no-referrer"]);
  }
  assert.equal(posts(shuffler)[0].body.length, 126);
  assert.equal(posts(shuffler)[0].url, `http://127.0.0.1:1/v2/tasks/${shuffler.id}/reports?window=1`);
});

test("a lost answer is followed by the same bytes, and the report counts once", async () => {
  const { shuffler, client, sleeps } = await setUp();
  shuffler.answers = [undefined, async (url, options) => void (await shuffler.answer(new URL(url), options)) ?? lost()];
  assert.deepEqual(await client.submit("c"), { window: 1, earlier: false });
  assert.equal(posts(shuffler).length, 2);
  assert.deepEqual(posts(shuffler)[0].body, posts(shuffler)[1].body);
  assert.deepEqual(await shuffler.opened(), [2]);
  assert.equal(sleeps.length, 1);
});

test("pauses grow, honour Retry-After up to a minute, and end", async () => {
  const { shuffler, client, sleeps } = await setUp();
  const busy = (status, headers) => () => json({ title: "busy" }, status, headers);
  shuffler.answers = [
    undefined,
    busy(429, { "Retry-After": "7" }),
    busy(503, { "Retry-After": "99999" }),
    busy(502),
    busy(504),
  ];
  await client.submit("a");
  assert.ok(sleeps[0] >= 7000 && sleeps[0] < 7001);
  assert.equal(sleeps[1], 60_000);
  assert.ok(sleeps[2] >= 400 && sleeps[2] <= 1200 && sleeps[3] >= 800 && sleeps[3] <= 2400);
  shuffler.window = 2;
  shuffler.answers = Array(8).fill(lost);
  await assert.rejects(client.submit("a"), { kind: "not_delivered" });
});

test("a report that could not be delivered waits, and is what the next submit sends, whatever the value", async () => {
  const { shuffler, client, words, kept } = await setUp();
  shuffler.answers = [undefined, ...Array(8).fill(lost)];
  await assert.rejects(client.submit("b"), { kind: "not_delivered" });
  const waits = (await kept()).windows[1];
  assert.deepEqual(Object.keys(waits), ["messages", "inner", "key"]);
  assert.deepEqual(await client.submit("c"), { window: 1, earlier: true });
  assert.deepEqual(await shuffler.opened(), [1]);
  assert.equal(words.made, 1);
});

test("a second submit in a window says that the earlier report stands, and sends nothing", async () => {
  const { shuffler, client, words } = await setUp();
  await client.submit("a");
  const before = posts(shuffler).length;
  assert.deepEqual(await client.submit("b"), { window: 1, earlier: true });
  assert.equal(posts(shuffler).length, before);
  assert.equal(words.made, 1);
});

test("a server that names new windows gets one report per window of this device's clock", async () => {
  const { shuffler, client, words, clock } = await setUp();
  await client.submit("a");
  for (let window = 2; window < 42; window++) {
    shuffler.window = window;
    await assert.rejects(client.submit("a"), { kind: "too_soon", message: /too soon/ });
  }
  assert.equal(words.made, 1);
  clock.now += 59_999;
  await assert.rejects(client.submit("a"), { kind: "too_soon" });
  clock.now += 1;
  assert.deepEqual(await client.submit("a"), { window: 41, earlier: false });
  shuffler.window = 42;
  await assert.rejects(client.submit("a"), { kind: "too_soon" });
  clock.now += 600_000; // ten minutes later one more, not ten
  assert.deepEqual(await client.submit("a"), { window: 42, earlier: false });
  shuffler.window = 43;
  await assert.rejects(client.submit("a"), { kind: "too_soon" });
  clock.now -= 10 * 365 * 86_400_000; // a clock that went back allows none
  await assert.rejects(client.submit("a"), { kind: "too_soon" });
  clock.now = NaN;
  await assert.rejects(client.submit("a"), { kind: "invalid" });
  assert.equal(words.made, 3);
});

const ROUNDS = { kind: "rounds", rounds: 10, per_person: 2, epsilon: 2, delta: 1e-6 };

test("where a person takes part in some rounds only, no more reports are made than that", async () => {
  const { shuffler, client, words, clock } = await setUp({ rounds: ROUNDS });
  await client.submit("a");
  clock.now += 60_000;
  shuffler.window = 2;
  shuffler.answers = [undefined, ...Array(8).fill(lost)];
  await assert.rejects(client.submit("b"), { kind: "not_delivered" });
  assert.deepEqual(await client.submit("b"), { window: 2, earlier: true }); // one that waits is sent all the same
  for (let window = 3; window < 13; window++) {
    shuffler.window = window;
    clock.now += 60_000;
    await assert.rejects(client.submit("a"), { kind: "no_more", message: /at most 2 reports of one person/ });
  }
  assert.equal(words.made, 2);
  assert.equal((await client.describe()).task.most, 2);
});

test("rounds that do not say how often a person may report are no task", async () => {
  const { per_person: _, ...without } = ROUNDS;
  const odd = [{ per_person: 0 }, { per_person: 11 }, { per_person: "2" }, { rounds: 1e6 }, { kind: "weeks" }, { more: 1 }];
  for (const rounds of [without, [], null, ...odd.map((change) => ({ ...ROUNDS, ...change }))]) {
    const { client } = await setUp({ rounds });
    await assert.rejects(client.submit("a"), { kind: "invalid" });
  }
});

test("when the shuffler's keys change the same inside gets a new wrapping", async () => {
  const { shuffler, client, words } = await setUp();
  shuffler.answers = [undefined, async () => void (shuffler.own = await party("shuffler", 1))];
  assert.deepEqual(await client.submit("b"), { window: 1, earlier: false });
  assert.deepEqual(await shuffler.opened(), [1]);
  assert.equal(words.made, 1);
});

test("a report that is late for its window goes to the next with the same inside", async () => {
  const { shuffler, client, words, kept } = await setUp();
  shuffler.answers = [undefined, () => void (shuffler.window = 2)];
  assert.deepEqual(await client.submit("b"), { window: 2, earlier: false });
  assert.equal(words.made, 1);
  assert.deepEqual(Object.keys((await kept()).windows), ["2"]);
  assert.equal((await kept()).fresh, 1);
});

test("after a rotation of the analyzer the same message is sealed again, never randomized again", async () => {
  const after = await party("analyzer", 1);
  const { shuffler, client, words } = await setUp();
  const before = shuffler.next;
  before.list.keys.push(after.list.keys[0]); // the trusted list knows the next key
  shuffler.answers = [
    undefined,
    () => {
      shuffler.next = { ...after, list: before.list };
      shuffler.window = 2;
    },
  ];
  assert.deepEqual(await client.submit("c"), { window: 2, earlier: false });
  assert.deepEqual(await shuffler.opened(after), [2]);
  assert.equal(words.made, 1);
});

test("an announced key that the caller does not trust is refused before anything is randomized or sent", async () => {
  const { shuffler, client, words } = await setUp();
  const other = await party("analyzer"); // the same id, another key
  shuffler.next = other;
  await assert.rejects(client.submit("a"), { kind: "untrusted", message: new RegExp(other.fingerprint) });
  shuffler.next = { ...other, keyId: 9 };
  await assert.rejects(client.submit("a"), { kind: "untrusted" });
  shuffler.next = { ...other, keyId: null }; // between two windows
  await assert.rejects(client.submit("a"), { kind: "not_delivered" });
  shuffler.next = { ...other, list: shuffler.own.list };
  await assert.rejects(client.submit("a"), { kind: "invalid" });
  assert.equal(words.made, 0);
  assert.equal(posts(shuffler).length, 0);
});

test("a rotation to an untrusted key while a report is on its way is refused, and the report waits", async () => {
  const { shuffler, client, words } = await setUp();
  const trusted = shuffler.next;
  const other = await party("analyzer", 1);
  shuffler.answers = [undefined, () => void (shuffler.next = other)];
  await assert.rejects(client.submit("a"), { kind: "untrusted" });
  shuffler.next = trusted;
  assert.deepEqual(await client.submit("b"), { window: 1, earlier: true });
  assert.deepEqual(await shuffler.opened(), [0]);
  assert.equal(words.made, 1);
});

test("a fingerprint is trust enough for one shuffler", async () => {
  const { shuffler, storage } = await setUp();
  const submit = (analyzer) =>
    new Client({ url: "http://localhost:1", taskId: shuffler.id, analyzer, storage, fetch: shuffler.fetch }).submit(
      "a",
    );
  await assert.rejects(submit("0".repeat(64)), { kind: "untrusted" });
  await assert.rejects(submit("short"), { kind: "invalid" });
  await assert.rejects(submit(undefined), { kind: "invalid" });
  assert.equal((await submit(["0".repeat(64), shuffler.next.fingerprint.toUpperCase()])).earlier, false);
});

test("with two shufflers the inside is sealed to the analyzer and the inner shuffler that the caller trusts", async () => {
  const analyzer = await party("analyzer", 3);
  const inner = await party("shuffler", 5);
  const { shuffler, client } = await setUp({
    shufflers: ["Alpha", "Gamma"],
    client: { analyzer: analyzer.list, shufflers: [inner.list] },
  });
  shuffler.next = inner;
  await client.submit("c");
  const [record] = shuffler.taken.values();
  assert.equal(record.length, 126);
  const payload = await peel(await peel(record, inner, "shuffler", shuffler.id), analyzer, "analyzer", shuffler.id);
  assert.deepEqual([...payload], [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
  const short = new Client({
    url: "https://a.example",
    taskId: shuffler.id,
    analyzer: analyzer.list,
    fetch: shuffler.fetch,
  });
  await assert.rejects(short.submit("c"), { kind: "invalid" });
});

test("another task, another version or an edited plan is refused", async () => {
  const { shuffler, client } = await setUp();
  const served = shuffler.document;
  const cases = [
    [{ ...served, window: 61 }, "untrusted"],
    [{ ...served, version: 1 }, "invalid"],
    [{ ...served, plan: { ...served.plan, version: 2 } }, "invalid"],
    [null, "untrusted"],
  ];
  for (const [document, kind] of cases) {
    shuffler.document = document;
    await assert.rejects(client.describe(), { kind });
  }
  for (const change of [
    { plan: { ...served.plan, min_batch: 1 } }, // the hash of the plan is not its own
    { surprise: 1 },
    { shufflers: [] },
    { analyzer: "Beta\nepsilon = 0.01" },
    { analyzer: "Beta\u202e" },
    { shufflers: ["Al\u001b[2Jpha"] },
    { shufflers: ["\u200d"] },
    { window: 0.5 },
  ]) {
    shuffler.document = { ...served, ...change };
    const id = await taskId(shuffler.document);
    const other = new Client({
      url: "https://a.example",
      taskId: id,
      analyzer: shuffler.next.list,
      fetch: shuffler.fetch,
    });
    await assert.rejects(other.describe(), { kind: "invalid" });
  }
});

const plane = (structure = { prime: 5, dimension: 2 }) => ({
  kind: "frequencies",
  randomizer: { kind: "design", structure: { kind: "affine", ...structure }, threshold: "9" },
});

test("a plan on a plane is understood, and the report is a line through the value's point", async () => {
  const { shuffler, client, words } = await setUp({ protocol: plane() });
  words.word = () => 2 ** 32 - 1; // the last direction
  const { task } = await client.describe();
  assert.deepEqual([task.protocol.size, task.protocol.structure.points], [30, 25]);
  assert.ok(Math.abs(task.protocol.epsilon0 - Math.log1p((5 * (2 ** 64 - 9)) / 9)) < 1e-9);
  await client.submit("c"); // the point (0, 2)
  assert.deepEqual(await shuffler.opened(), [25]);
});

test("a plan whose protocol this client does not know is refused", async () => {
  for (const protocol of [
    { kind: "plane" },
    { kind: "grouped-summation" },
    {
      domain: {
        kind: "cross-table",
        by: [{ kind: "group", column: "sex", labels: ["f", "m"] }],
        value: { kind: "labels", labels: ["a", "b"] },
      },
    },
    { total: "sum" },
    { domain: { kind: "labels", labels: ["a", "b"] } },
    { domain: { kind: "reals", low: 0, high: 1 } },
    { randomizer: { kind: "response", size: 3, threshold: 2 ** 63 } },
    { randomizer: { kind: "response", size: 3, threshold: (2n ** 64n).toString() } },
    { randomizer: { kind: "laplace", epsilon0: 1 } },
    { kind: "frequencies" }, // with the randomizer of a histogram
    ...[
      { prime: 9, dimension: 2 },
      { prime: 65537, dimension: 2 },
      { prime: 1627, dimension: 3 },
      { prime: 5, dimension: 4 },
      { prime: 5 },
      { prime: "5", dimension: 2 },
      { prime: 5, dimension: 2, order: 5 },
      { kind: "hadamard", order: 8 },
    ].map((structure) => plane(structure)),
    { ...plane(), kind: "histogram" },
    { ...plane(), domain: { kind: "whole-numbers", size: 26 } },
    { ...plane(), domain: { kind: "whole-numbers", size: 1 } },
    { ...plane(), domain: { kind: "labels", labels: ["a", "a"] } },
    { ...plane(), domain: { kind: "reals", low: 0, high: 1 } },
    { ...plane(), domain: { kind: "texts", key: "00".repeat(16) } },
    { ...plane(), kind: "text-frequencies" },
    { ...plane(), kind: "text-frequencies", domain: { kind: "texts", key: "00" } },
    { ...plane(), kind: "text-frequencies", domain: { kind: "texts", key: "00".repeat(16), size: 5 } },
  ]) {
    const { client } = await setUp({ protocol });
    await assert.rejects(client.describe(), { kind: "invalid" });
  }
});

test("a value outside the domain is refused without being shown, and costs nothing", async () => {
  const { client, shuffler, kept } = await setUp();
  await assert.rejects(
    client.submit("s3cret"),
    (error) => error.kind === "invalid" && !error.message.includes("s3cret"),
  );
  assert.equal(posts(shuffler).length, 0);
  await client.submit("a");
  assert.equal((await kept()).fresh, 1);
});

test("http is for this machine only, and an address is only an address", () => {
  const made = (url) => new Client({ url, taskId: "0".repeat(64), analyzer: "0".repeat(64) });
  for (const url of ["http://localhost:8", "http://127.9.9.9", "http://[::1]:8/", "https://shuffler.example/path/"])
    made(url);
  for (const url of [
    "http://shuffler.example",
    "http://localhost.example",
    "http://127.0.0.1.example",
    "http://10.0.0.1",
    "ftp://localhost",
    "https://a@b.example",
    "https://b.example/?x",
    "https://b.example/#x",
    "shuffler",
    "",
    undefined,
  ]) {
    assert.throws(() => made(url), { kind: "invalid" });
  }
  assert.throws(() => new Client({ url: "https://a.example", taskId: "../x", analyzer: "0".repeat(64) }), {
    kind: "invalid",
  });
});

test("a storage that fails or is damaged means that nothing is reported", async () => {
  const { shuffler, client, storage, words } = await setUp();
  const name = `shuffledp/2/${shuffler.id}`;
  for (const text of [
    "",
    "{}",
    "[]",
    '{"first":null,"fresh":1,"windows":{}}',
    '{"first":0,"period":0,"fresh":1,"windows":{"1":{"messages":[1]}}}',
  ]) {
    await storage.set(name, text);
    await assert.rejects(client.submit("a"), { kind: "storage" });
  }
  const full = { get: async () => null, set: async () => Promise.reject(new Error("full: a")) };
  const other = new Client({
    url: "https://a.example",
    taskId: shuffler.id,
    analyzer: shuffler.next.list,
    storage: full,
    fetch: shuffler.fetch,
  });
  await assert.rejects(other.submit("a"), { kind: "storage" });
  assert.equal(posts(shuffler).length, 0);
  assert.equal(words.made, 0);
});

test("two submits at once randomize once", async () => {
  const { shuffler, client, words, settings } = await setUp();
  const twin = new Client({ ...settings, url: "http://127.0.0.1:1" });
  const results = await Promise.all([client.submit("a"), twin.submit("b"), client.submit("c")]);
  assert.equal(results.filter(({ earlier }) => !earlier).length, 1);
  assert.equal(shuffler.taken.size, 1);
  assert.equal(words.made, 1);
});

test("one submission never randomizes twice, even if another tab delivered its report meanwhile", async () => {
  const { shuffler, client, words, storage, clock, kept } = await setUp();
  await client.submit("a");
  clock.now += 10 * 60_000; // many reports are allowed by now
  shuffler.window = 2;
  const elsewhere = async () => {
    const entries = await kept();
    entries.windows[2] = { arrived: clock.now };
    await storage.set(`shuffledp/2/${shuffler.id}`, JSON.stringify(entries));
    shuffler.window = 3;
    return json({ outcomes: ["batch_collected"] }); // a lie
  };
  shuffler.answers = [undefined, elsewhere];
  assert.equal((await client.submit("b")).earlier, true);
  assert.equal(words.made, 2);
});

test("a credential goes in front of the report, and only one of the right length", async () => {
  const { shuffler, client } = await setUp();
  shuffler.credential = 32;
  await assert.rejects(client.submit("a"), { kind: "invalid" });
  const credential = new Uint8Array(32).fill(9);
  await client.submit("a", { credential });
  assert.deepEqual(posts(shuffler)[0].body.slice(0, 32), credential);
  assert.equal((await client.submit("b")).earlier, true); // nothing is sent, so nothing is wanted
});

test("a refusal says why, and the report waits", async () => {
  const { shuffler, client, words } = await setUp();
  shuffler.answers = [undefined, () => json({ outcomes: ["not_admitted"] })];
  await assert.rejects(client.submit("a"), { kind: "refused", outcome: "not_admitted" });
  shuffler.answers = [() => json({ title: "no such task" }, 404)];
  await assert.rejects(client.submit("a"), { kind: "refused", status: 404 });
  shuffler.answers = [undefined, () => json({ outcomes: [] })];
  await assert.rejects(client.submit("a"), { kind: "untrusted" });
  assert.equal((await client.submit("b")).earlier, true);
  assert.equal(words.made, 1);
});

test("a shuffler whose windows end under every attempt is left alone after a few turns", async () => {
  const { shuffler, client, words } = await setUp();
  shuffler.answers = Array.from({ length: 40 }, (_, at) => (at % 2 ? () => void (shuffler.window += 1) : undefined));
  await assert.rejects(client.submit("a"), { kind: "not_delivered" });
  assert.equal(words.made, 1);
});

/** An answer of 200 whose body `pull` makes. */
const streamed = (pull) => new Response(new ReadableStream({ pull, type: "bytes" }));

test("an answer that never ends is refused once it is too long, before anything is made or sent", async () => {
  const { shuffler, client, words } = await setUp();
  let pulled = 0;
  const endless = () =>
    streamed((stream) => {
      pulled += 1 << 16;
      stream.enqueue(new Uint8Array(1 << 16).fill(32));
    });
  shuffler.answers = [endless];
  await assert.rejects(client.submit("a"), { kind: "untrusted", message: /longer than 4194304 bytes/ });
  assert.ok(pulled > 4 << 20 && pulled < 5 << 20);
  assert.equal(words.made, 0);
  shuffler.answers = [undefined, endless];
  await assert.rejects(client.submit("a"), { kind: "untrusted" });
  assert.equal((await client.submit("b")).earlier, true); // the report waited
  assert.equal(words.made, 1);
});

test("an answer that drips, or never comes, is not waited for, and its connection is let go", async () => {
  const signals = [];
  const drips = (_, { signal }) => {
    signals.push(signal);
    return streamed((stream) => stream.enqueue(new Uint8Array(1)) ?? new Promise((next) => setTimeout(next, 1)));
  };
  const silent = (_, { signal }) => signals.push(signal) && new Promise(() => {});
  for (const answer of [drips, silent]) {
    const { shuffler, client } = await setUp({ client: { timeout: 20, attempts: 2 } });
    shuffler.answers = Array(2).fill(answer);
    await assert.rejects(client.describe(), { kind: "not_delivered" });
  }
  assert.equal(signals.length, 4);
  assert.ok(signals.every((signal) => signal.aborted));
});

test("what is deep, wide or no JSON is refused as any other answer", async () => {
  for (const body of ["[".repeat(1 << 20), `{"task":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, `{"window":${"1".repeat(1 << 20)}}`]) {
    const { shuffler, client } = await setUp({ client: { attempts: 2 } });
    shuffler.answers = Array(2).fill(() => new Response(body));
    await assert.rejects(client.describe(), (error) => ["untrusted", "not_delivered", "invalid"].includes(error.kind));
  }
});

test("what a refusal says is one line without control or reordering characters", async () => {
  const { shuffler, client } = await setUp();
  shuffler.answers = [() => json({ title: "no\u001b[2J\nepsilon = 0.01\u202e" }, 404)];
  await assert.rejects(client.describe(), {
    kind: "refused",
    message: "the shuffler refused (status 404: no\\u{1b}[2J\\u{a}epsilon = 0.01\\u{202e}). Check task and address.",
  });
});
