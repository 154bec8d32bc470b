// One person's reports for one task: randomize once, write it down, seal, and send the same report until it has arrived.

import { concat } from "./bytes.js";
import { Diary, keep, pace, waiting } from "./diary.js";
import { ShuffledpError, invalid, untrusted } from "./errors.js";
import { activeKey, announcedKey, readKeys, readTrust } from "./keys.js";
import { ask, checkedAddress } from "./network.js";
import { SystemWords, messagesFor } from "./protocol.js";
import { sealBundle, wrap } from "./sealing.js";
import { defaultStorage } from "./storage.js";
import { checkedId, verifyTask, whole } from "./task.js";

const TURNS = 6; // times that keys or windows may change under a report

export class Client {
  #taskId;
  #address;
  #trusted;
  #storage;
  #network;
  #words;
  #now;

  /**
   * url: of the shuffler; taskId: what the person agreed to; analyzer: the analyzer's key list or fingerprint, from the
   * analyzer and not from the shuffler; shufflers: key lists of the shufflers between this one and the analyzer, from the
   * analyzer out; storage: where reports are remembered. The rest is for tests.
   */
  constructor({
    url,
    taskId,
    analyzer,
    shufflers = [],
    storage = defaultStorage(),
    words = new SystemWords(),
    now = Date.now,
    attempts = 8,
    pause = 200,
    timeout = 30_000,
    fetch = (...request) => globalThis.fetch(...request),
    sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  }) {
    this.#address = checkedAddress(url);
    this.#taskId = checkedId(taskId);
    this.#trusted = { analyzer, shufflers };
    this.#storage = storage;
    this.#words = words;
    this.#now = now;
    this.#network = { fetch, sleep, attempts, pause, timeout };
  }

  /**
   * What the shuffler serves, verified: {task, window, fingerprint, credential}. `fingerprint` is that of the key that the
   * next party opens this window's reports with, `credential` how many bytes go in front of a report.
   */
  async describe() {
    const { task, window, next, credential } = await this.#describe();
    return { task, window, fingerprint: next.fingerprint, credential };
  }

  /**
   * Report a value: {window, earlier} once it has arrived. `earlier` says that a report of before stands, whatever the value now.
   * Safe to call again after any failure: a report that waits is sent again, never made again.
   */
  async submit(value, { credential = new Uint8Array(0) } = {}) {
    let served = await this.#describe();
    const diary = new Diary(this.#storage, this.#taskId);
    let earlier = true;
    for (let turn = 0; turn < TURNS; turn++) {
      const first = turn === 0;
      const { report, fresh } = await diary.update((entries) => this.#next(entries, value, served, credential, first));
      if (fresh) earlier = false;
      if (report === null) return { window: served.window, earlier: true };
      const outcome = await this.#send(served, report, credential);
      if (outcome === "accepted" || outcome === "report_replayed") {
        await diary.update((entries) => this.#forget(entries, report.window));
        return { window: report.window, earlier };
      }
      if (!["outdated_config", "batch_collected", "outdated_key"].includes(outcome)) {
        throw new ShuffledpError(
          "refused",
          `the shuffler did not accept the report (${outcome}). Check task, keys and credential.`,
          { outcome },
        );
      }
      served = await this.#describe();
      if (outcome !== "outdated_config") await diary.update((entries) => this.#move(entries, report.window, served));
    }
    throw new ShuffledpError(
      "not_delivered",
      "keys or windows changed too often. Try again later; the same report will be sent.",
    );
  }

  async #describe() {
    const found = await ask(this.#network, `${this.#address}/v2/tasks/${this.#taskId}`);
    const task = await verifyTask(found.task, this.#taskId);
    if (!whole(found.window, 0, Number.MAX_SAFE_INTEGER))
      throw untrusted("the shuffler names no window. Check the address.");
    if (!whole(found.credential, 0, 65536))
      throw untrusted("the shuffler does not say what it admits by. Check the address.");
    if (found.key_id === null) {
      throw new ShuffledpError("not_delivered", "the shuffler takes no reports for this task now. Try again later.");
    }
    const own = activeKey(await readKeys(found.keys, "shuffler"), "shuffler");
    const { inner, next } = await this.#layers(task, found);
    return { task, window: found.window, credential: found.credential, own, inner, next };
  }

  /** Whom a report's inside is sealed to, from the analyzer out, all of them trusted; the last is the key that is announced. */
  async #layers(task, found) {
    const { analyzer, shufflers } = this.#trusted;
    if (shufflers.length !== task.hops - 1) {
      throw invalid(`this task has ${task.hops - 1} shufflers behind this one; got the keys of ${shufflers.length}.`);
    }
    const parties = [[analyzer, "analyzer"], ...shufflers.map((keys) => [keys, "shuffler"])];
    const inner = [];
    for (const [at, [given, role]] of parties.entries()) {
      const trust = await readTrust(given, role);
      if (at === parties.length - 1) inner.push(await announcedKey(found.next_keys, found.key_id, role, trust));
      else if (trust.keys) inner.push(activeKey(trust.keys, role));
      else throw invalid(`behind several shufflers a fingerprint is not enough. Give the ${role}'s key list.`);
    }
    return { inner, next: inner.at(-1) };
  }

  /** The report to send: one that waits, or none if it has arrived, or a fresh one; at most one fresh one in a submission. */
  async #next(entries, value, served, credential, first) {
    const report = waiting(entries);
    if (!report && (entries.windows[served.window] || !first)) return { report: null, fresh: false };
    if (credential.length !== served.credential) {
      throw invalid(`this shuffler wants a credential of ${served.credential} bytes; got ${credential.length}.`);
    }
    if (report) return { report, fresh: false };
    pace(entries, served.task, this.#now());
    const made = await this.#sealed(await messagesFor(served.task.protocol, value, this.#words), served);
    keep(entries, made);
    return { report: made, fresh: true };
  }

  /** A report that came too late, or for a key that is gone, never arrived: the same messages go to the current window. */
  async #move(entries, window, served) {
    const late = waiting(entries);
    if (late?.window !== window) return; // another tab was faster
    delete entries.windows[window];
    if (entries.windows[served.window]) return;
    const same = late.key === served.next.fingerprint;
    keep(entries, same ? { ...late, window: served.window } : await this.#sealed(late.messages, served));
  }

  /** Only that there was a report is worth keeping. */
  #forget(entries, window) {
    entries.windows[window] = { arrived: this.#now() };
  }

  async #sealed(messages, { task, window, inner: [analyzer, ...shufflers], next }) {
    let inner = await sealBundle(messages, task.protocol.mostMessages, task.id, analyzer);
    for (const [at, key] of shufflers.entries()) inner = await wrap(inner, at + 1, task.id, key);
    return { window, messages, inner, key: next.fingerprint };
  }

  async #send({ task, own }, report, credential) {
    const body = concat(credential, await wrap(report.inner, task.hops, task.id, own));
    const url = `${this.#address}/v2/tasks/${task.id}/reports?window=${report.window}`;
    const headers = { "Content-Type": "application/octet-stream" };
    const { outcomes } = await ask(this.#network, url, { method: "POST", headers, body });
    if (!Array.isArray(outcomes) || outcomes.length !== 1 || typeof outcomes[0] !== "string") {
      throw untrusted("the shuffler does not say what became of the report. Check the address.");
    }
    return outcomes[0];
  }
}
