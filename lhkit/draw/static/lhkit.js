// Draws a view of lhkit in a browser: panes with fragments of HTML, steps to go through, one selection.
//
// The same module serves JupyterLab and Notebook 7 (through anywidget), other hosts of anywidget, and single-file
// pages (through a stand-in for the model). It makes no request. Fragments are made and escaped in Python;
// what they stand for is in data-step, data-handle and data-op.

const CHANNEL = "lhkit:selected"; // event of the window, by which outputs of one trace share what is selected
const FRAMES_KEPT = 6; // frames of a pane that stay built, so that going back and forth is quick

// One pane: a fragment, or frames of which one is shown.
class Pane {
  constructor(data, view) {
    this.data = data;
    this.view = view;
    this.built = new Map(); // position → {node, index}, the one used last at the end
    this.index = new Map();
    this.wanted = null;
    this.zoom = 1;
    this.body = make("div", { class: "lh-body", tabindex: 0, role: "group", "aria-label": data.title });
    this.body.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    if (data.timeline) this.timeline = this.newTimeline();
    const inside = [this.body];
    if (!data.timeline) inside.unshift(this.fitting());
    if (data.frames && data.axis !== "step") inside.unshift(this.player());
    if (data.folded) {
      this.heading = make("summary", {}, data.title);
      this.node = make("details", { class: "lh-pane", "data-pane": data.name }, this.heading, ...inside);
      this.node.addEventListener("toggle", () => this.node.open && this.show(this.at ?? 0));
    } else {
      this.heading = make("h3", { hidden: !data.title }, data.title);
      this.node = make("section", { class: "lh-pane", "data-pane": data.name }, this.heading, ...inside);
    }
  }

  get isOpen() {
    return !this.data.folded || this.node.open;
  }

  newTimeline() {
    const drawn = () => {
      this.index = indexed(timeline.node);
      this.view.light();
    };
    const timeline = new HandleTimeline({ drawn, go: (step) => this.view.share(this.view.selection, step) });
    this.body.append(timeline.node);
    return timeline;
  }

  async showTimeline(at) {
    const { timeline } = this.data;
    if (timeline !== this.wanted) {
      this.wanted = timeline;
      this.timeline.show(await unpacked(timeline));
    }
    this.timeline.setStep(at);
  }

  // In a narrow column drawings fit it; this has them in their own size, to be scrolled.
  fitting() {
    this.fit = make("button", { type: "button", class: "lh-fit", "aria-pressed": "false", hidden: true, onclick: () => {
      const whole = this.node.toggleAttribute("data-whole");
      this.fit.setAttribute("aria-pressed", whole);
    } }, "full size");
    return this.fit;
  }

  // Frames that are not steps (iterations of loops) have a slider of their own, and play.
  player() {
    const said = make("output", { class: "lh-said" });
    const go = (at) => {
      const { label } = this.data.frames[at];
      this.slider.set(at, label);
      said.textContent = label;
      return this.show(at);
    };
    this.slider = new Slider(this.data.frames.length, this.data.axis, go);
    let timer = null;
    const stop = () => {
      clearInterval(timer);
      timer = null;
      button.textContent = "▶ play";
    };
    const button = make("button", { type: "button", onclick: () => {
      if (timer) return stop();
      button.textContent = "■ stop";
      timer = setInterval(() => (this.node.isConnected ? go((this.slider.at + 1) % this.data.frames.length) : stop()), PLAY_MS);
    } }, "▶ play");
    this.startPlayer = (at = this.data.start) => go(at);
    this.playing = make("div", { class: "lh-bar", hidden: this.data.frames.length < 2 }, this.slider.node, button, said);
    return this.playing;
  }

  // Take other content for the same drawing, and show it where the reader is.
  renew(data) {
    this.data = data;
    this.heading.textContent = data.title;
    this.built.clear();
    this.wanted = null;
    if (!this.slider) return this.show(this.at ?? 0);
    this.slider.count = data.frames.length;
    this.playing.hidden = data.frames.length < 2;
    return this.startPlayer(Math.min(this.slider.at, data.frames.length - 1));
  }

  frameAt(step) {
    const frames = this.data.frames;
    if (this.data.axis !== "step") return step;
    let found = 0;
    for (let i = 0; i < frames.length; i++) if (frames[i].at <= step) found = i;
    return found;
  }

