// Requests to one shuffler: nothing in them says who asks, and what is lost is sent again with growing pauses. The shuffler is
// not trusted: an answer has a limit in bytes and a deadline from the request to its last byte.

import { isObject } from "./canonical.js";
import { ShuffledpError, invalid, untrusted, visible } from "./errors.js";

const TRY_AGAIN = [408, 429, 502, 503, 504];
const LONGEST_PAUSE = 60_000;
const LONGEST_ANSWER = 4 << 20; // bytes, unpacked: a browser unpacks whatever a server compressed

/** The address of a shuffler without a slash at its end; without TLS only on this machine. */
export function checkedAddress(text) {
  let url = null;
  try {
    url = new URL(text);
  } catch {
    throw invalid("this is not the address of a shuffler. Give one like https://shuffler.example.");
  }
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    throw invalid("reports travel over https only. Give an https:// address; http:// is for this machine itself.");
  }
  if (url.search || url.hash || url.username || url.password) {
    throw invalid("the address of a shuffler has no query, fragment or password. Leave them out.");
  }
  return url.href.replace(/\/+$/, "");
}

/**
 * A request, again until it is answered: the JSON object of a 200, or an Error.
 * `network` has fetch, sleep(ms), attempts, pause (ms) and timeout (ms, of one exchange as a whole).
 */
export async function ask(network, url, options = {}) {
  let pause = 0;
  for (let attempt = 0; attempt < network.attempts; attempt++) {
    if (attempt) await network.sleep(Math.max(pause, growing(network.pause, attempt)));
    const answer = await once(network, url, options);
    if (answer === null) continue;
    if (answer.status === 200 && answer.document) return answer.document;
    if (answer.status !== 200 && !TRY_AGAIN.includes(answer.status)) {
      const title = visible(String(answer.document?.title ?? "no reason given").slice(0, 200));
      throw new ShuffledpError(
        "refused",
        `the shuffler refused (status ${answer.status}: ${title}). Check task and address.`,
        {
          status: answer.status,
        },
      );
    }
    pause = answer.retryAfter;
  }
  throw new ShuffledpError(
    "not_delivered",
    "the shuffler could not be reached. Try again later; the same report will be sent.",
  );
}

/** The answer to a request: null if it got lost or did not end in time, an error if it is longer than any should be. */
async function once(network, url, options) {
  const abort = new AbortController();
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, network.timeout, null);
  });
  try {
    const answer = await Promise.race([late, exchange(network, url, { ...options, signal: abort.signal })]);
    if (answer?.tooLong) throw untrusted(`the shuffler's answer is longer than ${LONGEST_ANSWER} bytes. Check the address.`);
    return answer;
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

async function exchange(network, url, options) {
  try {
    const response = await network.fetch(url, {
      ...options,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    const text = await limitedText(response.body, options.signal);
    return text === null
      ? { tooLong: true }
      : {
          status: response.status,
          document: objectOf(text),
          retryAfter: retryAfter(response.headers.get("Retry-After")),
        };
  } catch {
    return null; // what a browser says of a lost request says nothing
  }
}

/** A body as text, read piece by piece into one buffer; null as soon as it is too long. */
async function limitedText(body, signal) {
  const reader = body?.getReader();
  const letGo = () => reader?.cancel().catch(() => {});
  signal.addEventListener("abort", letGo);
  let bytes = new Uint8Array(1 << 14);
  let length = 0;
  for (let read = await reader?.read(); read && !read.done; read = await reader.read()) {
    const end = length + read.value.length;
    if (end > LONGEST_ANSWER) {
      letGo();
      return null;
    }
    if (end > bytes.length) {
      const larger = new Uint8Array(2 * end);
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    bytes.set(read.value, length);
    length = end;
  }
  return new TextDecoder().decode(bytes.subarray(0, length));
}

function objectOf(text) {
  try {
    const found = JSON.parse(text);
    return isObject(found) ? found : null;
  } catch {
    return null;
  }
}

/** Milliseconds of a Retry-After header, seconds or a date, but not for ever. */
function retryAfter(text) {
  const milliseconds = /^\d+$/.test(text ?? "") ? 1000 * Number(text) : Date.parse(text ?? "") - Date.now();
  return Math.min(LONGEST_PAUSE, Math.max(0, milliseconds || 0));
}

/** Doubled each time and jittered, so that those who were lost together do not return together. */
function growing(pause, attempt) {
  return Math.min(LONGEST_PAUSE, pause * 2 ** (attempt - 1)) * (0.5 + Math.random());
}
