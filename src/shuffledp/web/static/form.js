// The form of a tab: every number can be typed, and slid where it has a range.
import { shown, start } from "./address.js";
import { html, spoken } from "./element.js";

const MANTISSAS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

// The numbers at which a slider stops.
function stops({ low, high, step, logarithmic }) {
  const found = [];
  if (logarithmic) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const mantissa of MANTISSAS) {
        const stop = Number(`${mantissa}e${power}`);
        if (stop >= low * 0.999 && stop <= high * 1.001) found.push(stop);
      }
    }
  } else {
    for (let j = 0; low + j * step <= high + step / 1e6; j += 1) found.push(Number((low + j * step).toPrecision(10)));
  }
  return found;
}

function nearest(list, value, logarithmic) {
  const place = (x) => (logarithmic ? Math.log(Math.max(x, 1e-300)) : x);
  let best = 0;
  list.forEach((stop, j) => { if (Math.abs(place(stop) - place(value)) < Math.abs(place(list[best]) - place(value))) best = j; });
  return best;
}

// The keys that a touch screen shows: many have no minus and no e beside digits and point.
function keyboard({ kind, slider }) {
  if (kind === "whole") return "numeric";
  return kind === "real" && slider && slider.low >= 0 && slider.high <= 1000 && (!slider.logarithmic || slider.low >= 1e-3) ? "decimal" : "text";
}

const plain = (number) => (number !== 0 && number < 1e-4 ? number.toExponential().replace("e+", "e") : String(number));

export class Form {
  // `changed(final)` is called while something is typed or slid, and with true when it is settled.
  constructor(element, changed) {
    this.element = element;
    this.changed = changed;
    element.addEventListener("submit", (event) => event.preventDefault());
  }