  // Show the frame of a step (or the position of an axis of the pane's own); resolves when it is on screen.
  async show(at) {
    this.at = at;
    if (!this.isOpen) return;
    if (this.timeline) return this.showTimeline(at);
    const position = this.data.frames ? this.frameAt(at) : 0;
    if (position === this.wanted) return;
    this.wanted = position;
    let frame = this.built.get(position);
    if (!frame) {
      const html = await unpacked(this.data.frames ? this.data.frames[position].html : this.data.html);
      if (position !== this.wanted) return; // the reader went on meanwhile
      const node = make("div", { class: "lh-frame" });
      node.innerHTML = html;
      frame = { node, index: indexed(node) };
    }
    this.built.delete(position);
    this.built.set(position, frame);
    if (this.built.size > FRAMES_KEPT) this.built.delete(this.built.keys().next().value);
    const { scrollTop, scrollLeft } = this.body;
    this.body.replaceChildren(frame.node);
    this.index = frame.index;
    this.fit.hidden = ![...frame.node.querySelectorAll("svg")].some((svg) => svg.width.baseVal.value > this.body.clientWidth);
    this.applyZoom();
    this.body.scrollTo(scrollLeft, scrollTop);
    this.view.light();
  }

  wheel(event) {
    // A plain wheel scrolls the notebook.
    if (!(event.ctrlKey || event.shiftKey) || this.timeline || !this.body.querySelector("svg")) return;
    event.preventDefault();
    event.stopPropagation();
    const turn = event.deltaY || event.deltaX;
    this.zoomTo(this.zoom * Math.exp(-turn / 400), event);
  }

  zoomTo(zoom, point) {
    const box = this.body.getBoundingClientRect();
    const x = point ? point.clientX - box.left : 0;
    const y = point ? point.clientY - box.top : 0;
    const before = this.zoom;
    this.zoom = Math.min(Math.max(zoom, 0.2), 8);
    this.applyZoom();
    const grown = this.zoom / before; // what is under the pointer stays there
    this.body.scrollTo((this.body.scrollLeft + x) * grown - x, (this.body.scrollTop + y) * grown - y);
  }

  applyZoom() {
    const zoomed = this.zoom !== 1;
    for (const svg of this.body.querySelectorAll("svg")) {
      svg.style.maxWidth = zoomed ? "none" : "";
      svg.style.width = zoomed ? `${svg.width.baseVal.value * this.zoom}px` : ""; // in pixels, whatever its unit
      svg.style.height = zoomed ? `${svg.height.baseVal.value * this.zoom}px` : "";
    }
  }
}

// Sliders and menus for the knobs of a schedule; Python draws again when one moves.
class Knobs {
  constructor(model) {
    this.model = model;
    this.said = make("output", { class: "lh-said", "data-status": "failed" });
    this.node = make("div", { class: "lh-bar lh-knobs", role: "toolbar", "aria-label": "knobs" });
    this.node.append(fragmentOf(model.get("controls")), this.said);
    this.node.addEventListener("input", (event) => this.turned(event.target));
    this.heart = new Heartbeat(model, `k${Math.random().toString(36).slice(2, 10)}`, (why) => this.disconnected(why));
    this.follow();
  }

  get inputs() {
    return [...this.node.querySelectorAll("[data-knob]")];
  }

  turned(input) {
    this.moving = true;
    this.model.set("knobs", { ...this.model.get("knobs"), [input.dataset.knob]: knobValue(input) });
    this.model.save_changes();
    this.follow();
  }

  follow() {
    const now = this.model.get("knobs");
    for (const input of this.inputs) showKnob(input, now[input.dataset.knob]);
    this.said.textContent = this.heart.why || this.model.get("said");
  }

  // Python has drawn these values; what a hand did since then stays.
  drawn() {
    const now = this.model.get("drawn");
    if (this.inputs.every(({ dataset: { knob } }) => now[knob] === this.model.get("knobs")[knob])) this.moving = false;
    if (!this.moving) this.model.set("knobs", now);
    this.follow();
  }

  // Nothing moves without a kernel, and the knobs say what the picture shows.
  disconnected(why) {
    for (const input of this.inputs) input.closest("label").inert = Boolean(why);
    this.moving = false;
    this.drawn();
  }
}

class View {
  constructor(model, el) {
    this.model = model;
    this.data = model.get("content");
    this.selection = null;
    this.lit = [];
    this.lookup = { names: {}, ends: {}, held: {} };
    this.steps = this.data.steps;
    this.panes = this.data.panes.map((pane) => new Pane(pane, this));
    this.knobs = model.get("controls") ? [new Knobs(model)] : [];
    el.classList.add("lh", "lh-view", "lh-live");
    keepKeys(el);
    const styles = el.querySelectorAll(":scope > style"); // they came with the static picture
    const bars = [...this.bar(), ...this.knobs.map((knobs) => knobs.node)];
    el.replaceChildren(...styles, ...bars, make("div", { class: "lh-panes" }, ...this.panes.map((pane) => pane.node)));
    this.el = el;
    this.removers = [];
    this.listen(el, "click", (event) => this.click(event));
    this.listen(el, "keydown", (event) => this.key(event));
    this.listen(window, CHANNEL, ({ detail }) => {
      if (detail.key === this.data.key && detail.from !== this) this.apply(detail.selection, detail.step);
    });
  }

