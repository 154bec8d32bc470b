// Where a client remembers what it sent. Any object with `get(name)` and `set(name, text)` will do; both may be asynchronous.

import { ShuffledpError } from "./errors.js";

/** Forgets when the process ends: for tests, and for programs that report once. */
export class MemoryStorage {
  #texts = new Map();

  async get(name) {
    return this.#texts.get(name) ?? null;
  }

  async set(name, text) {
    this.#texts.set(name, text);
  }
}

/** The browser's localStorage: shared by all tabs of the page's origin. */
export class LocalStorage {
  async get(name) {
    return window.localStorage.getItem(name);
  }

  async set(name, text) {
    window.localStorage.setItem(name, text);
  }
}

export function defaultStorage() {
  if (typeof window !== "undefined") return new LocalStorage();
  if (typeof WorkerGlobalScope !== "undefined") {
    throw new ShuffledpError("storage", "a worker has no localStorage, and must not forget. Give it a storage.");
  }
  return new MemoryStorage();
}

const queues = new WeakMap();

/** Run alone on a storage: two that both found no report would randomize twice. Tabs wait for each other through Web Locks. */
export async function alone(storage, name, work) {
  const before = queues.get(storage) ?? Promise.resolve();
  const locks = globalThis.navigator?.locks;
  const turn = before.then(() => (locks ? locks.request(name, work) : work()));
  queues.set(
    storage,
    turn.catch(() => {}),
  );
  return turn;
}