  draw(form, values) {
    this.form = form;
    this.values = { ...values };
    this.parts = new Map();
    const sections = [];
    for (const field of form.fields) {
      if (field.section || !sections.length) sections.push(html("fieldset", {}, html("legend", {}, field.section || form.title)));
      sections.at(-1).append(this.#drawn(field));
    }
    for (const section of sections) {
      const more = html("button", { type: "button", class: "more", "aria-expanded": "false", onclick: () => this.#reveal(section, true) }, "More options");
      section.append(more);
    }
    this.element.replaceChildren(...sections);
    this.#refresh();
  }

  // Other values, from the address: the fields stay, so that focus does.
  show(values) {
    this.values = { ...values };
    for (const [name, part] of this.parts) if (part.read() !== values[name]) part.write(values[name]);
    this.#refresh();
  }

  // What is asked: fields that are shown and not empty.
  asked() {
    const fields = this.form.fields.filter((field) => shown(this.form, field, this.values) && this.values[field.name].trim());
    return Object.fromEntries(fields.map((field) => [field.name, this.values[field.name]]));
  }

  wrong(name, message) {
    for (const [other, part] of this.parts) {
      const mine = other === name && Boolean(message);
      part.field.classList.toggle("wrong", mine);
      part.message.textContent = mine ? message : "";
      if (mine) this.#reveal(part.field.closest("fieldset"), part.field.hidden);
      if (mine) part.input.setAttribute("aria-invalid", "true");
      else part.input.removeAttribute("aria-invalid");
    }
    return this.parts.has(name);
  }

  #drawn(field) {
    const id = `field-${field.name}`;
    const common = { id, name: field.name, "aria-describedby": `${id}-help ${id}-message` };
    const part = { message: html("p", { class: "message", id: `${id}-message`, role: "alert" }), output: html("output", { for: id }) };
    part.read = () => part.input.value;
    part.write = (text) => { part.input.value = text; };
    if (field.kind === "flag") {
      part.input = html("input", { ...common, type: "checkbox" });
      part.read = () => (part.input.checked ? "yes" : "no");
      part.write = (text) => { part.input.checked = text === "yes"; };
    } else if (field.kind === "choice") {
      part.input = html("select", common, field.choices.map(([value, label]) => html("option", { value }, label)));
    } else if (field.kind === "lines") {
      part.input = html("textarea", { ...common, rows: 4, spellcheck: "false" });
    } else {
      part.input = html("input", { ...common, type: "text", inputmode: keyboard(field), spellcheck: "false" });
    }
    part.write(this.values[field.name]);
    part.input.addEventListener("input", () => this.#set(field, part.read(), false));
    part.input.addEventListener("change", () => this.#set(field, part.read(), true));
    if (field.slider) {
      part.stops = stops(field.slider);
      part.slider = html("input", { type: "range", min: 0, max: part.stops.length - 1, step: 1, "aria-label": `${field.label}, slider` });
      const slid = (final) => {
        part.input.value = plain(part.stops[part.slider.value]);
        this.#set(field, part.input.value, final);
      };
      part.slider.addEventListener("input", () => slid(false));
      part.slider.addEventListener("change", () => slid(true));
    }
    const again = !field.again ? null : html("button", { type: "button", class: "again", onclick: () => {
      part.input.value = String((Number(part.input.value) || 0) + 1);
      this.#set(field, part.input.value, true);
    } }, field.again);
    const typed = html("div", { class: "typed" }, part.input, field.unit ? html("span", {}, field.unit) : null, again);
    const label = html("label", { for: id }, field.label, part.output);
    part.field = html("div", { class: "field" },
      field.kind === "flag" ? html("div", { class: "flag" }, part.input, label) : [label, typed],
      part.slider ?? null,
      html("p", { class: "help", id: `${id}-help` }, field.help),
      part.message);
    if (!field.help) part.field.querySelector(".help").hidden = true;
    this.parts.set(field.name, part);
    return part.field;
  }

  // Shows all fields of a section.
  #reveal(section, all) {
    if (!all) return;
    section.dataset.all = "yes";
    this.#refresh();
  }

  // Whether a field that may be left out is out of sight.
  #away(field, part) {
    const empty = !this.values[field.name] && !start(this.form, field, this.values);
    return field.optional && empty && !part.field.closest("fieldset").dataset.all && !part.field.contains(document.activeElement);
  }

  #set(field, text, final) {
    const before = this.values;
    this.values = { ...before, [field.name]: text };
    if (this.form.starts[field.name] && text !== before[field.name]) {
      // what starts otherwise now, unless somebody has changed it
      for (const other of this.form.fields) {
        if (other !== field && before[other.name] === start(this.form, other, before)) {
          this.values[other.name] = start(this.form, other, this.values);
          this.parts.get(other.name).write(this.values[other.name]);
        }
      }
    }
    this.#refresh();
    this.changed(final);
  }

  #refresh() {
    for (const field of this.form.fields) {
      const part = this.parts.get(field.name);
      part.field.hidden = !shown(this.form, field, this.values) || this.#away(field, part);
      const number = Number(this.values[field.name]);
      const usable = this.values[field.name].trim() !== "" && Number.isFinite(number);
      part.output.textContent = usable && field.kind === "whole" && number >= 10_000 ? number.toLocaleString("en") : "";
      if (part.slider && !usable) part.slider.setAttribute("aria-valuetext", "nothing typed");
      if (part.slider && usable) {
        part.slider.value = nearest(part.stops, number, field.slider.logarithmic);
        part.slider.setAttribute("aria-valuetext", `${spoken(number)}${field.unit ? ` ${field.unit}` : ""}`);
      }
    }
    for (const section of this.element.querySelectorAll("fieldset")) {
      const fields = this.form.fields.filter((field) => section.contains(this.parts.get(field.name).field) && shown(this.form, field, this.values));
      section.hidden = !fields.length;
      section.querySelector(".more").hidden = !fields.some((field) => this.#away(field, this.parts.get(field.name)));
    }
  }
}