  listen(target, name, handler) {
    target.addEventListener(name, handler);
    this.removers.push(() => target.removeEventListener(name, handler));
  }

  bar() {
    this.said = make("output", { class: "lh-said" });
    this.chosen = make("output", { class: "lh-chosen" });
    if (this.steps.length < 2) return [];
    this.slider = new Slider(this.steps.length, "step", (at) => this.share(this.selection, this.steps[at].index));
    return [make("div", { class: "lh-bar lh-steps", role: "toolbar", "aria-label": "steps" }, this.slider.node, this.said, this.chosen)];
  }

  async start() {
    if (this.data.lookup) this.lookup = JSON.parse(await unpacked(this.data.lookup));
    const { model } = this;
    const on = (name, handler) => {
      model.on(`change:${name}`, handler);
      this.removers.push(() => model.off(`change:${name}`, handler));
    };
    on("selection", () => this.apply(model.get("selection"), model.get("step")));
    on("step", () => this.apply(model.get("selection"), model.get("step")));
    on("content", () => model.get("content").panes.forEach((pane, i) => this.panes[i].renew(pane)));
    for (const name of ["knobs", "said"]) on(name, () => this.knobs.forEach((knobs) => knobs.follow()));
    on("drawn", () => this.knobs.forEach((knobs) => knobs.drawn()));
    this.selection = model.get("selection") ?? null;
    for (const pane of this.panes) pane.startPlayer?.();
    await this.goTo(model.get("step") ?? this.data.start);
  }

  stop() {
    for (const remove of this.removers) remove();
    for (const { heart } of this.knobs) heart.stop();
  }

  // Make the step the one that is shown; resolves when every pane shows it.
  async goTo(step) {
    const at = Math.max(0, this.steps.findIndex((each) => each.index === step));
    const entry = this.steps[at];
    this.step = entry?.index ?? -1;
    if (this.slider) {
      this.slider.set(at, entry.label);
      this.said.textContent = entry.label;
      this.said.dataset.status = entry.status;
    }
    await Promise.all(this.panes.filter((pane) => !pane.startPlayer).map((pane) => pane.show(this.step)));
    this.light();
  }

  // What this reader did: show it here, in the other outputs of the trace, and tell Python.
  share(selection, step) {
    this.apply(selection, step);
    window.dispatchEvent(new CustomEvent(CHANNEL, { detail: { key: this.data.key, selection, step, from: this } }));
    this.model.set("selection", selection);
    this.model.set("step", step);
    this.model.save_changes();
  }

  apply(selection, step) {
    const changed = !same(selection, this.selection);
    this.selection = selection ?? null;
    if (step !== undefined && step !== null && step !== this.step) this.goTo(step);
    else if (changed) this.light();
  }

  light() {
    const keys = keysOf(this.lookup, this.step, this.selection);
    this.lit = relight(this.lit, this.panes.map((pane) => pane.index), this.step, keys);
    this.chosen.textContent = inWords(this.lookup, this.selection);
  }

  select(node) {
    const { selection, step } = meaning(node);
    const known = step !== null && this.steps.some((each) => each.index === step);
    this.share(selection, known ? step : this.step);
  }

  click(event) {
    if (String(window.getSelection())) return; // text was marked, to be copied
    const node = event.target.closest?.(MARKED);
    if (node && this.el.contains(node)) this.select(node);
  }

  key(event) {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const inForm = event.target.matches("input, select, textarea");
    const pane = this.panes.find((each) => each.body.contains(event.target));
    const zooms = { "+": 1.25, "-": 0.8 };
    if (event.key === "Escape") this.share(null, this.step);
    else if ((event.key === "Enter" || event.key === " ") && event.target.matches(MARKED)) {
      if (event.target.matches("summary")) return; // it opens, and the click that it sends selects
      this.select(event.target);
    } else if (event.key === "ArrowLeft" && this.slider && !inForm) this.slider.move(-1)();
    else if (event.key === "ArrowRight" && this.slider && !inForm) this.slider.move(1)();
    else if (zooms[event.key] && !pane?.timeline && pane?.body.querySelector("svg")) pane.zoomTo(pane.zoom * zooms[event.key]);
    else if (event.key === "0" && pane && !pane.timeline) pane.zoomTo(1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

async function render({ model, el }) {
  const view = new View(model, el);
  await view.start();
  return () => view.stop();
}

function initialize({ model }) {
  return takeOver(model.get("view_id"), (el) => render({ model, el }));
}

export default { initialize, render };
