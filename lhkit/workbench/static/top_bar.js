// The bar at the top: what is shown and how it ended, buttons for the whole schedule, the step and the selection.

const RUNS = {
  run: ["▶ run", "run: compile it, run it, and hold its numbers against the reference"],
  measure: ["◷ measure", "measure: time it beside NumPy and the payload without a schedule"],
  propose: ["✦ propose", "propose: a first schedule for this payload, verified"],
  sweep: ["≋ sweep", "sweep: try all values of the knobs"],
};
const FULL_MARK = '<svg viewBox="0 0 12 12" width="1em" height="1em" aria-hidden="true"><path d="M1 4V1h3M8 1h3v3M11 8v3H8M4 11H1V8" fill="none" stroke="currentColor" stroke-width="1.6"/></svg>';

// A button that does nothing for now keeps the focus, which `disabled` would take from it.
function disable(button, isDisabled) {
  button.setAttribute("aria-disabled", String(isDisabled));
}

class TopBar {
  constructor(bench) {
    this.bench = bench;
    this.back = make("button", { type: "button", class: "lhw-what", hidden: true, "data-do": JSON.stringify({ do: "show_whole" }) }, "← whole model");
    this.names = make("span", { class: "lhw-names" });
    this.outcome = make("span", { class: "lhw-outcome", role: "status" });
    this.working = make("span", { class: "lhw-working", role: "status", hidden: true });
    this.working.append("working … ", make("button", { type: "button", onclick: () => bench.channel.send({ do: "stop" }) }, "■ stop"));
    this.node = make("header", { class: "lhw-top" }, this.back, this.names, this.outcome, this.tools(), this.walk());
  }

  tools() {
    const { bench } = this;
    const button = (name, label, title, act) => (this[name] = make("button", { type: "button", title, "aria-label": title, onclick: () => this[name].ariaDisabled !== "true" && act() }, label));
    this.marks = make("select", { title: "checkpoints", "aria-label": "go back to a checkpoint", onchange: () => this.restore() });
    this.exports = make("select", { title: "export", "aria-label": "export", onchange: () => this.export() });
    return make(
      "div", { class: "lhw-tools-bar", role: "toolbar", "aria-label": "schedule" },
      ...Object.keys(RUNS).map((kind) => button(kind, RUNS[kind][0], RUNS[kind][1], () => this.begin(kind))),
      button("undo", "↶", "nothing to undo", () => bench.do({ do: "undo" })),
      button("redo", "↷", "nothing to redo", () => bench.do({ do: "redo" })),
      button("flag", "⚑", "set a checkpoint", () => bench.do({ do: "checkpoint" })),
      this.marks,
      this.exports,
      button("keys", "?", "keys (?)", () => bench.keys.show()),
      button("large", "A", "large type", () => bench.do({ do: "set_large", large: !bench.part("screen").large })),
      (this.layouts = make("select", { title: "layout", "aria-label": "layout", onchange: () => this.arrange() })),
      ...(document.fullscreenEnabled ? [button("full", fragmentOf(FULL_MARK), "full screen", () => this.fillScreen())] : []),
    );
  }

  // What can be done with the layout: presets, and panes that were closed.
  showLayout() {
    const { layout } = this.bench.areas;
    const option = (value, words) => make("option", { value }, words);
    const closed = this.bench.panes.filter((pane) => pane.isOffered && layout.closed.includes(pane.constructor.key));
    this.layouts.replaceChildren(
      option("", "layout …"),
      ...Object.entries(PRESETS).map(([name, { title }]) => option(`use ${name}`, `${name === layout.preset ? "✓ " : ""}${title}`)),
      ...closed.map(({ constructor: { key, title } }) => option(`open ${key}`, `open ${title}`)),
    );
  }

  arrange() {
    const [act, name] = this.layouts.value.split(" ");
    this.layouts.value = "";
    if (act === "use") this.bench.areas.use(name);
    else if (act === "open") this.bench.areas.reveal(name);
  }

  fillScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.bench.el.requestFullscreen().catch((error) => this.bench.say(`full screen is refused here: ${error.message}`));
  }

  // The step that is shown, and the selection.
  walk() {
    this.slider = new Slider(1, "step", (at) => this.bench.goTo(this.bench.steps[at].index));
    this.slider.node.classList.add("lhw-walk");
    this.said = make("output", { class: "lh-said" });
    this.chosen = make("output", { class: "lh-chosen" });
    this.what = make("button", { type: "button", class: "lhw-what", hidden: true, onclick: () => this.tryHandle() }, "what can I do with this?");
    const known = { class: "lhw-walking", role: "toolbar", "aria-label": "steps" };
    return make("div", known, this.slider.node, this.said, this.chosen, this.what, this.working); // in a line that has room
  }

  // Another part of a model is shown, or the whole again: the focus goes where the way back is.
  showPart(part) {
    const { el } = this.bench;
    const before = this.shownPart;
    this.shownPart = part;
    const hadFocus = el.contains(document.activeElement); // what is hidden loses it
    this.back.hidden = !part;
    if (before === undefined || before === part || !hadFocus) return;
    if (part) this.back.focus();
    else requestAnimationFrame(() => el.querySelector(`[data-part="${CSS.escape(before)}"]`)?.focus());
  }

  showHead() {
    const head = this.bench.part("head");
    this.showPart(head.part);
    this.names.textContent = `${head.schedule} on ${head.payload}`;
    this.outcome.textContent = head.stale || head.outcome;
    this.outcome.dataset.status = head.stale ? "stale" : head.status;
    this.bench.el.classList.toggle("lhw-stale", Boolean(head.stale));
    for (const name of ["undo", "redo"]) {
      const title = head[name] ? `${name}: ${head[name]}` : `nothing to ${name}`;
      disable(this[name], !head[name]);
      this[name].title = title;
      this[name].setAttribute("aria-label", title);
    }
    const options = head.checkpoints.map((name) => make("option", { value: name }, name));
    this.marks.replaceChildren(make("option", { value: "" }, "go back to …"), ...options);
    this.propose.textContent = head.empty ? RUNS.propose[0] : "✦"; // a mark alone where the schedule has steps: there is less room
    this.marks.hidden = !head.checkpoints.length;
    if (!this.exports.length) {
      const kinds = head.exports.map(([kind, title]) => make("option", { value: kind }, title));
      this.exports.replaceChildren(make("option", { value: "" }, "export …"), ...kinds);
    }
  }

  showStep(steps, step) {
    const at = Math.max(0, steps.findIndex((each) => each.index === step));
    this.slider.count = steps.length;
    if (!steps[at]) return;
    this.slider.set(at, steps[at].label);
    say(this.said, steps[at].label);
    this.said.dataset.status = steps[at].status;
  }

  showSelection(selection) {
    const line = selection?.kind === "op" && this.bench.payloadLine(selection.id);
    say(this.chosen, line ? `selected: ${line}` : inWords(this.bench.lookup, selection));
    this.what.hidden = selection?.kind !== "handle";
  }

  // While something runs nothing else can be begun.
  showRun(kind) {
    for (const name of Object.keys(RUNS)) disable(this[name], Boolean(kind));
  }

  showLarge(isLarge) {
    this.large.setAttribute("aria-pressed", String(isLarge));
  }

  busy(isBusy) {
    this.working.hidden = !isBusy;
  }

  begin(kind) {
    this.bench.areas.reveal("results");
    this.bench.do({ do: kind });
  }

  tryHandle() {
    const { selection } = this.bench;
    if (selection?.kind !== "handle") return;
    this.bench.areas.reveal("guide");
    this.bench.panes.find((pane) => pane instanceof GuidePane).open("tried");
    this.bench.do({ do: "try_handle", handle: String(selection.id).split(" ")[0] });
  }

  async export() {
    const kind = this.exports.value;
    this.exports.value = "";
    if (!kind) return;
    this.busy(true);
    this.bench.tellSelection();
    try {
      const { name, media, base64 } = await this.bench.ask({ ask: "export", kind });
      const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
      const url = URL.createObjectURL(new Blob([bytes], { type: media }));
      make("a", { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      this.bench.say(`${name} is among the browser's downloads`, "done");
    } catch (error) {
      this.bench.say(error.message);
    }
    this.busy(false);
  }

  restore() {
    const name = this.marks.value;
    this.marks.value = "";
    if (name) this.bench.do({ do: "restore", name });
  }
}
