// Curves as SVG, drawn for the width at hand.
import { exact, shown } from "./digits.js";
import { spoken, svg } from "./element.js";

const TOP = 14;
const ROW = 20;
const measure = document.createElement("canvas").getContext("2d");
measure.font = "12px system-ui, sans-serif";
const wide = (text) => measure.measureText(text).width;

// Round numbers that divide a range.
function linear(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let j = Math.ceil(low / step - 1e-9); j * step <= high * (1 + 1e-9); j += 1) found.push(Number((j * step).toPrecision(12)));
  return found;
}

// Powers of ten, not too many of them.
function powers(low, high, most) {
  const from = Math.ceil(Math.log10(low) - 1e-9);
  const to = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((to - from + 1) / Math.max(2, most)));
  const found = [];
  for (let power = from; power <= to; power += 1) if ((power - from) % every === 0) found.push(Number(`1e${power}`));
  if (found.length >= 2) return found;
  const between = [];
  for (let power = from - 1; power <= to; power += 1) for (const m of [1, 2, 5]) between.push(Number(`${m}e${power}`));
  const inside = between.filter((x) => x >= low && x <= high);
  return inside.length >= 2 ? inside : linear(low, high, most);
}

// Words in as many lines as they need.
function folded(text, room) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (wide(longer) <= room || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// A tick of a logarithmic axis takes little room, and needs no counting of zeros.
function short(tick, { logarithmic }) {
  if (!logarithmic || tick < 1e6 || tick >= 1e12) return spoken(tick);
  return tick < 1e9 ? `${spoken(tick / 1e6)} million` : `${spoken(tick / 1e9)} billion`;
}

class Scale {
  constructor(values, { logarithmic }, from, to, most, padded = 0) {
    const used = values.filter((value) => value !== null && (!logarithmic || value > 0));
    let [low, high] = [Math.min(...used), Math.max(...used)];
    if (!used.length) [low, high] = [1, 10];
    if (padded && used.length) [low, high] = logarithmic ? [low / 1.25, high * 1.25] : [low - (high - low || 1) / padded, high + (high - low || 1) / padded];
    if (low === high) [low, high] = logarithmic ? [low / 2, high * 2] : low === 0 ? [0, 1] : [Math.min(0, low), Math.max(0, high)];
    Object.assign(this, { logarithmic, low, high, from, to });
    this.ticks = logarithmic ? powers(low, high, most) : linear(low, high, most);
  }

  at(value) {
    const place = this.logarithmic ? Math.log : (x) => x;
    return this.from + ((place(value) - place(this.low)) / (place(this.high) - place(this.low))) * (this.to - this.from);
  }
}

export class Drawing {
  constructor(block) {
    this.block = block;
  }

  at(width) {
    const { block } = this;
    const heights = [...block.lines.flatMap((line) => line.y), ...block.bands.flatMap((band) => [...band.low, ...band.high]), ...block.marks.map((mark) => mark.y)];
    if (!block.up.logarithmic) heights.push(0);
    const height = Math.round(Math.min(340, Math.max(230, width * 0.5)));
    const up = new Scale(heights, block.up, height - 46, TOP, 6, block.up.logarithmic ? 1 : 0);
    const labels = up.ticks.map((tick) => short(tick, block.up));
    const left = Math.ceil(Math.max(...labels.map(wide))) + 30;
    const across = new Scale([...block.x, ...block.marks.map((mark) => mark.x)], block.across, left, width - 16, Math.floor(width / 90), block.lines.some((line) => line.kind === "bars") ? 2 * block.x.length : 0);
    const parts = [];
    up.ticks.forEach((tick, j) => {
      const y = up.at(tick);
      parts.push(svg("line", { x1: left, x2: width - 16, y1: y, y2: y, class: "faint" }), svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, labels[j]));
    });
    for (const tick of across.ticks) {
      const x = across.at(tick);
      const label = short(tick, block.across);
      const half = wide(label) / 2;
      parts.push(svg("line", { x1: x, x2: x, y1: height - 46, y2: height - 41, class: "axis" }));
      parts.push(svg("text", { x: Math.min(x, width - half - 2), y: height - 27, "text-anchor": "middle" }, label));
    }
    parts.push(svg("line", { x1: left, x2: width - 16, y1: height - 46, y2: height - 46, class: "axis" }));
    parts.push(svg("text", { x: (left + width - 16) / 2, y: height - 8, "text-anchor": "middle" }, block.across.label));
    parts.push(svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${(TOP + height - 46) / 2}) rotate(-90)` }, block.up.label));
    for (const band of block.bands) parts.push(svg("path", { d: this.#area(across, up, band.low, band.high), class: `band c-${band.colour}` }));
    for (const line of block.lines) parts.push(...this.#line(line, across, up));
    for (const mark of block.marks) {
      const [x, y] = [across.at(mark.x), up.at(mark.y)];
      const words = shown(mark.words);
      const before = x + wide(words) + 14 > width;
      parts.push(svg("circle", { cx: x, cy: y, r: 4.5, class: "mark" }));
      const above = y - 8 > TOP;
      parts.push(svg("text", { x: before ? x - 10 : x + 10, y: above ? y - 8 : y + 18, "text-anchor": before ? "end" : "start", class: "halo" }, words, svg("title", {}, exact(mark.words))));
    }
    const legend = this.#legend(left, width, height + 6);
    const total = height + 6 + legend.rows * ROW;
    this.svg = svg("svg", { viewBox: `0 0 ${width} ${total}`, width, height: total, role: "img", "aria-label": `${block.title}: ${block.lines.map((line) => line.name).join("; ")}` }, parts, legend.parts);
    return this.svg;
  }

  #line(line, across, up) {
    const colour = `c-${line.colour}`;
    if (line.kind === "bars") {
      const gap = (across.to - across.from) / Math.max(1, this.block.x.length - 1);
      const thick = Math.max(2, Math.min(18, gap * 0.35));
      return this.block.x.map((x, j) => (line.y[j] === null ? null : svg("rect", {
        x: across.at(x) - thick / 2, width: thick, y: up.at(line.y[j]), height: Math.max(0, up.from - up.at(line.y[j])), class: `bar ${colour}`,
      }))).filter(Boolean);
    }
    if (line.kind === "area") return [svg("path", { d: this.#area(across, up, line.y.map((y) => (y === null ? null : up.low)), line.y), class: `area ${colour}` })];
    let path = "";
    let pen = false;
    line.y.forEach((y, j) => {
      if (y === null) { pen = false; return; }
      path += `${pen ? "L" : "M"}${across.at(this.block.x[j]).toFixed(1)} ${up.at(y).toFixed(1)}`;
      pen = true;
    });
    const points = this.block.x.length > 12 || !line.strong ? [] : this.block.x.map((x, j) => (line.y[j] === null ? null : svg("circle", { cx: across.at(x), cy: up.at(line.y[j]), r: 3.5, class: `point ${colour}` }))).filter(Boolean);
    return path ? [...points, svg("path", { d: path, class: `curve ${line.strong ? "strong" : ""} ${colour}`, "stroke-dasharray": line.dash || false, fill: "none" })] : [];
  }

  #area(across, up, low, high) {
    const places = this.block.x.map((_, j) => j).filter((j) => low[j] !== null && high[j] !== null);
    const point = (j, y) => `${across.at(this.block.x[j]).toFixed(1)} ${up.at(y[j]).toFixed(1)}`;
    return places.length ? `M${[...places.map((j) => point(j, high)), ...places.toReversed().map((j) => point(j, low))].join("L")}Z` : "";
  }

  #legend(indent, width, top) {
    const left = width < 520 ? 2 : indent;
    const parts = [];
    let [x, row, used] = [left, 0, 0];
    const items = [...this.block.lines, ...this.block.bands.map((band) => ({ ...band, kind: "area" }))];
    for (const item of items) {
      const lines = folded(item.name, width - left - 36);
      const needed = 34 + Math.max(...lines.map(wide)) + 18;
      if (x > left && x + needed - 18 > width) [x, row] = [left, used];
      const y = top + row * ROW + 10;
      const solid = item.kind === "area" || item.kind === "bars";
      parts.push(solid
        ? svg("rect", { x, y: y - 5, width: 26, height: 10, class: `${item.kind === "bars" ? "bar" : "area"} c-${item.colour}` })
        : svg("line", { x1: x, x2: x + 26, y1: y, y2: y, class: `curve ${item.strong ? "strong" : ""} c-${item.colour}`, "stroke-dasharray": item.dash || false }));
      lines.forEach((line, k) => parts.push(svg("text", { x: x + 34, y: y + 4 + 15 * k }, line)));
      used = Math.max(used, row + lines.length);
      x += needed;
    }
    return { parts, rows: used };
  }

  file() {
    return pictureFile(this.svg);
  }
}

// A picture by itself, its looks written into it.
export function pictureFile(drawn) {
  const copy = drawn.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const from = [drawn, ...drawn.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, j) => {
    const look = getComputedStyle(from[j]);
    for (const name of ["fill", "stroke", "stroke-width", "opacity", "paint-order"]) element.setAttribute(name, look.getPropertyValue(name));
    if (element.tagName === "text") { element.setAttribute("font-size", "12"); element.setAttribute("font-family", "sans-serif"); }
    element.removeAttribute("class");
  });
  const ground = svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(drawn.closest(".card")).backgroundColor });
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}
