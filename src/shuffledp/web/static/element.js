// Elements without markup: whatever is shown is text.
const SVG = "http://www.w3.org/2000/svg";

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

export const html = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

// A number as people read it: 40,000, 0.0125, 1e-6.
export function spoken(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e10)) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  return value.toLocaleString("en", { maximumSignificantDigits: size >= 1e5 ? 10 : 5 });
}

export function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  html("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
