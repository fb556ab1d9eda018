// The workbench's frame: where panes stand, commands to Python and answers from it, the step and the selection that
// all panes show. Nothing of the domain is here; parts of the screen are made in Python (lhkit/workbench).

const NARROW_PX = 900;
const BUSY_MS = 200; // before that nobody has begun to wait
const RUNS = {
  run: ["▶ run", "run: compile it, run it, and hold its numbers against the reference"],
  measure: ["◷ measure", "measure: time it beside NumPy and the payload without a schedule"],
  sweep: ["≋ sweep", "sweep: try all values of the knobs"],
};

// Commands go one after the other; of those that replace one another only the newest that waits is sent.
class Channel {
  constructor(model, id, busy) {
    this.model = model;
    this.id = id;
    this.busy = busy;
    this.count = 0;
    this.waiting = new Map(); // what was sent and is not answered
    this.queue = [];
    this.hear = (message) => this.answered(message);
    model.on("msg:custom", this.hear);
  }

  stop() {
    this.model.off("msg:custom", this.hear);
  }

  send(content) {
    const id = `${this.id}-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.model.send({ ...content, id });
    });
  }

  answered({ done, reply, value, error }) {
    const id = done ?? reply;
    const found = this.waiting.get(id);
    if (!found) return;
    this.waiting.delete(id);
    if (error) found.reject(new Error(error));
    else found.resolve(value);
  }

  ask(question) {
    return this.send(question);
  }

  do(command, replaces = null) {
    if (replaces) {
      const old = this.queue.find((each) => each.replaces === replaces);
      if (old) {
        old.command = command;
        return old.promise;
      }
    }
    const entry = { command, replaces };
    entry.promise = new Promise((resolve) => (entry.resolve = resolve));
    this.queue.push(entry);
    this.next();
    return entry.promise;
  }

  async next() {
    if (this.isSending || !this.queue.length) return;
    this.isSending = true;
    const entry = this.queue.shift();
    const timer = setTimeout(() => this.busy(entry.command), BUSY_MS);
    await this.send(entry.command).catch(() => null);
    clearTimeout(timer);
    this.isSending = false;
    if (!this.queue.length) this.busy(null);
    entry.resolve();
    this.next();
  }
}

class Workbench {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    this.id = `v${Math.random().toString(36).slice(2, 10)}`;
    this.lit = [];
    this.removers = [];
    this.lookup = { names: {}, ends: {}, held: {} };
    this.channel = new Channel(model, this.id, (command) => this.busy(command));
    this.takeScreen();
    this.panes = PANES.map((Pane) => new Pane(this));
    this.build();
    this.listen();
  }

  part(name) {
    return this.model.get(`part_${name}`);
  }

  idOf(name) {
    return `${this.id}-${name}`;
  }

  do(command) {
    return this.channel.do(command);
  }

  latest(command) {
    return this.channel.do(command, command.do);
  }

  ask(question) {
    return this.channel.ask(question);
  }

  // The frame.

  build() {
    const { el } = this;
    const styles = el.querySelectorAll(":scope > style"); // they came with the static picture
    el.classList.add("lh", "lh-view", "lh-live", "lhw");
    keepKeys(el);
    el.setAttribute("role", "application");
    el.setAttribute("aria-label", "lhkit workbench");
    this.areas = new Map(AREAS.map((area) => [area, make("section", { class: "lhw-area", "data-area": area })]));
    this.narrow = make("section", { class: "lhw-area", "data-area": "narrow" });
    this.notice = make("div", { class: "lhw-notice", role: "status", "aria-live": "polite" });
    this.main = make("div", { class: "lhw-main-grid" });
    el.replaceChildren(...styles, this.top(), this.runs(), this.notice, this.main);
    this.sizes = new ResizeObserver(() => this.arrange());
    this.sizes.observe(el);
    this.arrange();
  }

  top() {
    const button = (name, label, title, act) => (this[name] = make("button", { type: "button", title, "aria-label": title, onclick: act }, label));
    this.names = make("span", { class: "lhw-names" });
    this.outcome = make("span", { class: "lhw-outcome", role: "status" });
    this.working = make("span", { class: "lhw-working", role: "status", hidden: true }, "working …");
    this.slider = new Slider(1, "step", (at) => this.goTo(this.steps[at].index));
    this.slider.node.classList.add("lhw-walk");
    this.said = make("output", { class: "lh-said" });
    this.chosen = make("output", { class: "lh-chosen" });
    this.marks = make("select", { title: "checkpoints", "aria-label": "go back to a checkpoint", onchange: () => this.restore() });
    this.what = make("button", { type: "button", class: "lhw-what", hidden: true, onclick: () => this.tryHandle() }, "what can I do with this?");
    this.walk = make("div", { class: "lhw-walking", role: "toolbar", "aria-label": "steps" }, this.slider.node, this.said, this.chosen, this.what);
    this.exports = make("select", { title: "export", "aria-label": "export", onchange: () => this.export() });
    this.tools = make(
      "div", { class: "lhw-tools-bar", role: "toolbar", "aria-label": "schedule" },
      ...["run", "measure", "sweep"].map((kind) => button(kind, RUNS[kind][0], RUNS[kind][1], () => this.begin(kind))),
      button("undo", "↶", "nothing to undo", () => this.do({ do: "undo" })),
      button("redo", "↷", "nothing to redo", () => this.do({ do: "redo" })),
      button("flag", "⚑", "set a checkpoint", () => this.do({ do: "checkpoint" })),
      this.marks,
      this.exports,
      button("large", "A", "large type", () => this.do({ do: "set_large", large: !this.part("screen").large })),
    );
    return make("header", { class: "lhw-top" }, this.names, this.outcome, this.working, this.tools, this.walk);
  }

  // What runs, and the button that ends it.
  runs() {
    this.bar = make("progress", { "aria-label": "progress" });
    this.ran = make("span", { class: "lh-said" });
    // Not through the queue: a command that takes long must not keep it waiting.
    this.halt = make("button", { type: "button", onclick: () => this.channel.send({ do: "stop_run" }) }, "■ stop");
    this.runLine = make("div", { class: "lhw-run-line", role: "status", hidden: true }, this.bar, this.ran, this.halt);
    return this.runLine;
  }

  begin(kind) {
    this.reveal("results");
    this.do({ do: kind });
  }

  showRun() {
    const { kind, said, done, total } = this.part("run");
    const wasHalt = document.activeElement === this.halt;
    this.runLine.hidden = !kind;
    for (const name of Object.keys(RUNS)) this[name].disabled = Boolean(kind);
    if (!kind) {
      if (wasHalt) this.run.focus();
      return;
    }
    if (total) {
      this.bar.max = total;
      this.bar.value = done;
    } else this.bar.removeAttribute("value");
    this.ran.textContent = `${kind}${total ? ` ${done} of ${total}` : ""}: ${said}`;
  }

  tryHandle() {
    if (this.selection?.kind !== "handle") return;
    this.reveal("tried");
    this.do({ do: "try_handle", handle: String(this.selection.id).split(" ")[0] });
  }

  async export() {
    const kind = this.exports.value;
    this.exports.value = "";
    if (!kind) return;
    this.busy({ do: "export" });
    try {
      const { name, media, base64 } = await this.ask({ ask: "export", kind });
      const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
      const url = URL.createObjectURL(new Blob([bytes], { type: media }));
      make("a", { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      this.say(error.message);
    }
    this.busy(null);
  }

  restore() {
    const name = this.marks.value;
    this.marks.value = "";
    if (name) this.do({ do: "restore", name });
  }

  // Put the panes into the areas of a wide screen, or all into one.
  arrange() {
    const width = this.el.clientWidth;
    if (!width && this.isNarrow !== undefined) return;
    const isNarrow = width > 0 && width < NARROW_PX;
    if (isNarrow === this.isNarrow) return;
    this.isNarrow = isNarrow;
    this.el.classList.toggle("lhw-narrow", isNarrow);
    const shown = isNarrow ? [this.narrow] : [...this.areas.values()];
    this.main.replaceChildren(...shown);
    this.tabs();
    this.updateFront();
  }

  areaOf(pane) {
    return this.isNarrow ? "narrow" : pane.constructor.area;
  }

  isInFront(pane) {
    return this.front[this.areaOf(pane)] === pane.constructor.key;
  }

  // Give every area its tabs and panes; which is in front is marked apart, so that a tab in hand keeps the focus.
  tabs() {
    const groups = this.isNarrow ? new Map([["narrow", this.narrow]]) : this.areas;
    for (const [area, node] of groups) {
      const panes = this.panes.filter((pane) => this.areaOf(pane) === area);
      if (!panes.some((pane) => this.isInFront(pane))) this.front = { ...this.front, [area]: panes[0]?.constructor.key };
      for (const pane of panes) pane.tab = this.tab(area, pane);
      const list = make("div", { class: "lhw-tabs", role: "tablist", "aria-label": area }, ...panes.map((pane) => pane.tab));
      node.replaceChildren(list, ...panes.map((pane) => pane.node));
    }
    this.markFront();
  }

  tab(area, pane) {
    const { key, title } = pane.constructor;
    pane.tabSaid = make("span", { class: "lhw-badge" }, pane.badge());
    const known = { type: "button", role: "tab", class: "lhw-tab", "aria-controls": this.idOf(key), "data-tab": key };
    return make("button", { ...known, onclick: () => this.open(area, key) }, title, pane.tabSaid);
  }

  markFront() {
    for (const pane of this.panes) {
      const isFront = this.isInFront(pane);
      pane.node.hidden = !isFront;
      pane.tab?.setAttribute("aria-selected", String(isFront));
      pane.tab?.setAttribute("tabindex", isFront ? 0 : -1);
    }
  }

  open(area, key) {
    this.front = { ...this.front, [area]: key };
    this.markFront();
    this.updateFront();
    this.do({ do: "open", area, pane: key, by: this.id });
  }

  // Bring a pane to the front, wherever it stands.
  reveal(key) {
    const pane = this.panes.find((each) => each.constructor.key === key);
    if (pane && !this.isInFront(pane)) this.open(this.areaOf(pane), key);
    return pane;
  }

  updateFront() {
    if (!this.isStarted) return;
    for (const pane of this.panes) if (this.isInFront(pane)) pane.update();
  }

  // What comes from Python.

  listen() {
    const { el, model } = this;
    const on = (target, name, handler) => {
      target.addEventListener(name, handler);
      this.removers.push(() => target.removeEventListener(name, handler));
    };
    on(el, "click", (event) => this.click(event));
    on(el, "keydown", (event) => this.key(event));
    const follow = (name, act) => {
      const event = `change:part_${name}`;
      model.on(event, act);
      this.removers.push(() => model.off(event, act));
    };
    follow("head", () => this.showHead());
    follow("notice", () => this.showNotice());
    follow("run", () => this.showRun());
    follow("trace", () => this.takeTrace());
    follow("screen", () => this.followScreen());
    for (const pane of this.panes) {
      for (const name of pane.constructor.shows) {
        follow(name, () => {
          this.followScreen(); // a new trace may have other steps
          if (pane.tabSaid) pane.tabSaid.textContent = pane.badge();
          if (this.isInFront(pane)) pane.update();
        });
      }
    }
  }

  async start() {
    this.showHead();
    this.showNotice();
    this.showRun();
    await this.takeTrace();
    this.isStarted = true;
    await Promise.all(this.panes.filter((pane) => this.isInFront(pane)).map((pane) => pane.update()));
    this.showStep();
  }

  stop() {
    this.sizes.disconnect();
    this.channel.stop();
    for (const remove of this.removers) remove();
  }

  takeScreen() {
    const screen = (this.seenScreen = this.part("screen"));
    this.step = screen.step;
    this.selection = screen.selection;
    this.front = { ...screen.front };
    this.whole = screen.whole;
    this.el.classList.toggle("lhw-large", screen.large);
  }

  // What this view asked for itself is on the screen already, and what it asked for since may be newer.
  followScreen() {
    const screen = this.part("screen");
    if (screen === this.seenScreen) return;
    this.seenScreen = screen;
    if (screen.by === this.id) return;
    this.takeScreen();
    this.markFront();
    this.large.setAttribute("aria-pressed", String(screen.large));
    this.updateFront();
    this.showStep();
  }

  async takeTrace() {
    const part = this.part("trace");
    const lookup = JSON.parse(await unpacked(part.lookup));
    if (part !== this.part("trace")) return;
    this.lookup = lookup;
    this.steps = part.steps;
    this.showStep();
  }

  showHead() {
    const head = this.part("head");
    this.names.textContent = `${head.schedule} on ${head.payload}`;
    this.outcome.textContent = head.stale || head.outcome;
    this.outcome.dataset.status = head.stale ? "stale" : head.status;
    this.el.classList.toggle("lhw-stale", Boolean(head.stale));
    for (const name of ["undo", "redo"]) {
      const title = head[name] ? `${name}: ${head[name]}` : `nothing to ${name}`;
      this[name].disabled = !head[name];
      this[name].title = title;
      this[name].setAttribute("aria-label", title);
    }
    const options = head.checkpoints.map((name) => make("option", { value: name }, name));
    this.marks.replaceChildren(make("option", { value: "" }, "go back to …"), ...options);
    this.marks.hidden = !head.checkpoints.length;
    if (!this.exports.length) {
      const kinds = head.exports.map(([kind, title]) => make("option", { value: kind }, title));
      this.exports.replaceChildren(make("option", { value: "" }, "export …"), ...kinds);
    }
  }

  showNotice() {
    const notice = this.part("notice");
    const close = make("button", { type: "button", class: "lhw-close", "aria-label": "close", onclick: () => this.notice.replaceChildren() }, "✕");
    if (!notice) return this.notice.replaceChildren();
    const actions = notice.actions.map(({ label, command }) => make("button", { type: "button", "data-do": JSON.stringify(command) }, label));
    this.notice.dataset.kind = notice.kind;
    this.notice.replaceChildren(make("span", {}, `${notice.message} ${notice.advice}`.trim()), ...actions, close);
  }

  // Say something that Python did not make a notice of.
  say(message) {
    this.notice.dataset.kind = "refused";
    this.notice.replaceChildren(make("span", {}, message));
  }

  // Nothing was asked for and is not answered yet.
  get isIdle() {
    return !this.channel.waiting.size && !this.channel.queue.length;
  }

  busy(command) {
    this.working.hidden = !command;
  }

  // The step and the selection.

  goTo(step) {
    this.share(this.selection, step);
  }

  share(selection, step) {
    this.apply(selection, step);
    this.latest({ do: "select", step, kind: selection?.kind ?? "", ids: selection ? String(selection.id) : "", by: this.id });
  }

  apply(selection, step) {
    this.selection = selection ?? null;
    const isOther = step !== this.step;
    this.step = step;
    if (isOther) this.showStep();
    else this.light();
  }

  showStep() {
    if (!this.steps) return;
    const at = Math.max(0, this.steps.findIndex((each) => each.index === this.step));
    const entry = this.steps[at];
    this.slider.count = this.steps.length;
    if (entry) {
      this.slider.set(at, entry.label);
      this.said.textContent = entry.label;
      this.said.dataset.status = entry.status;
    }
    this.light();
    if (this.isStarted) for (const pane of this.panes) if (this.isInFront(pane)) pane.showStep();
  }

  // Several panes that are new at once are lit at once.
  lightSoon() {
    if (this.isLightDue) return;
    this.isLightDue = true;
    queueMicrotask(() => {
      this.isLightDue = false;
      this.light();
    });
  }

  light() {
    const shown = this.panes.filter((pane) => this.isInFront(pane));
    const keys = keysOf(this.lookup, this.step, this.selection);
    this.lit = relight(this.lit, shown.map((pane) => pane.index), this.step, keys);
    this.chosen.textContent = inWords(this.lookup, this.selection);
    this.what.hidden = this.selection?.kind !== "handle";
  }

  select(node) {
    const { selection, step } = meaning(node);
    const known = step !== null && this.steps.some((each) => each.index === step);
    this.share(selection, known ? step : this.step);
  }

  // What a reader does.

  click(event) {
    const { target } = event;
    const command = target.closest?.("[data-do]");
    if (command && this.el.contains(command)) return this.do(JSON.parse(command.dataset.do));
    if (String(window.getSelection())) return; // text was marked, to be copied
    const handle = target.closest?.("[data-handle],[data-op]");
    if (handle && this.el.contains(handle)) return this.select(handle);
    const link = target.closest?.("[data-goto]");
    if (link && this.el.contains(link)) return this.goTo(Number(link.dataset.goto));
    const node = target.closest?.(MARKED);
    if (node && this.el.contains(node) && !target.closest("input, select, button, label, summary")) this.select(node);
  }

  key(event) {
    const { target, key } = event;
    const isText = target.matches("textarea, select, [contenteditable], input:not([type=range]):not([type=checkbox])");
    const isForm = isText || target.matches("input");
    const pane = this.panes.find((each) => each.node.contains(target));
    const isCommand = event.ctrlKey || event.metaKey;
    let isDone = true;
    if (!isText && pane?.key(event)) isDone = true;
    else if (isCommand && key.toLowerCase() === "z" && !isText) this.do({ do: event.shiftKey ? "redo" : "undo" });
    else if (isCommand && key.toLowerCase() === "y" && !isText) this.do({ do: "redo" });
    else if (event.altKey || isCommand) isDone = false;
    else if (key === "Escape") this.share(null, this.step);
    else if (target.matches("[role=tab]") && (key === "ArrowLeft" || key === "ArrowRight")) this.nextTab(target, key === "ArrowLeft" ? -1 : 1);
    else if ((key === "Enter" || key === " ") && target.matches(MARKED) && !target.matches("button, summary, input")) this.select(target);
    else if (key === "ArrowLeft" && !isForm) this.slider.move(-1)();
    else if (key === "ArrowRight" && !isForm) this.slider.move(1)();
    else isDone = false;
    if (!isDone) return;
    event.preventDefault();
    event.stopPropagation();
  }

  nextTab(tab, by) {
    const tabs = [...tab.parentNode.children];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    const area = tab.closest("[data-area]").dataset.area;
    this.open(area, next.dataset.tab);
    next.focus();
  }
}

async function render({ model, el }) {
  const bench = new Workbench(model, el);
  await bench.start();
  return () => bench.stop();
}

function initialize({ model }) {
  return takeOver(model.get("view_id"), (el) => render({ model, el }));
}

export default { initialize, render };
