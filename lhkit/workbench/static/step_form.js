// Adding a step: a search in the catalogue, then a form that Python made; and the form of a step that is there.

const MOST_FOUND = 24;

// The words of an entry: those of its name, and those of the rest.
function wordsOf(item) {
  const words = (text) => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = item.querySelector("b").textContent;
  const said = (part) => item.querySelector(part).textContent;
  const more = `${said(".lhw-group")} ${item.querySelector("button").dataset.more ?? ""}`;
  return { name, places: [[8, words(name)], [4, words(said(".lhw-sentence"))], [2, words(more)]] };
}

// How well words fit an entry; 0 if one of them is nowhere. The beginning of a word counts less than the whole.
function score({ places }, asked) {
  let points = 0;
  for (const word of asked) {
    const fits = places.map(([weight, there]) => weight * Math.max(0, ...there.map((each) => (each === word ? 1 : word.length > 2 && each.startsWith(word) ? 0.6 : 0))));
    if (!fits.some(Boolean)) return 0;
    points += Math.max(...fits);
  }
  return points - 0.1 * places[0][1].length;
}

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
    const at = this.pane.placeNow;
    return at === undefined ? {} : { after: at };
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

  // All that can be added, asked for once per text: what is typed is filtered here.
  async all() {
    const { version } = this.bench.part("steps");
    if (this.allOf !== version) {
      const html = await this.bench.ask({ ask: "search", words: "*" });
      this.items = [...fragmentOf(html).querySelectorAll("li")].map((item) => ({ item, ...wordsOf(item) }));
      this.allOf = version;
    }
    return this.items;
  }

  // What has all the words, best first; where nothing has, Python looks into the documentation too.
  async answer(words) {
    const turn = ++this.turn;
    const items = words ? await this.all().catch(() => []) : [];
    if (turn !== this.turn) return {};
    const asked = words.toLowerCase().match(/[a-z0-9]+/g) ?? [];
    const found = items.map((each) => [score(each, asked), each]).filter(([points]) => points > 0);
    if (!asked.length || !found.length) return this.latest({ ask: "search", words });
    const isRecipe = ({ name }) => Number(name.startsWith("@"));
    found.sort(([a, left], [b, right]) => b - a || isRecipe(left) - isRecipe(right) || left.name.localeCompare(right.name));
    return { value: `<ul class="lhw-found">${found.slice(0, MOST_FOUND).map(([, { item }]) => item.outerHTML).join("")}</ul>` };
  }

  async find() {
    const { value } = await this.answer(this.words.value.trim());
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

  edit(at) {
    return this.choose({ step: at });
  }

  async choose(asked) {
    const { kind = "", id = "" } = this.bench.selection ?? {};
    const { value, error } = await this.latest({ ask: "form", ...asked, kind, ids: String(id) });
    if (error) return this.bench.say(error);
    if (!value) return;
    const isNew = asked.step === undefined;
    this.asked = { ...asked, version: this.bench.part("steps").version };
    this.title.textContent = value.title;
    this.where.textContent = isNew ? value.where : "";
    this.node.setAttribute("aria-label", `${isNew ? "add" : "change"} ${value.title}`);
    this.shown = make("pre", { class: "lhw-preview" });
    this.hint = make("p", { class: "lh-note lhw-said", role: "status" }); // loops that the sizes leave whole
    this.wrong = make("p", { class: "lhw-wrong", role: "status" });
    const back = make("button", { type: "button", onclick: () => (isNew ? this.search() : this.hide()) }, isNew ? "back" : "cancel");
    const act = make("button", { type: "submit", class: "lhw-primary" }, isNew ? "add" : "change");
    this.form.replaceChildren(make("p", { class: "lh-note" }, value.sentence), fragmentOf(value.html), this.shown, this.hint, this.wrong,
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
    if (value !== undefined) [this.shown.textContent, this.hint.textContent] = [value.text, value.hint];
    if (value !== undefined || error) this.wrong.textContent = error ?? "";
  }

  async submit(event) {
    event.preventDefault();
    const name = this.asked.step === undefined ? "add_step" : "set_step";
    await this.bench.do({ do: name, ...this.asked, fields: this.fields });
    const notice = this.bench.part("notice");
    if (notice?.kind === "refused") this.wrong.textContent = wordsOfNotice(notice);
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
