// Tabs, address and answers: a newer question ends the older one.
import { read, written } from "./address.js";
import { drawn } from "./blocks.js";
import { html } from "./element.js";
import { Form } from "./form.js";

const answer = document.getElementById("answer");
const forms = await (await fetch("/forms")).json();
const last = new Map();
const form = new Form(document.getElementById("form"), changed);
let asking = null;
let waiting = null;
let settled = location.hash;

function changed(final) {
  const address = written(form.form, form.values);
  if (final && address !== settled) {
    history.replaceState(null, "", settled || "#");
    history.pushState(null, "", address);
    settled = address;
  } else if (address !== location.hash) {
    history.replaceState(null, "", address);
  }
  last.set(form.form.name, address);
  clearTimeout(waiting);
  // a slider that is still moving asks now and then; one that has just begun to, at once
  waiting = setTimeout(ask, final || answer.getAttribute("aria-busy") !== "true" ? 0 : 20);
}

function arrive() {
  const { form: tab, values } = read(forms);
  settled = location.hash;
  last.set(tab.name, location.hash || `#${tab.name}`);
  if (form.form !== tab) {
    answer.replaceChildren();
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
    href: last.get(one.name) ?? `#${one.name}`, "aria-current": one === form.form ? "page" : false,
  }, one.title)));
}

async function ask() {
  clearTimeout(waiting);
  asking?.abort();
  const mine = asking = new AbortController();
  const seen = new Set();
  answer.setAttribute("aria-busy", "true");
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
      else place(block, seen);
    }
    if (!ended && !mine.signal.aborted) throw new Error("it stopped half-way");
  } catch (error) {
    if (mine.signal.aborted) return;
    answer.replaceChildren(html("div", { class: "card", role: "alert" }, html("p", {}, `The planner does not answer (${error.message.trim()}). Start it again with shuffledp web.`)));
  }
  if (!mine.signal.aborted) answer.setAttribute("aria-busy", "false");
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
  const open = [...(before?.querySelectorAll("details") ?? [])].map((one) => one.open);
  const card = drawn(block);
  card.id = id;
  card.querySelectorAll("details").forEach((one, j) => { one.open = open[j] ?? false; });
  if (before) before.replaceWith(card);
  else {
    const previous = [...seen].map((one) => document.getElementById(one)).at(-1);
    if (previous) previous.after(card);
    else answer.prepend(card);
  }
  seen.add(id);
  card.drawIn?.();
}

function finish({ field, message }, seen) {
  form.wrong(field ?? "", message ?? "");
  if (message) {
    const known = field && form.parts.has(field);
    answer.replaceChildren(html("div", { class: "card", role: "status" }, html("p", {}, known ? "Fix the field that is marked to see an answer." : message)));
    return;
  }
  for (const card of [...answer.children]) if (!seen.has(card.id)) card.remove();
}

addEventListener("popstate", arrive);
addEventListener("hashchange", () => { if (location.hash !== settled) arrive(); });
arrive();
