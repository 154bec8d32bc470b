// Requests to one shuffler: nothing in them says who asks, and what is lost is sent again with growing pauses.

import { isObject } from "./canonical.js";
import { ShuffledpError, invalid } from "./errors.js";

const TRY_AGAIN = [408, 429, 502, 503, 504];
const LONGEST_PAUSE = 60_000;
const TIMEOUT = 30_000;

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
 * `network` has fetch, sleep(ms), attempts and pause (ms).
 */
export async function ask(network, url, options = {}) {
  let pause = 0;
  for (let attempt = 0; attempt < network.attempts; attempt++) {
    if (attempt) await network.sleep(Math.max(pause, growing(network.pause, attempt)));
    const answer = await once(network, url, options);
    if (answer === null) continue;
    if (answer.status === 200 && answer.document) return answer.document;
    if (answer.status !== 200 && !TRY_AGAIN.includes(answer.status)) {
      const title = String(answer.document?.title ?? "no reason given").slice(0, 200);
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

async function once(network, url, options) {
  try {
    const response = await network.fetch(url, {
      ...options,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const text = await response.text();
    return {
      status: response.status,
      document: objectOf(text),
      retryAfter: retryAfter(response.headers.get("Retry-After")),
    };
  } catch {
    return null; // what a browser says of a lost request says nothing
  }
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
