// What is computed, said in words once it takes more than a moment; until there is an answer, the former one is marked as such.
const MOMENT = 300; // milliseconds

export class Progress {
  #status = document.getElementById("status");
  #bar = document.getElementById("working");
  #button = document.getElementById("stop");
  #words = "";
  #timer = null;
  #acts;

  constructor(answer, acts) {
    this.answer = answer;
    this.#acts = acts;
    this.#button.addEventListener("click", () => (this.#late ? this.#acts.stop() : this.#acts.again()));
  }

  get #late() {
    return this.answer.classList.contains("late");
  }

  // A question follows: one that takes the place of another goes on waiting where that one was.
  begins() {
    this.answer.setAttribute("aria-busy", "true");
    this.#words = "Waiting for the planner";
    this.#timer ??= setTimeout(() => this.#show(), MOMENT);
    if (!this.#late) this.#quiet("");
  }

  says(words) {
    this.#words = words;
    if (this.#late && !this.#status.textContent.startsWith(words)) this.#status.textContent = this.#line();
  }

  ends() {
    this.#rests(this.#late ? "Up to date." : "");
  }

  stops() {
    const former = this.answer.querySelector(".stale") !== null;
    this.#rests(former ? "Stopped. The marked answer is the previous one." : "Stopped.");
    this.answer.classList.toggle("halted", former);
    this.#button.textContent = "Ask again";
    this.#button.hidden = false;
  }

  #line() {
    return `${this.#words} …`;
  }

  #show() {
    this.answer.classList.add("late");
    this.#status.textContent = this.#line();
    this.#bar.hidden = false;
    this.#button.textContent = "Stop";
    this.#button.hidden = false;
  }

  #rests(words) {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#quiet(words);
    this.answer.setAttribute("aria-busy", "false");
  }

  #quiet(words) {
    this.answer.classList.remove("late", "halted");
    this.#status.textContent = words;
    this.#bar.hidden = true;
    this.#button.hidden = true;
  }
}
