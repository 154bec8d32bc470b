// People as dots: what they hold, what the shuffler sees, what the analyzer sees.
import { svg } from "./element.js";
import { pictureFile } from "./plot.js";

const COLOURS = ["blue", "orange", "green", "purple", "vermilion"];
const STEP = 18;

export class Crowd {
  constructor(block) {
    this.block = block;
  }

  at(width) {
    const { block } = this;
    const across = width >= 620 ? 3 : 1;
    const gap = 28;
    const panel = (width - gap * (across - 1)) / across;
    const columns = Math.max(5, Math.floor(panel / STEP));
    const rows = Math.ceil(block.holds.length / columns);
    const tall = 46 + rows * STEP + 18;
    const panels = [
      ["What people hold", "ringed: sent something random", (j) => this.#person(block.holds[j], block.noise[j])],
      ["What the shuffler sees", "sealed reports, and who sent them", () => [svg("rect", { x: -5, y: -5, width: 10, height: 10, rx: 2, class: "sealed" })]],
      ["What the analyzer sees", "permuted, senders unknown", (j) => this.#person(block.sends[block.order[j]], false)],
    ];
    const parts = panels.map(([title, below, dot], p) => {
      const [left, top] = across === 3 ? [p * (panel + gap), 0] : [0, p * tall];
      const dots = block.holds.map((_, j) => svg("g", { transform: `translate(${STEP / 2 + STEP * (j % columns)} ${54 + STEP * Math.floor(j / columns)})` }, dot(j)));
      return svg("g", { transform: `translate(${left} ${top})` }, svg("text", { x: 0, y: 14, class: "title" }, title), svg("text", { x: 0, y: 32, class: "soft" }, below), dots);
    });
    const legend = Array.from({ length: block.size }, (_, j) => svg("g", { transform: `translate(${6 + 84 * j} ${(across === 3 ? tall : 3 * tall) + 6})` },
      this.#person(j, false), svg("text", { x: 12, y: 4 }, `answer ${j + 1}`)));
    const height = (across === 3 ? tall : 3 * tall) + 20;
    this.svg = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${block.holds.length} people, ${block.noise.filter(Boolean).length} of whom sent something random; the table below says the same` }, parts, legend);
    return this.svg;
  }

  #person(value, ringed) {
    return [ringed ? svg("circle", { r: 7.5, class: "ring" }) : null, svg("circle", { r: 5, class: `person c-${COLOURS[value]}` })].filter(Boolean);
  }

  file() {
    return pictureFile(this.svg);
  }

  // The same as a table: who holds and sends what, and what arrives where.
  table() {
    const { holds, sends, noise, order } = this.block;
    const rows = holds.map((value, j) => [String(j + 1), `answer ${value + 1}`, noise[j] ? "yes" : "no", `answer ${sends[j] + 1}`, `answer ${sends[order[j]] + 1}`]);
    return [["person", "holds", "sends something random", "sends", "analyzer's message of this number"], rows];
  }
}
