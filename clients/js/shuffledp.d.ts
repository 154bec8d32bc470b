// Types of shuffledp.js.

/** A list of public keys, as `shuffledp keygen` writes it (`*.pub.json`). */
export interface KeyList {
  role: "analyzer" | "shuffler";
  keys: { key_id: number; state: "PENDING" | "ACTIVE" | "EXPIRED"; public: string }[];
}

/** What a value is encoded and randomized by. */
export interface Protocol {
  kind: "histogram" | "frequencies" | "text-frequencies" | "counts-with-dummies" | "counts-with-shuffler-noise" | "distribution-with-shuffler-noise" | "survey-table-with-shuffler-noise" | "vector-mean" | "moments" | "summation" | "digit-sums";
  /** What is made of the values of a summation. */
  total?: "sum" | "mean" | "query";
  /** The values that it takes. */
  domain:
    | { kind: "labels"; labels: string[] }
    | { kind: "whole-numbers"; size: number }
    | { kind: "intervals"; size: number; low: number; high: number }
    | { kind: "reals"; low: number; high: number }
    | { kind: "texts"; key: string }
    | { kind: "record"; names: string[] }
    | { kind: "ball"; dimension: number; norm: number; columns: string[] }
    | { kind: "products"; lows: number[]; highs: number[]; columns: string[] }
    | { kind: "box"; lows: number[]; highs: number[]; columns: string[] };
  /** Of a survey: the questions, each with its protocol. */
  questions?: { name: string; protocol: Protocol }[];
  /** Which messages belong to a value, if not just itself: lines or planes through a point. */
  structure?: { prime: number; dimension: 2 | 3; points: number; choices: number };
  /** Number of messages: bins, grid points, lines or planes; of digits, of grid points. */
  size: number;
  /** Of rows: how many numbers they have, and how many messages are sent about each. Their messages are decimal texts. */
  dimension?: number;
  repeats?: number;
  /** How many messages a report has at most. */
  mostMessages: number;
  /** The probability of a random answer instead of the true one, in units of 2^-64; not with dummies. */
  threshold?: bigint;
  gamma?: number;
  /** With dummies: how many are sent beside the true answer, at most k with probability thresholds[k] / 2^128. */
  number?: { most: number; thresholds: bigint[] };
  /** Whether the truth is sent as it is, because the shuffler adds dummies. */
  truthful?: boolean;
  /** Of digits: their base, and how many dummies are sent beside each, the least significant first. */
  base?: number;
  numbers?: { most: number; thresholds: bigint[] }[];
  /** What protects a report by itself, if shuffler and analyzer collude; Infinity if nothing does. */
  epsilon0: number;
}

/** A label, a number, a row of numbers (an array, or an object with a number for each named column), or an answer to each question. */
export type Value = string | number | number[] | { [column: string]: number } | { [question: string]: string | number };

export interface Task {
  id: string;
  /** Every word that was agreed to. */
  document: { [field: string]: any };
  protocol: Protocol;
  /** Seconds of a window. */
  window: number;
  /** Number of shufflers on the way. */
  hops: number;
  /** How many reports one person makes at most: Infinity if the plan is not of rounds. */
  most: number;
}

/** Where random words come from; the system's unless told. */
export interface Words {
  /** A uniform byte. */
  byte(lane: number): number;
  /** A uniform number of 32 bits, for the choice of one of a value's messages. */
  word(lane: 2): number;
  /** Two uniform numbers of 64 bits. */
  block(draw: number): [bigint, bigint];
}

/** Where a client remembers what it sent. A `set` that has resolved must be found by every later `get`. */
export interface Storage {
  get(name: string): Promise<string | null | undefined> | string | null | undefined;
  set(name: string, text: string): Promise<void> | void;
}

export interface ClientOptions {
  /** Address of the shuffler that takes reports: https, or http on this machine. */
  url: string;
  /** The task that the person agreed to: 64 hexadecimal digits. */
  taskId: string;
  /** The analyzer's key list, or fingerprints of its keys, obtained from the analyzer and not from the shuffler. */
  analyzer: KeyList | string | string[];
  /** Key lists of the shufflers between the one at `url` and the analyzer, from the analyzer out. */
  shufflers?: (KeyList | string | string[])[];
  /** localStorage in browsers, memory elsewhere. */
  storage?: Storage;
  words?: Words;
  /** This device's clock, in milliseconds. */
  now?: () => number;
  /** Attempts at one request, and milliseconds before the second one. */
  attempts?: number;
  pause?: number;
  /** Milliseconds of one exchange as a whole, until the last byte of its answer. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
  sleep?: (milliseconds: number) => Promise<unknown>;
}

export interface Description {
  task: Task;
  window: number;
  /** Of the key that the next party opens this window's reports with. */
  fingerprint: string;
  /** Bytes of the credential that goes in front of a report. */
  credential: number;
}

export interface Submitted {
  /** The window that the report is in. */
  window: number;
  /** Whether a report of before stands, whatever the value now. */
  earlier: boolean;
}

export class Client {
  constructor(options: ClientOptions);
  /** What the shuffler serves, verified. */
  describe(): Promise<Description>;
  /** Report a value; resolves once the report has arrived. Safe to call again after any failure. */
  submit(value: Value, options?: { credential?: Uint8Array }): Promise<Submitted>;
}

export class ShuffledpError extends Error {
  kind: "invalid" | "untrusted" | "too_soon" | "no_more" | "refused" | "not_delivered" | "storage";
  /** When the next report may be made (too_soon). */
  next?: Date;
  /** What the shuffler says of the report (refused). */
  outcome?: string;
  /** The status of its answer (refused). */
  status?: number;
}

export class SystemWords implements Words {
  byte(lane: 0 | 1 | 4): number;
  word(lane: 2): number;
  block(draw: number): [bigint, bigint];
}

export class MemoryStorage implements Storage {
  get(name: string): Promise<string | null>;
  set(name: string, text: string): Promise<void>;
}

export class LocalStorage implements Storage {
  get(name: string): Promise<string | null>;
  set(name: string, text: string): Promise<void>;
}

/** The bytes of RFC 8785 of a JSON value. */
export function canonical(value: unknown): Uint8Array;

/** The fingerprint of a public key, in hexadecimal. */
export function fingerprint(key: {
  key_id: number;
  public: string | Uint8Array;
  role: "analyzer" | "shuffler";
}): Promise<string>;

/** The id of a task document. */
export function taskId(document: object): Promise<string>;

/** The task of that id; rejects if the document is another one or not sound. */
export function verifyTask(document: unknown, id: string): Promise<Task>;

/** The protocol of a plan document, checked. */
export function readProtocol(document: unknown): Protocol;

/** The messages for a value, in most protocols one: a pure function of the value and the words. */
export function messagesFor(protocol: Protocol, value: Value, words?: Words): Promise<(number | string)[]>;
