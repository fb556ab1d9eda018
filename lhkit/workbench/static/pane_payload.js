// The payload after the step that is shown, against the one before or whole.

const FRAMES_AHEAD = 3; // neighbours on each side that are fetched before anybody asks
const AHEAD_MS = 500; // after so long a rest
const MOST_FRAMES = 400;
const MANY_STEPS = 200;
const MOST_BUILT = 24; // frames that stay built, so that going back and forth is quick, among steps and values of knobs
const LINES_TOGETHER = 16; // lines that are laid out and painted together, when they come into sight
// So many lines are in sight or close to it before anything scrolls: to find that out would take a layout more.
const MOST_AT_ONCE = 144;

class PayloadPane extends BenchPane {
  static key = "payload";
  static title = "Payload";
  static area = "middle";
  static shows = ["payload"];
  static items = ".l[data-op], summary";

  constructor(bench) {
    super(bench);
    this.frames = new Map(); // "step|whole" → fragment, or the promise of it; of one trace
    this.built = new Map(); // fragment, of any trace → its element with its index; the one that was shown last at the end
    this.whole = make("input", { type: "checkbox", onchange: () => bench.do({ do: "set_whole", whole: this.whole.checked }) });
    this.against = null; // the other end of a diff, if it is not the step before
    this.hold = make("button", { type: "button", onclick: () => this.toggleHold() });
    this.bar = make("div", { class: "lhw-bar" }, this.hold, make("label", {}, this.whole, " whole text"));
    this.node.prepend(this.bar);
    // Sticky line numbers cost a layer each: only while the pane is scrolled sideways.
    this.body.addEventListener("scroll", () => this.body.classList.toggle("lhw-aside", this.body.scrollLeft > 0), { passive: true });
  }

  async update() {
    const part = this.bench.part("payload");
    if (part.key !== this.traceKey || part.html !== this.part.html || part.step !== this.part.step) {
      this.against = null; // its steps are others
      this.frames.clear();
      this.traceKey = part.key;
      this.part = part;
      this.frames.set(this.nameOf(part.step, part.whole), part.html);
    }
    await this.render();
  }

  // Hold a step as one end: the other one is the step that is walked to, and both are shown side by side.
  toggleHold() {
    this.against = this.against === null ? this.bench.step : null;
    this.render();
  }

  nameOf(step, whole) {
    return this.against === null ? `${step}|${whole}` : `${step}|against ${this.against}`;
  }

  // Who walks to a step walks on: its neighbours are fetched; a knob that moves says nothing of the kind.
  async showStep() {
    const isOther = this.bench.step !== this.walkedTo;
    this.walkedTo = this.bench.step;
    if (isOther && this.bench.steps.length > MANY_STEPS) await painted(); // what is selected comes first, and hands walk on
    await this.render();
    if (isOther) this.ahead();
  }

  async render() {
    const { step, whole } = this.bench;
    const name = this.nameOf(step, whole);
    this.whole.checked = whole;
    this.whole.disabled = this.against !== null;
    const held = this.against === null ? "⇄ compare from here" : `✕ against ${this.against < 0 ? "the payload as given" : `step ${this.against}`}`;
    say(this.hold, held);
    this.hold.title = this.against === null ? "hold this step, and compare others with it, side by side" : "compare with the step before again";
    this.wanted = name;
    const { part } = this;
    // Where another trace came meanwhile there is no answer, and its own frame is on its way.
    const html = await Promise.resolve(this.fetched(step, whole)).then(unpacked).catch(() => null);
    if (html === null || name !== this.wanted || part !== this.part) return;
    let found = this.built.get(html);
    if (!found) {
      const node = make("div", { class: "lhw-frame" });
      node.append(inGroups(fragmentOf(html)));
      found = { node, index: indexed(node) };
    }
    this.built.delete(html);
    this.built.set(html, found);
    if (this.built.size > MOST_BUILT) this.built.delete(this.built.keys().next().value);
    if (this.frame !== found.node) {
      const hadFocus = this.frame.contains(this.frame.getRootNode().activeElement);
      // What the reader has unfolded stays open with another value of a knob.
      if (this.frame.dataset.frame === name) sameFolds(this.frame, found.node);
      this.frame.replaceWith(found.node);
      this.frame = found.node;
      this.roving.stop(this.frame.querySelector(".l:is(.a, .x, .m)[data-op]")); // what the step did first
      this.roving.tidy();
      if (hadFocus) this.roving.now?.focus();
    }
    if (this.frame.dataset.frame !== name) this.frame.dataset.frame = name;
    this.index = found.index;
    this.bench.lightSoon();
  }

