// Adding a step: a search in the catalogue, then a form that Python made; and the form of a step that is there.

class StepForm {
  constructor(bench, pane) {
    this.bench = bench;
    this.pane = pane;
    this.turn = 0;
    this.words = make("input", { type: "search", placeholder: "search ops and recipes", "aria-label": "search ops and recipes",
      autocomplete: "off", spellcheck: "false", oninput: () => this.find() });
    this.found = make("div", { class: "lhw-results" });
    this.form = make("form", { class: "lhw-form", onsubmit: (event) => this.submit(event), oninput: () => this.preview() });
    this.title = make("b", {});
    this.where = make("span", { class: "lhw-where" });
    this.close = make("button", { type: "button", class: "lhw-close", "aria-label": "close", onclick: () => this.hide() }, "✕");
    this.node = make("div", { class: "lhw-adding", role: "dialog", "aria-label": "add a step", hidden: true },
      make("div", { class: "lhw-adding-head" }, this.title, this.where, this.close), this.words, this.found, this.form);
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.found.addEventListener("click", (event) => {
      const chosen = event.target.closest("[data-choose]");
      if (chosen) this.choose({ op: chosen.dataset.choose, ...this.place });
    });
  }

  // Where a new step goes: behind the one that is shown.
  get place() {
    const number = this.pane.numberNow;
    return number === undefined ? {} : { after: number };
  }

  show(isSearch) {
    this.node.hidden = false;
    this.words.hidden = this.found.hidden = !isSearch;
    this.form.hidden = isSearch;
  }

  hide() {
    this.node.hidden = true;
    this.pane.adder.focus();
  }

  search() {
    this.title.textContent = "Add a step";
    this.where.textContent = "";
    this.show(true);
    this.words.value = "";
    this.words.focus();
    return this.find();
  }

  // Ask, and take the answer unless another question followed.
  async latest(question) {
    const turn = ++this.turn;
    try {
      const value = await this.bench.ask(question);
      return turn === this.turn ? { value } : {};
    } catch (error) {
      return turn === this.turn ? { error: error.message } : {};
    }
  }

  async find() {
    const { value } = await this.latest({ ask: "search", words: this.words.value });
    if (value === undefined || value === this.shownResults) return;
    // Who walks down the results while the last letter's answer comes stays on the same result, if it is still there.
    const focused = this.found.getRootNode().activeElement;
    const held = this.found.contains(focused) ? focused.dataset.choose : null;
    this.shownResults = value;
    this.found.innerHTML = value;
    if (held === null) return;
    const results = [...this.found.querySelectorAll("[data-choose]")];
    (results.find((result) => result.dataset.choose === held) ?? results[0] ?? this.words).focus();
  }

  edit(number) {
    return this.choose({ step: number });
  }

  async choose(asked) {
    const { value, error } = await this.latest({ ask: "form", ...asked });
    if (error) return this.bench.say(error);
    if (!value) return;
    const isNew = asked.step === undefined;
    this.asked = { ...asked, version: this.bench.part("steps").version };
    this.title.textContent = value.title;
    this.where.textContent = isNew ? value.where : "";
    this.node.setAttribute("aria-label", `${isNew ? "add" : "change"} ${value.title}`);
    this.shown = make("pre", { class: "lhw-preview" });
    this.wrong = make("p", { class: "lhw-wrong", role: "status" });
    const back = make("button", { type: "button", onclick: () => (isNew ? this.search() : this.hide()) }, isNew ? "back" : "cancel");
    const act = make("button", { type: "submit", class: "lhw-primary" }, isNew ? "add" : "change");
    this.form.replaceChildren(make("p", { class: "lh-note" }, value.sentence), fragmentOf(value.html), this.shown, this.wrong,
      make("div", { class: "lhw-form-buttons" }, act, back));
    this.show(false);
    this.form.querySelector("input, select")?.focus();
    return this.preview();
  }

  get fields() {
    const fields = {};
    for (const field of this.form.querySelectorAll("[name]")) fields[field.name] = field.type === "checkbox" ? field.checked || "" : field.value;
    return fields;
  }

  async preview() {
    const { value, error } = await this.latest({ ask: "preview", ...this.asked, fields: this.fields });
    if (value !== undefined) this.shown.textContent = value;
    if (value !== undefined || error) this.wrong.textContent = error ?? "";
  }

  async submit(event) {
    event.preventDefault();
    const name = this.asked.step === undefined ? "add_step" : "set_step";
    await this.bench.do({ do: name, ...this.asked, fields: this.fields });
    const notice = this.bench.part("notice");
    if (notice?.kind === "refused") this.wrong.textContent = `${notice.message} ${notice.advice}`.trim();
    else {
      this.hide();
      this.pane.focusNow();
    }
  }

  key(event) {
    if (event.key === "Escape") {
      this.hide();
      event.stopPropagation();
      return;
    }
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || this.found.hidden) return;
    const stops = [this.words, ...this.found.querySelectorAll("[data-choose]")];
    const next = stops[stops.indexOf(event.target) + by];
    if (!next) return;
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
