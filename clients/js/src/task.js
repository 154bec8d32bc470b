// A task: the plan and the terms of one collection. Its id is its hash, so whoever agreed to an id agreed to every word of it.

import { sha256, toHex } from "./bytes.js";
import { canonical, exactly, isObject } from "./canonical.js";
import { invalid, untrusted } from "./errors.js";
import { isNoise, readProtocol } from "./protocol.js";

const VERSION = 2;
const PLAN_VERSION = 3;
const A_YEAR = 366 * 24 * 3600;
const FIELDS = [
  "version",
  "plan",
  "window",
  "max_age",
  "on_expiry",
  "release_margin",
  "honest_fraction",
  "shufflers",
  "analyzer",
  "allow_same_operator",
];
const EXPIRIES = ["roll-over", "destroy", "top-up"]; // what becomes of a batch that stays too small
const PLAN_FIELDS = ["version", "protocol", "guarantee", "min_batch", "sha256"];
const IF_SAID = ["over_time", "wording"];
const MOST_ROUNDS = 1e5;
const ROUNDS_FIELDS = ["kind", "rounds", "per_person", "epsilon", "delta"];
const WORDING_FIELDS = ["title", "question", "unit"];
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u; // steers a terminal, reorders a line, ends it or is not seen
const JOINERS = /[\u200c\u200d]/g; // but these are how some languages are written

/** The name of a task document: SHA-256 of its canonical form, in hexadecimal. */
export async function taskId(document) {
  return toHex(await sha256(canonical(document)));
}

/**
 * The task of that id, ready to use: {id, document, protocol, window, hops, most}. One person makes at most `most` reports.
 * The guarantee itself was proved when the plan was made; check an id with `shuffledp task show` before you publish it.
 */
export async function verifyTask(document, id) {
  checkedId(id);
  if (!isObject(document)) throw untrusted("the shuffler describes no task. Check the address.");
  if (document.version !== VERSION || document.plan?.version !== PLAN_VERSION) {
    throw invalid(`the task or its plan is not of version ${VERSION} and ${PLAN_VERSION}. Use the client of its version.`);
  }
  if ((await taskId(document)) !== id) {
    throw untrusted("the shuffler describes another task than the one agreed to. Do not report to it.");
  }
  const { plan, window, max_age: oldest, shufflers, analyzer } = document;
  const names =
    Array.isArray(shufflers) && shufflers.length >= 1 && shufflers.length <= 4 ? [...shufflers, analyzer] : [0];
  if (
    !exactly(document, document.on_expiry === "top-up" ? [...FIELDS, "top_up"] : FIELDS) ||
    !EXPIRIES.includes(document.on_expiry) ||
    !(document.top_up === undefined || isNoise(document.top_up)) ||
    !exactly(plan, [...PLAN_FIELDS, ...IF_SAID.filter((name) => Object.hasOwn(plan, name))]) ||
    !(plan.over_time === undefined || areRounds(plan.over_time)) ||
    !worded(plan.wording) ||
    !whole(window, 1, A_YEAR) ||
    !whole(oldest, window, A_YEAR) ||
    !names.every(isOneLine)
  ) {
    throw invalid("this is not a task. Make one with shuffledp task new.");
  }
  const most = plan.over_time?.per_person ?? Infinity;
  const { sha256: stated, ...body } = plan;
  if (toHex(await sha256(canonical(body))) !== stated) {
    throw invalid("the plan does not match its SHA-256: it was edited. Make a new one with shuffledp plan.");
  }
  return { id, document, protocol: readProtocol(plan.protocol), window, hops: shufflers.length, most };
}

/** What a plan of several rounds says of them: what they guarantee together is for whoever takes part in so many at most. */
function areRounds(said) {
  return (
    isObject(said) &&
    exactly(said, ROUNDS_FIELDS) &&
    said.kind === "rounds" &&
    whole(said.rounds, 1, MOST_ROUNDS) &&
    whole(said.per_person, 1, said.rounds)
  );
}

/** Whether a text can be shown to people: one line, in which every letter is where it seems to be. */
function isOneLine(name) {
  return typeof name === "string" && /[^\s\p{C}\p{Mn}]/u.test(name) && !HIDDEN.test(name.replace(JOINERS, ""));
}

/** Texts for people, if the plan has some. */
function worded(wording) {
  if (wording === undefined) return true;
  if (!isObject(wording)) return false;
  const names = Object.keys(wording);
  return (
    names.length > 0 &&
    names.every((name) => WORDING_FIELDS.includes(name) && isOneLine(wording[name]))
  );
}

export function checkedId(id) {
  if (typeof id !== "string" || !/^[0-9a-f]{64}$/.test(id)) {
    throw invalid("a task id is 64 hexadecimal digits. Take it from shuffledp task show.");
  }
  return id;
}

export function whole(value, least, most) {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}
