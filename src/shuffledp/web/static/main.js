// Tabs, address and answers: a newer question ends the older one.
import { read, written } from "./address.js";
import { drawn } from "./blocks.js";
import { digits } from "./digits.js";
import { html } from "./element.js";
import { Form } from "./form.js";
import { Progress } from "./progress.js";

const answer = document.getElementById("answer");
const forms = await (await fetch("/forms")).json();
const last = new Map(); // the fields of each tab when it was last seen
const blocks = new Map(); // what is shown, by id
const all = document.getElementById("digits");
const form = new Form(document.getElementById("form"), changed);
const progress = new Progress(answer, { stop, again: ask });
let asking = null;
let waiting = null;
let settled = location.hash;

function changed(final) {
  keep(final);
  clearTimeout(waiting);
  // a slider that is still moving asks now and then; one that has just begun to, at once
  waiting = setTimeout(ask, final || answer.getAttribute("aria-busy") !== "true" ? 0 : 20);
}

// The address says what is asked; a step that is final can be gone back to.
function keep(final) {
  const address = written(form.form, form.values, digits.all);
  if (final && address !== settled) {
    history.replaceState(null, "", settled || "#");
    history.pushState(null, "", address);
    settled = address;
  } else if (address !== location.hash) {
    history.replaceState(null, "", address);
  }
  last.set(form.form.name, { ...form.values });
}

function arrive() {
  const { form: tab, values, all: every } = read(forms);
  settled = location.hash;
  last.set(tab.name, values);
  digits.all = all.checked = every;
  if (form.form !== tab) {
    clear();
    form.draw(tab, values);
    document.getElementById("title").textContent = tab.title;
    document.getElementById("lead").textContent = tab.lead;
    document.title = `${tab.title} · shuffledp`;
  } else {
    form.show(values);
  }
  tabs();
  ask();
}

function tabs() {
  document.getElementById("tabs").replaceChildren(...forms.map((one) => html("a", {
    href: written(one, last.get(one.name) ?? read(forms, `#${one.name}`).values, digits.all), "aria-current": one === form.form ? "page" : false,
  }, one.title)));
}

async function ask() {
  clearTimeout(waiting);
  asking?.abort();
  const mine = asking = new AbortController();
  const seen = new Set();
  progress.begins();
  for (const card of answer.children) card.classList.add("stale");
  try {
    const response = await fetch(`/answer/${form.form.name}`, {
      method: "POST", signal: mine.signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(form.asked()),
    });
    if (!response.ok) throw new Error(await response.text());
    let ended = false;
    for await (const block of lines(response.body)) {
      if (mine.signal.aborted) return;
      ended = block.kind === "end";
      if (ended) finish(block, seen);
      else if (block.kind === "doing") progress.says(block.words);
      else {
        if (block.kind === "waiting") progress.says(`Computing: ${block.title}`);
        place(block, seen);
      }
    }
    if (!ended && !mine.signal.aborted) throw new Error("it stopped half-way");
  } catch (error) {
    if (mine.signal.aborted) return;
    clear(html("div", { class: "card", role: "alert" }, html("p", {}, `The planner does not answer (${error.message.trim()}). Start it again with shuffledp web.`)));
  }
  if (!mine.signal.aborted) progress.ends();
}

function stop() {
  clearTimeout(waiting); // who leaves a field by pressing the button asks no more
  asking.abort();
  for (const card of answer.querySelectorAll(".busy")) card.remove();
  progress.stops();
}

function clear(...instead) {
  blocks.clear();
  answer.replaceChildren(...instead);
}

async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

function place(block, seen) {
  const id = `answer-${block.id}`;
  const before = document.getElementById(id);
  if (block.kind === "waiting" && before?.classList.contains("card") && !before.querySelector("progress")) {
    seen.add(id);
    return;
  }
  const card = draw(block, before);
  if (!before) {
    const previous = [...seen].map((one) => document.getElementById(one)).at(-1);
    if (previous) previous.after(card);
    else answer.prepend(card);
  }
  seen.add(id);
  card.drawIn?.();
}

// A card, in the place of the one before.
function draw(block, before) {
  const open = [...(before?.querySelectorAll("details") ?? [])].map((one) => one.open);
  const card = drawn(block);
  card.id = `answer-${block.id}`;
  card.querySelectorAll("details").forEach((one, j) => { one.open = open[j] ?? false; });
  before?.replaceWith(card);
  blocks.set(card.id, block);
  return card;
}

// The same with more digits, or with fewer.
function redraw() {
  for (const [id, block] of blocks) {
    const before = document.getElementById(id);
    if (!before) continue;
    const card = draw(block, before);
    card.classList.toggle("stale", before.classList.contains("stale"));
    card.drawIn?.();
  }
}

function finish({ field, message }, seen) {
  form.wrong(field ?? "", message ?? "");
  if (message) {
    const part = field && form.parts.get(field);
    const way = html("button", { type: "button", class: "again", onclick: () => part.input.focus() }, "Go to the field");
    clear(html("div", { class: "card", role: "status" }, part ? [html("p", {}, "Fix the field that is marked to see an answer."), way] : html("p", {}, message)));
    return;
  }
  for (const card of [...answer.children]) {
    if (seen.has(card.id)) continue;
    blocks.delete(card.id);
    card.remove();
  }
}

all.addEventListener("change", () => {
  digits.all = all.checked;
  keep(true);
  tabs();
  redraw();
});
addEventListener("popstate", arrive);
addEventListener("hashchange", () => { if (location.hash !== settled) arrive(); });
arrive();
