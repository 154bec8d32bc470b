// Numbers as people read them: three digits, or all that are known. A claim is rounded to the side on which it still holds.
import { html } from "./element.js";

export const digits = { all: false };
const SHOWN = 3;

// A decimal number, written out, in three digits: up, down or nearest. One that has no more digits stays as it is.
export function brief(text, rounding) {
  const parts = /^(-?)(\d[\d,]*)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text);
  if (!parts) return text;
  const [, sign, whole, fraction = "", power = "0"] = parts;
  const all = whole.replaceAll(",", "") + fraction;
  const known = all.replace(/^0+/, "");
  if (known.length <= SHOWN) return text;
  let place = whole.replaceAll(",", "").length - 1 - (all.length - known.length) + Number(power);
  const rest = known.slice(SHOWN);
  const half = "5".padEnd(rest.length, "0");
  const odd = Number(known[SHOWN - 1]) % 2 === 1;
  const away = rounding === "nearest" ? rest > half || (rest === half && odd) : /[1-9]/.test(rest) && (rounding === "up") !== (sign === "-");
  let head = String(Number(known.slice(0, SHOWN)) + (away ? 1 : 0));
  if (head.length > SHOWN) [head, place] = [head.slice(0, SHOWN), place + 1];
  return sign + written(head, place);
}

// Digits of which the first stands at a power of ten.
function written(head, place) {
  if (place < -5 || place >= 9) return `${head[0]}.${head.slice(1)}e${place}`;
  if (place < 0) return `0.${"0".repeat(-place - 1)}${head}`;
  const whole = head.slice(0, place + 1).padEnd(place + 1, "0").replace(/\B(?=(\d{3})+$)/g, ",");
  return head.length > place + 1 ? `${whole}.${head.slice(place + 1)}` : whole;
}

const parts = (text) => (typeof text === "string" ? [text] : text);

// A text with all digits, and as it is shown now.
export const exact = (text) => parts(text).map((part) => part.number ?? part).join("");
export const shown = (text) => (digits.all ? exact(text) : parts(text).map((part) => (part.number ? brief(part.number, part.round) : part)).join(""));

// The same as elements: whoever points at a number sees all of it.
export function figures(text) {
  return parts(text).map((part) => {
    if (!part.number) return part;
    const short = digits.all ? part.number : brief(part.number, part.round);
    return html("data", { class: "figure", value: part.number, title: short === part.number ? false : part.number }, short);
  });
}

// A number of a picture as a text of it; a whole one is a count as a rule, and stays whole.
export function figure(value, round) {
  if (value === null) return "-";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return [{ number: String(value).replace("e+", "e"), round }];
}
