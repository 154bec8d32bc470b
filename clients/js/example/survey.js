// One question of one task. What is asked and who is trusted stands in survey.json, next to this page.

import { Client } from "../shuffledp.js";

const $ = (id) => document.getElementById(id);

/** Only files next to the page: a link must not make it ask for somebody else. */
async function configuration() {
  const name = new URLSearchParams(location.search).get("config") ?? "survey.json";
  if (!/^[\w-][\w.-]*\.json$/.test(name))
    throw new Error("the survey's configuration is a .json file next to this page.");
  const answer = await fetch(name, { credentials: "omit", cache: "no-store" });
  if (!answer.ok) throw new Error(`${name} was not found next to this page.`);
  return answer.json();
}

function show(text, kind = "") {
  $("status").textContent = text;
  $("status").className = kind;
  if (kind) $("status").focus();
}

/** Three digits, rounded up or down: what protects is never overstated. */
function digits(value, round) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return (round(value / unit) * unit).toLocaleString("en", { maximumSignificantDigits: 3 });
}

function addAnswers({ kind, labels, size, low, high }, texts = {}) {
  if (kind === "labels") {
    for (const label of labels) {
      const choice = document.createElement("label");
      const input = Object.assign(document.createElement("input"), {
        type: "radio",
        name: "answer",
        value: label,
        required: true,
      });
      choice.className = "choice";
      choice.append(input, texts[label] ?? label);
      $("answers").append(choice);
    }
    return;
  }
  const bins = kind === "whole-numbers";
  const [least, most] = bins ? [0, size - 1] : [low, high];
  const field = document.createElement("label");
  const input = Object.assign(document.createElement("input"), {
    type: "number",
    name: "answer",
    required: true,
    min: least,
    max: most,
    step: bins ? 1 : "any",
  });
  field.className = "number";
  field.append(bins ? `A whole number from ${least} to ${most}` : `A number from ${least} to ${most}`, input);
  $("answers").append(field);
}

function explain({ task, fingerprint }) {
  const { plan, shufflers, analyzer } = task.document;
  const { gamma, size, kind, epsilon0, number } = task.protocol;
  const { epsilon, delta, n } = plan.guarantee;
  const [least, honest, answers] = [plan.min_batch, n, size].map((count) => count.toLocaleString("en"));
  const factor = (exponent) => digits(Math.exp(exponent), Math.ceil);
  const outward = [...shufflers].reverse();
  const next = outward[1] ?? analyzer;
  const rounding =
    kind === "summation" ? `Your number is rounded, by chance up or down, to one of ${size} steps. ` : "";
  const hidden = number
    ? "Your browser sends your answer and, beside it, now and then others that are picked at random from all " +
      `${answers} possible messages (at most ${number.most}). So do all, and once they are mixed nobody can be sure which are meant. `
    : `${rounding}With a probability of ${digits(100 * gamma, Math.floor)} % your browser drops your answer and sends one ` +
      `picked at random from all ${answers} possible answers instead, so nobody can be sure that what arrives is what you ` +
      "chose. ";
  const unmixed = number
    ? "nothing would protect you."
    : `only the random answers would protect you, with a factor of at most ${factor(epsilon0)}.`;
  const byItself = number
    ? "By itself no answer is protected."
    : `On its own each answer has epsilon0 = ${digits(epsilon0, Math.ceil)}.`;
  const texts = {
    device:
      `${hidden}It seals ${number ? "all of them" : "the answer"} in ${shufflers.length + 1} layers, and once it has arrived ` +
      "remembers only that you have answered.",
    "shuffler-name": outward.join(", then "),
    shuffler:
      "It sees that your device sent something, and from which internet address, but cannot read it. It waits for at " +
      `least ${least} answers, mixes them, and passes them on without saying who sent what or when.`,
    "analyzer-name": analyzer,
    analyzer:
      `It opens at least ${least} mixed answers at once and estimates the totals. ` +
      "It cannot tell which of them is yours.",
    promise:
      "Whatever anyone concludes from the mixed answers, they could almost as well have concluded it if you had " +
      `answered differently: the chances differ by a factor of at most ${factor(epsilon)}, plus ${delta}. ` +
      `If ${number ? shufflers[0] : outward.join(", ")} and ${analyzer} broke their word and worked together, ${unmixed}`,
    guarantee:
      `After mixing: (${epsilon}, ${delta})-differential privacy, provided that at least ${honest} of any ${least} answers ` +
      `come from people who follow the rules. ${byItself}`,
    "fingerprint-of": `Fingerprint of the key of ${next}`,
    fingerprint: fingerprint.match(/.{8}/g).join(" "),
    task: task.id.match(/.{8}/g).join(" "),
    compare:
      `Compare the fingerprint with the one that ${next} publishes: nothing is sealed to any other key. ` +
      "You also rely on whoever serves this page, because its code sees your answer.",
  };
  for (const [id, text] of Object.entries(texts)) $(id).textContent = text;
  $("explanation").hidden = false;
}

function sentence(error) {
  if (error.kind === "too_soon") {
    return `You have answered already, and that answer stands. You can answer again from ${error.next.toLocaleString()}.`;
  }
  if (error.kind === "not_delivered")
    return "The survey cannot be reached. Please press the button again later; the same answer will be sent.";
  return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
}

async function send(client, protocol) {
  const given = new FormData($("form")).get("answer");
  $("send").disabled = true;
  show("Sending …");
  try {
    const { earlier } = await client.submit(protocol.domain.kind === "labels" ? given : Number(given));
    $("form").reset();
    $("form").hidden = true;
    show(
      earlier
        ? "You had answered already: that answer stands, and nothing else was sent."
        : "Thank you. Your answer has arrived.",
      "good",
    );
  } catch (error) {
    show(sentence(error), "problem");
  } finally {
    $("send").disabled = false;
  }
}

async function start() {
  const { title, introduction, question, answers, url, task: taskId, analyzer, shufflers } = await configuration();
  document.title = $("title").textContent = title;
  $("introduction").textContent = introduction ?? "";
  $("introduction").hidden = !introduction;
  const client = new Client({ url, taskId, analyzer, shufflers });
  const description = await client.describe();
  $("question").textContent = question;
  addAnswers(description.task.protocol.domain, answers);
  explain(description);
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    send(client, description.task.protocol);
  });
  $("form").hidden = false;
  show("");
}

start().catch((error) => show(sentence(error), "problem"));