  showSelection() {
    const { selection } = this.bench;
    const op = selection?.kind === "op" ? String(selection.id) : "";
    if (op !== this.selected) this.sought = this.selected = op;
    if (this.sought) requestAnimationFrame(() => this.bringIntoSight());
  }

  // What was selected elsewhere comes into sight once, when the step is shown that it was selected at.
  bringIntoSight() {
    if (!this.sought || this.frame.dataset.frame !== this.nameOf(this.bench.step, this.bench.whole)) return;
    const line = this.frame.querySelector(`.l[data-op~="${CSS.escape(this.sought)}"]`);
    if (!line) return;
    this.sought = "";
    const fold = line.closest("details");
    if (fold) fold.open = true;
    const [row, body] = [line, this.body].map((each) => each.getBoundingClientRect());
    if (row.top < body.top || row.bottom > body.bottom) this.body.scrollTop += row.top - body.top - body.height / 3; // nothing around the pane scrolls
  }

  // The fragment of a step, from here or from the kernel.
  fetched(step, whole) {
    const name = this.nameOf(step, whole);
    if (!this.frames.has(name)) {
      const key = this.traceKey;
      const asked = this.bench.ask({ ask: "frame", key, step, whole, ...(this.against === null ? {} : { against: this.against }) }).then((html) => {
        if (key === this.traceKey) this.frames.set(name, html);
        return html;
      });
      asked.catch(() => this.frames.delete(name));
      this.frames.set(name, asked);
      if (this.frames.size > MOST_FRAMES) this.frames.delete(this.frames.keys().next().value);
    }
    return this.frames.get(name);
  }

  // Prefetch the next frames.
  ahead() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      if (!this.bench.isIdle) return this.ahead();
      const { step, whole, steps } = this.bench;
      const at = steps.findIndex((each) => each.index === step);
      for (let by = 1; by <= FRAMES_AHEAD; by++) {
        for (const near of [steps[at + by], steps[at - by]]) {
          if (near && step === this.bench.step) await Promise.resolve(this.fetched(near.index, whole)).catch(() => null);
        }
      }
    }, AHEAD_MS);
  }
}

function sameFolds(from, to) {
  const [olds, folds] = [from, to].map((frame) => frame.querySelectorAll("details"));
  if (olds.length === folds.length) folds.forEach((fold, i) => (fold.open = olds[i].open));
}

// Put lines that follow one another into groups of known size: those out of sight then need no layout and no paint.
function inGroups(fragment) {
  const lines = [...(fragment.querySelector(".lh-ir:not(.lh-sides) > div")?.children ?? [])];
  let group = null;
  for (const line of lines.slice(MOST_AT_ONCE)) {
    if (!line.matches(".l")) group = null;
    else {
      if (!group || group.children.length >= LINES_TOGETHER) {
        group = make("div", { class: "lhw-lines" });
        line.before(group);
      }
      group.append(line);
    }
  }
  for (const each of fragment.querySelectorAll(".lhw-lines")) {
    const widest = Math.max(...Array.from(each.children, (line) => line.textContent.length));
    each.style.cssText = `--lines: ${each.children.length}; --columns: ${widest}`;
  }
  return fragment;
}

PANES.push(PayloadPane);
