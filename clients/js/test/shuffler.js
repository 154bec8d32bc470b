// A shuffler in memory, as far as a client can see one, and the keys of the parties behind it.

import { concat, toBase64, toHex } from "../src/bytes.js";
import { canonical } from "../src/canonical.js";
import { open } from "../src/hpke.js";
import { fingerprint } from "../src/keys.js";
import { info, reportId } from "../src/sealing.js";
import { taskId } from "../src/task.js";

const PKCS8 = Uint8Array.from([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 110, 4, 34, 4, 32]);

/** The key pair of 32 private bytes. */
export async function pairOf(secret) {
  const privateKey = await crypto.subtle.importKey("pkcs8", concat(PKCS8, secret), { name: "X25519" }, true, [
    "deriveBits",
  ]);
  const { x } = await crypto.subtle.exportKey("jwk", privateKey);
  const raw = new Uint8Array(Buffer.from(x, "base64url"));
  return { privateKey, publicKey: await crypto.subtle.importKey("raw", raw, { name: "X25519" }, true, []), raw };
}

export async function freshPair() {
  return pairOf(crypto.getRandomValues(new Uint8Array(32)));
}

/** A party with one active key. */
export async function party(role, keyId = 0) {
  const pair = await freshPair();
  const key = { key_id: keyId, state: "ACTIVE", public: toBase64(pair.raw) };
  return { role, pair, keyId, list: { role, keys: [key] }, fingerprint: await fingerprint({ ...key, role }) };
}

/** Take a layer off a record that is for this party. */
export async function peel(record, who, label, id) {
  return open(record.slice(7), who.pair, info(label, record.slice(0, 7), id, who.fingerprint));
}

const HISTOGRAM = {
  kind: "histogram",
  domain: { kind: "labels", labels: ["a", "b", "c"] },
  randomizer: { kind: "response", size: 3, threshold: (2n ** 63n).toString() },
};

/** A task document; its plan is a histogram on three labels unless told. */
export async function taskDocument({ protocol = {}, window = 60, shufflers = ["Alpha"], rounds } = {}) {
  const body = {
    version: 3,
    protocol: { ...HISTOGRAM, ...protocol },
    guarantee: { epsilon: 1, delta: 1e-6, n: 100, bound: "best", adjacency: "replace-one" },
    min_batch: 100,
    ...(rounds === undefined ? {} : { over_time: rounds }),
  };
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", canonical(body)));
  return {
    version: 2,
    plan: { ...body, sha256: toHex(hash) },
    window,
    max_age: 600,
    on_expiry: "roll-over",
    release_margin: 0,
    honest_fraction: 1,
    shufflers,
    analyzer: "Beta",
    allow_same_operator: false,
  };
}

/** What a client talks to: `fetch` answers its requests. Set `answers` to functions that replace the next answers. */
export class FakeShuffler {
  constructor(document, own, next) {
    Object.assign(this, { document, own, next, window: 1, taken: new Map(), requests: [], answers: [], credential: 0 });
    this.fetch = this.fetch.bind(this);
  }

  static async start(options) {
    const document = await taskDocument(options);
    const shuffler = new FakeShuffler(document, await party("shuffler"), await party("analyzer"));
    shuffler.id = await taskId(document);
    return shuffler;
  }

  async fetch(url, options) {
    this.requests.push({ url, ...options });
    const instead = this.answers.shift();
    const told = instead ? await instead(url, options) : undefined;
    return told ?? this.answer(new URL(url), options);
  }

  async answer(url, options) {
    if (options.method !== "POST") return json(this.description());
    return json({ outcomes: [await this.take(options.body, Number(url.searchParams.get("window")))] });
  }

  description() {
    return {
      task: this.document,
      window: this.window,
      key_id: this.next.keyId,
      keys: this.own.list,
      next_keys: this.next.list,
      credential: this.credential,
    };
  }

  async take(body, window) {
    const hops = this.document.shufflers.length;
    const record = body.slice(this.credential);
    if (record[0] !== this.own.keyId) return "outdated_config";
    const inner = await peel(record, this.own, hops === 1 ? "shuffler" : `shuffler${hops}`, this.id);
    const name = toHex(await reportId(inner));
    if (this.taken.has(name)) return "report_replayed";
    if (window !== this.window) return "batch_collected";
    if (inner[0] !== this.next.keyId) return "outdated_key";
    this.taken.set(name, inner);
    return "accepted";
  }

  /** The messages that the analyzer finds, for tasks with one hop. */
  async opened(analyzer = this.next) {
    const found = [];
    for (const bundle of this.taken.values()) {
      for (let start = 0; start + 71 <= bundle.length; start += 71) {
        const record = bundle.slice(start, start + 71);
        if (record.every((byte) => byte === 0)) continue; // an empty slot
        const payload = await peel(record, analyzer, "analyzer", this.id);
        found.push(Number(new DataView(payload.buffer).getBigUint64(0)));
      }
    }
    return found;
  }
}

export function json(document, status = 200, headers = {}) {
  return new Response(JSON.stringify(document), { status, headers });
}
