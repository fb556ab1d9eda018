// One column of questions about what is selected: facts, what is wrong, what can be done, why two ops are not fused, why
// it is slow. Answers are tried on copies by Python; what was found is filtered here.

const QUESTIONS = { problems: "What is wrong", tried: "What can I do with it", fusion: "Why are two ops not fused", slow: "Why is it slow" };
const MOST_KNOWN = 64;

class GuidePane extends BenchPane {
  static key = "guide";
  static title = "Guide";
  static area = "bottom";
  static shows = ["problems", "tried", "fusion", "code"];
  static items = ":is(summary, button, [role=button]):not(form *)";

  constructor(bench) {
    super(bench);
    this.known = new Map(); // what was answered before: facts of a step of a trace stay true
    this.facts = make("div", { class: "lhw-facts", role: "status" });
    this.sections = {};
    for (const [name, title] of Object.entries(QUESTIONS)) {
      const section = { badge: make("span", { class: "lhw-badge" }), answer: make("div") };
      section.node = make("details", { class: "lhw-question", "data-section": name, name: bench.idOf("questions") }, make("summary", { onclick: () => (this.body.scrollTop = 0) }, title, section.badge), section.answer);
      this.sections[name] = section;
    }
    const { tried, fusion, slow } = this.sections;
    this.tryIt = make("button", { type: "button", class: "lhw-what", hidden: true, onclick: () => bench.top.tryHandle() }, "try every op on it");
    this.words = make("input", { type: "search", placeholder: "filter", "aria-label": "filter what was tried", oninput: () => this.filter() });
    tried.answer.before(make("form", { class: "lhw-asking", onsubmit: (event) => event.preventDefault() }, this.tryIt, " ", this.words));
    fusion.answer.before(this.fusionForm());
    this.look = make("button", { type: "button", class: "lhw-what", onclick: () => bench.do({ do: "look_at_code" }) }, "compile, and look at the hot loops");
    slow.answer.before(make("form", { class: "lhw-asking", onsubmit: (event) => event.preventDefault() }, this.look));
    // A row of questions, in sight in a low pane too; under it the answer of the one that is open, and then the facts.
    this.frame.append(...Object.values(this.sections).map(({ node }) => node), this.facts);
  }

  fusionForm() {
    const field = (name) => make("select", { name, "aria-label": name });
    [this.producer, this.consumer] = [field("producer"), field("consumer")];
    return make("form", { class: "lhw-asking", onsubmit: (event) => this.askFusion(event) },
      make("label", {}, "producer ", this.producer), " ", make("label", {}, "consumer ", this.consumer), " ",
      make("button", { type: "submit", class: "lhw-what" }, "why not fused?"));
  }

  // Bring a question to the reader.
  open(name) {
    const { node } = this.sections[name];
    node.open = true;
    node.scrollIntoView({ block: "nearest" });
  }

  update() {
    const { problems, tried, fusion, code } = Object.fromEntries(this.constructor.shows.map((name) => [name, this.bench.part(name)]));
    this.node.dataset.status = problems.status;
    this.fill("problems", problems.html, problems.said || "✓");
    if (problems.status !== "ok" && (this.status ?? "ok") === "ok") this.sections.problems.node.open = true;
    if (problems.status === "ok" && (this.status ?? "ok") !== "ok") this.sections.problems.node.open = false;
    if ((problems.status === "failed") !== (this.status === "failed")) this.body.scrollTop = 0; // its repairs are in sight
    this.status = problems.status;
    if (tried.handle !== this.handle) this.sections.tried.answer.replaceChildren(); // what was unfolded was of another handle
    this.handle = tried.handle;
    this.fill("tried", tried.html, tried.handle ? `${tried.handle}: ${tried.count}` : "");
    this.words.hidden = !tried.handle;
    this.filter();
    this.takeOps(fusion);
    this.fill("fusion", fusion.html, "");
    this.fill("slow", code.summary, code.isRunning ? code.note : code.bound);
    this.look.hidden = code.isCurrent;
    this.look.disabled = code.isRunning;
    this.reindex();
    for (const { said } of [problems, tried, code]) this.speak(said);
    this.showFacts();
  }

  fill(name, html, badge) {
    const { answer, badge: said } = this.sections[name];
    const wanted = make("div");
    wanted.append(fragmentOf(html));
    morph(answer, wanted);
    said.textContent = badge;
  }

  speak(said) {
    this.heard ??= new Set();
    if (said && !this.heard.has(said)) this.bench.announce(said);
    this.heard.add(said);
  }

  takeOps({ ops, chosen }) {
    const names = JSON.stringify(ops);
    if (names !== this.names) {
      this.names = names;
      [this.producer, this.consumer].forEach((field, i) => {
        const { value } = field;
        field.replaceChildren(...ops.map(([name, words]) => make("option", { value: name }, words)));
        field.value = ops.some(([name]) => name === value) ? value : (ops[i] ?? [""])[0];
      });
    }
    const pair = chosen.join(" ");
    if (chosen.length === 2 && pair !== this.pair) [this.producer.value, this.consumer.value] = chosen;
    this.pair = pair;
  }

  askFusion(event) {
    event.preventDefault();
    this.bench.do({ do: "why_not_fused", producer: this.producer.value, consumer: this.consumer.value });
  }

  // Hide what was tried and does not have all the words.
  filter() {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of this.sections.tried.answer.querySelectorAll("li")) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
  }

  showStep() {
    this.showFacts();
  }

  showSelection() {
    this.showFacts();
  }

  // Facts of what is selected, when the hand rests.
  showFacts() {
    const { step, selection } = this.bench;
    this.tryIt.hidden = selection?.kind !== "handle";
    if (selection?.kind === "handle") this.tryIt.textContent = `try every op on ${inWords(this.bench.lookup, selection).replace("selected: ", "")}`;
    const { key } = this.bench.part("trace");
    const asked = JSON.stringify([key, step, selection]);
    if (asked === this.asked) return;
    this.asked = asked;
    clearTimeout(this.waiting);
    if (this.known.has(asked)) return this.placeFacts(this.known.get(asked));
    this.waiting = setTimeout(async () => {
      const question = { ask: "facts", key, step, kind: selection?.kind ?? "", ids: String(selection?.id ?? "") };
      const html = await this.bench.ask(question).catch(() => null); // another trace is on its way
      if (html === null) return;
      this.known.set(asked, html);
      if (this.known.size > MOST_KNOWN) this.known.delete(this.known.keys().next().value);
      if (asked === this.asked) this.placeFacts(html);
    }, REST_MS);
  }

  placeFacts(html) {
    if (html === this.factsHtml) return;
    this.factsHtml = html;
    this.facts.replaceChildren(fragmentOf(html));
    this.reindex();
  }

  badge() {
    const { count, status } = this.bench.part("problems");
    return status === "ok" ? "✓" : `${status === "failed" ? "✕" : "!"} ${count}`;
  }
}

PANES.push(GuidePane);
