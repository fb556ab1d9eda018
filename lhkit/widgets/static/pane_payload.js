// The payload after the step that is shown, against the one before or whole.

const FRAMES_AHEAD = 2; // neighbours that are fetched before anybody asks
const MOST_FRAMES = 400;

class PayloadPane extends BenchPane {
  static key = "payload";
  static title = "Payload";
  static area = "middle";
  static shows = ["payload"];

  constructor(bench) {
    super(bench);
    this.frames = new Map(); // "step|whole" → fragment, or the promise of it; of one trace
    this.whole = make("input", { type: "checkbox", onchange: () => bench.do({ do: "set_whole", whole: this.whole.checked }) });
    this.bar = make("div", { class: "lhw-bar" }, make("label", {}, this.whole, " whole text"));
    this.node.prepend(this.bar);
  }

  async update() {
    const part = this.bench.part("payload");
    if (part.key !== this.traceKey || part !== this.part) {
      this.frames.clear();
      this.traceKey = part.key;
      this.part = part;
      this.frames.set(this.nameOf(part.step, part.whole), part.html);
    }
    await this.showStep();
  }

  nameOf(step, whole) {
    return `${step}|${whole}`;
  }

  async showStep() {
    const { step, whole } = this.bench;
    this.whole.checked = whole;
    await this.place(await this.fetched(step, whole));
    this.ahead();
  }

  // The fragment of a step, from here or from the kernel.
  fetched(step, whole) {
    const name = this.nameOf(step, whole);
    if (!this.frames.has(name)) {
      const key = this.traceKey;
      const asked = this.bench.ask({ ask: "frame", key, step, whole }).then((html) => {
        if (key === this.traceKey) this.frames.set(name, html);
        return html;
      });
      asked.catch(() => this.frames.delete(name));
      this.frames.set(name, asked);
      if (this.frames.size > MOST_FRAMES) this.frames.delete(this.frames.keys().next().value);
    }
    return this.frames.get(name);
  }

  // Fetch what comes next while nobody waits.
  ahead() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const { step, whole, steps } = this.bench;
      const at = steps.findIndex((each) => each.index === step);
      for (let by = 1; by <= FRAMES_AHEAD; by++) {
        for (const near of [steps[at + by], steps[at - by]]) {
          if (near && step === this.bench.step) await Promise.resolve(this.fetched(near.index, whole)).catch(() => null);
        }
      }
    }, 150);
  }
}

PANES.push(PayloadPane);
