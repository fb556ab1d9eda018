// The workbench: the parts of the screen as they come from Python (lhkit/workbench), the step and the selection that
// all panes show, and what a reader's clicks and keys mean. Nothing of the domain is here.

const REST_MS = 120; // Python hears what was selected when the hand rests for so long, or before anything else is done
// Parts that follow a trace.
const GHOSTS = new Set(["payload", "timeline", "tiles", "schedule_graph"]);
// Of these, what is drawn behind the frame that has the payload and the steps: a hand at a knob looks at those.
const LATER = new Set(["timeline", "tiles", "schedule_graph"]);
// What needs the kernel.
const EDITING = ".lhw-tools-bar, .lhw-knob, .lhw-tools, .lhw-foot, .lhw-adding, .lhw-run-line button, form, [data-do], :is([data-pane=text], [data-pane=tiles]) .lhw-bar";

class Workbench {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    this.id = `v${Math.random().toString(36).slice(2, 10)}`;
    this.lit = [];
    this.removers = [];
    this.lookup = { names: {}, ends: {}, held: {} };
    this.lookups = new WeakMap(); // part of a trace → its lookup
    this.late = new Set(); // panes that are drawn when this frame is painted
    this.seen = new SeenValues(this);
    this.channel = new Channel(model, this.id, (command) => this.top.busy(Boolean(command)), (why) => this.disconnected(why));
    this.top = new TopBar(this);
    this.runLine = new RunLine(this);
    this.notice = new NoticeLine(this);
    this.banner = new TrustBanner(this);
    this.spoken = make("div", { class: "lhw-spoken", role: "status", "aria-live": "polite" });
    this.keys = new KeysHelp();
    this.lostLine = make("div", { class: "lhw-lost-line", role: "alert", hidden: true });
    this.areas = new Areas(this);
    this.panes = PANES.map((Pane) => new Pane(this));
    this.build();
    this.takeScreen();
    this.areas.start();
    this.listen();
  }

  part(name) {
    return this.seen.shown?.[name] ?? this.model.get(`part_${name}`);
  }

  // The panes of a trace show other parts, those of other knob values.
  showValues() {
    for (const pane of this.shown) if (shows(pane, PARTS_OF_VALUES)) this.renew(pane);
    this.takeTrace();
  }

  // A pane has other content; one that is drawn later is a ghost until then.
  renew(pane) {
    const isLate = shows(pane, LATER);
    pane.node.classList.toggle("lhw-ghost", isLate);
    if (!isLate) return pane.update();
    if (!this.late.size) painted().then(() => this.renewLate());
    this.late.add(pane);
  }

  renewLate() {
    const panes = [...this.late];
    this.late.clear();
    for (const pane of panes) {
      pane.node.classList.remove("lhw-ghost");
      if (this.isInFront(pane)) pane.update();
    }
  }

  idOf(name) {
    return `${this.id}-${name}`;
  }

  do(command) {
    this.tellSelection();
    return this.channel.do(command);
  }

  latest(command) {
    this.tellSelection();
    return this.channel.do(command, command.do);
  }

  ask(question) {
    return this.channel.ask(question);
  }

  // Say something that Python did not make a notice of.
  say(message, kind) {
    this.notice.say(message, kind);
  }

  // Say something to a screen reader: what is seen elsewhere.
  announce(said) {
    this.spoken.textContent = said;
  }

  // The kernel is lost, or there again (an empty text): nothing is edited meanwhile, and knobs show what the panes do.
  disconnected(why) {
    this.lostLine.textContent = why;
    this.lostLine.hidden = !why;
    for (const node of this.el.querySelectorAll(EDITING)) node.inert = Boolean(why);
    for (const text of this.el.querySelectorAll(".cm-content")) text.contentEditable = String(!why); // it can be copied
    if (why) this.panes.find((pane) => pane instanceof StepsPane).restoreKnobs();
  }

  // What panes show is of the values before; each is plain again when it shows the new ones.
  ghost(isGhost) {
    for (const pane of this.panes) pane.node.classList.toggle("lhw-ghost", this.late.has(pane) || (isGhost && shows(pane, GHOSTS)));
  }

  // Nothing was asked for and is not answered yet.
  get isIdle() {
    return !this.untold && !this.channel.asked && !this.channel.queue.length;
  }

  build() {
    const { el } = this;
    const styles = el.querySelectorAll(":scope > style"); // they came with the static picture
    el.classList.add("lh", "lh-view", "lh-live", "lhw");
    keepKeys(el);
    el.setAttribute("role", "application");
    el.setAttribute("aria-label", "lhkit workbench");
    el.replaceChildren(...styles, this.lostLine, this.top.node, this.banner.node, this.runLine.node, this.notice.node, this.areas.node, this.spoken, this.keys.node);
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
    // A page that goes to another waits for what is done before it unloads, and for nothing after that.
    for (const leaving of ["beforeunload", "pagehide"]) {
      on(window, leaving, () => {
        this.tellSelection();
        this.channel.flush();
      });
    }
    const take = (message) => message.parts && takePatches(model, message);
    model.on("msg:custom", take);
    this.removers.push(() => model.off("msg:custom", take));
    const follow = (name, act) => {
      const event = `change:part_${name}`;
      model.on(event, act);
      this.removers.push(() => model.off(event, act));
    };
    follow("head", () => this.top.showHead());
    follow("notice", () => this.notice.show());
    follow("run", () => this.runLine.show());
    follow("trust", () => this.banner.show());
    follow("trace", () => this.takeTrace());
    follow("screen", () => this.followScreen());
    for (const pane of this.panes) {
      for (const name of pane.constructor.shows) {
        follow(name, () => {
          this.followScreen(); // a new trace may have other steps
          this.areas.offer();
          if (pane.tabSaid) pane.tabSaid.textContent = pane.badge();
          if (this.isInFront(pane)) this.renew(pane);
          else pane.node.classList.remove("lhw-ghost");
        });
      }
    }
  }

  async start() {
    this.top.showHead();
    this.notice.show();
    this.runLine.show();
    this.banner.show();
    await this.takeTrace();
    this.isStarted = true;
    this.areas.tellFront();
    await Promise.all(this.shown.map((pane) => pane.update()));
    this.showStep();
  }

  stop() {
    this.tellSelection();
    this.areas.stop();
    this.channel.stop();
    for (const remove of this.removers) remove();
  }

  takeScreen() {
    const screen = (this.seenScreen = this.part("screen"));
    this.step = screen.step;
    this.selection = screen.selection;
    this.whole = screen.whole;
    this.areas.show(screen.front, screen.layout);
    this.top.showLarge(screen.large);
    this.el.classList.toggle("lhw-large", screen.large);
  }

  // The step of the screen that Python has, unless one was selected since.
  takeStep() {
    const { queue, sending } = this.channel;
    const isNewer = this.untold || [sending, ...queue.map(({ command }) => command)].some((each) => each?.do === "select");
    if (!isNewer) this.step = this.part("screen").step;
  }

  // What this view asked for itself is on the screen already, and what it asked for since may be newer.
  followScreen() {
    const screen = this.part("screen");
    if (screen === this.seenScreen) return;
    this.seenScreen = screen;
    if (screen.by === this.id) return;
    const { step, selection } = this;
    this.takeScreen();
    // What was selected since Python spoke is newer, and Python hears of it next.
    if (this.untold && this.steps.some((each) => each.index === step)) Object.assign(this, { step, selection });
    else this.untold = null;
    this.updateFront();
    this.showStep();
  }

  async takeTrace() {
    const part = this.part("trace");
    if (!this.lookups.has(part)) this.lookups.set(part, JSON.parse(await unpacked(part.lookup)));
    if (part !== this.part("trace")) return;
    this.lookup = this.lookups.get(part);
    this.steps = part.steps;
    this.showStep();
  }

  // What a payload op is called, and where the payload on screen has it; nothing where it does not.
  payloadLine(op) {
    const line = this.panes.find((pane) => pane instanceof PayloadPane).index.get(`op:${op}`)?.find((node) => node.dataset.op?.split(" ")[0] === String(op));
    const name = line?.querySelector(".o")?.textContent;
    return name && `${name}, line ${line.dataset.n}`;
  }

  isInFront(pane) {
    return this.areas.isInFront(pane);
  }

  get shown() {
    return this.panes.filter((pane) => this.isInFront(pane));
  }

  updateFront() {
    if (this.isStarted) for (const pane of this.shown) pane.update();
  }

  // The step and the selection.

  goTo(step) {
    this.share(this.selection, step);
  }

  share(selection, step) {
    if (step !== this.step) this.seen.selections += 1;
    this.apply(selection, step);
    // Ops that were selected one after another are the two of a question.
    if (this.untold?.kind === "op" && this.untold.ids !== String(selection?.id)) this.tellSelection();
    this.untold = { do: "select", step, kind: selection?.kind ?? "", ids: selection ? String(selection.id) : "", by: this.id };
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.tellSelection(), REST_MS);
  }

  // The screen shows it already; Python keeps it for other views, a page that is loaded again, and what is saved.
  tellSelection() {
    clearTimeout(this.resting);
    const command = this.untold;
    this.untold = null;
    if (command) this.channel.do(command, command.do);
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
    this.top.showStep(this.steps, this.step);
    this.light();
    if (this.isStarted) for (const pane of this.shown) pane.showStep();
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
    const keys = keysOf(this.lookup, this.step, this.selection);
    this.lit = relight(this.lit, this.shown.map((pane) => pane.index), this.step, keys);
    this.top.showSelection(this.selection);
    for (const pane of this.shown) pane.showSelection();
  }

  select(node) {
    const { op, made } = node.dataset;
    // What was made of an op selects it, and goes where that op is: to the step that made it, unless it is there already.
    if (op && made) return this.share({ kind: "op", id: op.split(" ")[0] }, Math.max(this.step, Number(made)));
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
    if (!isText && (pane?.key(event) || pane?.roving?.key(event))) isDone = true;
    else if (isCommand && key.toLowerCase() === "z" && !isText) this.do({ do: event.shiftKey ? "redo" : "undo" });
    else if (isCommand && key.toLowerCase() === "y" && !isText) this.do({ do: "redo" });
    else if (event.altKey || isCommand) isDone = false;
    else if (key === "Escape") this.share(null, this.step);
    else if (key === "?" && !isText) this.keys.show();
    else if (key === "t" && !isForm && this.selection?.kind === "handle") this.top.tryHandle();
    else if (target.matches("[role=tab]") && (key === "ArrowLeft" || key === "ArrowRight")) this.areas.nextTab(target, key === "ArrowLeft" ? -1 : 1);
    else if ((key === "Enter" || key === " ") && target.matches(MARKED) && !target.matches("button, summary, input")) this.select(target);
    else if (key === "ArrowLeft" && !isForm) this.top.slider.move(-1)();
    else if (key === "ArrowRight" && !isForm) this.top.slider.move(1)();
    else isDone = false;
    if (!isDone) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function shows(pane, names) {
  return pane.constructor.shows.some((name) => names.has(name));
}

async function render({ model, el }) {
  const bench = new Workbench(model, el);
  model.send({ do: "join", by: bench.id, revision: model.get("revision") });
  await bench.start();
  return () => {
    bench.stop();
    try {
      model.send({ do: "leave", by: bench.id });
    } catch {
      // The kernel is gone.
    }
  };
}

// A notebook that shows its picture anew, as after a proposal, gets the workbench that was there before: scrolled as it
// was, and with the focus, which an element loses where it is taken out.
function initialize({ model }) {
  const shown = new Map(); // elements, with where they were scrolled to, and what has the focus
  return takeOver(model.get("view_id"), (el) => {
    const [old, was] = [...shown].find(([each]) => !each.isConnected) ?? [];
    if (!old) {
      shown.set(el, remembered(el));
      return render({ model, el });
    }
    el.replaceWith(old);
    for (const [node, [left, top]] of was.scrolled) node.scrollTo(left, top);
    was.focused?.focus({ preventScroll: true });
  });
}

// Keep what an element loses that is taken out of the document.
function remembered(el) {
  const was = { scrolled: new Map(), focused: null };
  el.addEventListener("scroll", ({ target }) => was.scrolled.set(target, [target.scrollLeft, target.scrollTop]), true);
  el.addEventListener("focusin", ({ target }) => (was.focused = target));
  // Some browsers say so of an element that is taken out, too.
  el.addEventListener("focusout", () => queueMicrotask(() => {
    if (el.isConnected && !el.contains(document.activeElement)) was.focused = null;
  }));
  return was;
}

export default { initialize, render };
