// What this client has reported for one task. A second randomization of a value is a second release, so a report is written
// down before it is sent, and how many there may be is decided by this device's clock, whatever a server says.
//
// {"first": time of the first report or null, "period": that of the last one, "fresh": reports ever made,
//  "windows": {"7": {"messages", "inner", "key"} until it has arrived, then {"arrived": time}}}; times are in milliseconds.

import { fromBase64, toBase64 } from "./bytes.js";
import { isObject } from "./canonical.js";
import { ShuffledpError } from "./errors.js";
import { alone } from "./storage.js";

export class Diary {
  #storage;
  #name;

  constructor(storage, taskId) {
    this.#storage = storage;
    this.#name = `shuffledp/2/${taskId}`;
  }

  /** Change it, alone: `change` gets the entries and what it returns is returned, once they are stored. */
  update(change) {
    return alone(this.#storage, this.#name, async () => {
      const entries = parsed(await this.#io(() => this.#storage.get(this.#name), "read"));
      const result = await change(entries);
      await this.#io(() => this.#storage.set(this.#name, JSON.stringify(entries)), "written");
      return result;
    });
  }

  async #io(work, verb) {
    try {
      return await work();
    } catch {
      throw new ShuffledpError(
        "storage",
        `what was reported before cannot be ${verb}. Allow the page to store data; nothing was reported.`,
      );
    }
  }
}

/**
 * Note a new report, or refuse it: before its time, or after all that one person may make. From the first report on, time is
 * cut into periods of the length of a window: one report for each that begins after the last. Periods that pass unused are
 * gone, so that a server gains nothing by waiting.
 */
export function pace(entries, { window: seconds, most }, now) {
  if (!Number.isFinite(now)) throw new ShuffledpError("invalid", "the clock shows no time. Set it.");
  if (entries.fresh >= most) {
    const taken = `this task takes at most ${most} ${most === 1 ? "report" : "reports"} of one person`;
    throw new ShuffledpError("no_more", `${taken}, and you have made yours. Do not report again.`);
  }
  const first = entries.first ?? now;
  const period = Math.floor((now - first) / (seconds * 1000));
  if (entries.period !== null && period <= entries.period) {
    const next = new Date(first + (entries.period + 1) * seconds * 1000);
    throw new ShuffledpError(
      "too_soon",
      `too soon: the earlier report stands, and this device may make the next one at ${next.toISOString()}.`,
      { next },
    );
  }
  Object.assign(entries, { first, period, fresh: entries.fresh + 1 });
}

/** The report that has not arrived yet, if there is one: {window, messages, inner, key}. */
export function waiting(entries) {
  const found = Object.entries(entries.windows).find(([, entry]) => entry.arrived === undefined);
  if (!found) return null;
  const [window, { messages, inner, key }] = found;
  return { window: Number(window), messages, inner: fromBase64(inner), key };
}

/** A report that waits: its randomized messages, its sealed inside, and the fingerprint of the key that is for. */
export function keep(entries, { window, messages, inner, key }) {
  entries.windows[window] = { messages, inner: toBase64(inner), key };
}

function parsed(text) {
  if (text === null || text === undefined) return { first: null, period: null, fresh: 0, windows: {} };
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    found = null;
  }
  const sound =
    isObject(found) &&
    isObject(found.windows) &&
    Number.isInteger(found.fresh) &&
    found.fresh >= 0 &&
    (found.fresh === 0
      ? found.first === null && found.period === null
      : Number.isFinite(found.first) && Number.isInteger(found.period)) &&
    Object.values(found.windows).every(isReport);
  if (!sound) {
    // guessing could mean a second randomization of the same value
    throw new ShuffledpError(
      "storage",
      "what was reported before is damaged, so nothing more is reported. Restore it, or stop reporting.",
    );
  }
  return found;
}

function isReport(entry) {
  if (!isObject(entry)) return false;
  if (entry.arrived !== undefined) return Number.isFinite(entry.arrived);
  const isMessage = (one) => Number.isInteger(one) || (typeof one === "string" && /^[0-9]{1,20}$/.test(one));
  const messages = Array.isArray(entry.messages) && entry.messages.length > 0 && entry.messages.every(isMessage);
  return messages && Boolean(fromBase64(entry.inner)?.length) && typeof entry.key === "string";
}
