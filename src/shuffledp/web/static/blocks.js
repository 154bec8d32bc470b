// The parts of an answer.
import { Crowd } from "./crowd.js";
import { exact, figure, figures } from "./digits.js";
import { html, save, svg } from "./element.js";
import { Drawing } from "./plot.js";

const KINDS = { numbers, words, warnings, guesses, table, plot, crowd, code, files, waiting };

export function drawn(block) {
  return KINDS[block.kind](block);
}

const card = (title, ...children) => html("section", { class: "card" }, title ? html("h2", {}, title) : null, ...children);
const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

function button(label, title, act) {
  return html("button", { type: "button", "aria-label": `${label}: ${title}`, onclick: act }, label);
}

function csv(title, header, rows) {
  return button("CSV", title, () => save(`${slug(title)}.csv`, "text/csv", [header, ...rows].map((row) => row.map(exact).map(quoted).join(",")).join("\n") + "\n"));
}

function grid(title, header, rows) {
  const long = header.map((_, j) => rows.some((row) => exact(row[j]).length > 24));
  const wordy = header.map((_, j) => long[j] || !rows.some((row) => /^[±\d.,e-]+$/.test(exact(row[j])) && row[j] !== "-"));
  const look = (j) => [wordy[j] ? "words" : "", long[j] ? "long" : ""].join(" ").trim() || false;
  return html("div", { class: "wide", role: "region", "aria-label": title, tabindex: 0 }, html("table", {},
    html("thead", {}, html("tr", {}, header.map((cell, j) => html("th", { scope: "col", class: j ? look(j) : false }, cell)))),
    html("tbody", {}, rows.map((row) => html("tr", {}, row.map((cell, j) => (j ? html("td", { class: look(j) }, figures(cell)) : html("th", { scope: "row" }, figures(cell)))))))));
}

function numbers({ items, certain }) {
  const made = card("", html("dl", { class: "numbers" }, items.map(({ label, value, note }) => html("div", {},
    html("dt", {}, figures(label)), html("dd", {}, figures(value)), note.length ? html("dd", { class: "note" }, figures(note)) : null))));
  if (!certain) made.append(html("p", { class: "tentative" }, "already holds; a tighter number follows"));
  made.setAttribute("aria-live", "polite");
  made.dataset.certain = String(certain);
  return made;
}

function words({ title, lines }) {
  return card(title, lines.map((line) => html("p", {}, figures(line))));
}

function warnings(block) {
  const made = words(block);
  made.classList.add("warnings");
  return made;
}

function guesses({ title, right, of, lines }) {
  const filled = Math.ceil((100 * right) / of);
  const dots = Array.from({ length: 100 }, (_, j) => svg("circle", {
    cx: 7 + 14 * (j % 10), cy: 7 + 14 * Math.floor(j / 10), r: 5, class: `dot ${j < 50 ? "coin" : j < filled ? "more" : "none"}`,
  }));
  const picture = svg("svg", { viewBox: "0 0 140 140", role: "img", "aria-label": `${filled} of 100 dots are filled, 50 of them for a coin` }, dots);
  return card(title, html("div", { class: "guesses" }, picture, html("div", {}, lines.map((line, j) => html("p", { class: j ? "help" : "first" }, line)))));
}

function table({ title, header, rows, notes }) {
  return card(title, grid(title, header, rows), notes.map((note) => html("p", { class: "help" }, note)), html("div", { class: "tools" }, csv(title, header, rows)));
}

function plot(block) {
  const header = [block.across.label, ...block.lines.map((line) => line.name)];
  const rounding = [block.across, ...block.lines].map((one) => one.rounding);
  const values = block.x.map((x, j) => [x, ...block.lines.map((line) => line.y[j])]);
  const cells = values.map((row) => row.map((cell, j) => figure(cell, rounding[j])));
  const full = values.map((row) => row.map((cell) => (cell === null ? "" : String(cell))));
  return picture(block, new Drawing(block), header, cells, full);
}

function crowd(block) {
  const drawing = new Crowd(block);
  const [header, rows] = drawing.table();
  return picture(block, drawing, header, rows, rows);
}

// A drawing with its table, both of which can be saved.
function picture({ title, note }, drawing, header, cells, full) {
  const place = html("div", { class: "plot" });
  const made = card(title, place, note ? html("p", { class: "help" }, note) : null, html("div", { class: "tools" },
    button("SVG", title, () => save(`${slug(title)}.svg`, "image/svg+xml", drawing.file())),
    csv(title, header, full),
    html("details", {}, html("summary", {}, "Table"), grid(`Table: ${title}`, header, cells))));
  made.drawIn = () => {
    let width = 0;
    const draw = (now) => {
      if (!now || now === width) return;
      width = now;
      place.replaceChildren(drawing.at(width));
    };
    draw(Math.round(place.getBoundingClientRect().width));
    new ResizeObserver(([entry]) => draw(Math.round(entry.contentRect.width))).observe(place);
  };
  return made;
}

function code({ title, listings }) {
  return card(title, listings.map(([name, text]) => {
    const copy = html("button", { type: "button", class: "copy", "aria-label": `Copy: ${name}`, onclick: async () => {
      await navigator.clipboard?.writeText(text);
      copy.textContent = "Copied";
    } }, "Copy");
    return [html("div", { class: "listing" }, html("h3", {}, name), copy), html("pre", { tabindex: 0 }, html("code", {}, name === "Shell" ? unbroken(text) : text))];
  }));
}

// A command breaks between its options only.
function unbroken(text) {
  return text.split(" --").flatMap((part, j) => (j ? [" ", html("span", { class: "option" }, `--${part}`)] : [part]));
}

function files({ title, items }) {
  return card(title, html("ul", { class: "files" }, items.map(([name, what, content]) => html("li", {}, html("button", {
    type: "button", onclick: () => {
      save(name, name.endsWith(".html") ? "text/html" : name.endsWith(".json") || name.endsWith(".ipynb") ? "application/json" : "text/plain", content);
    },
  }, what)))));
}

function waiting({ title, share }) {
  const made = card(title, html("progress", { value: share, max: 1, "aria-label": `${title}: computing` }));
  made.classList.add("busy");
  return made;
}
