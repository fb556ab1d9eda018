// Draws a view of lhkit in a browser: panes with fragments of HTML, steps to go through, one selection.
//
// The same module serves JupyterLab and Notebook 7 (through anywidget), other hosts of anywidget, and single-file
// pages (through a stand-in for the model). It makes no request. Fragments are made and escaped in Python;
// what they stand for is in data-step, data-handle and data-op.

const CHANNEL = "lhkit:selected"; // event of the window, by which outputs of one trace share what is selected
const MARKED = "[data-step],[data-handle],[data-op]";
const KINDS = ["step", "handle", "op"];
const FRAMES_KEPT = 6; // frames of a pane that stay built, so that going back and forth is quick
const PLAY_MS = 600;

// Large parts travel as {z: base64 of zlib}.
async function unpacked(part) {
  if (typeof part === "string") return part;
  const bytes = Uint8Array.from(atob(part.z), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// Elements by "kind:id": a selection costs what it lights, not what there is.
function indexed(root) {
  const index = new Map();
  for (const node of root.querySelectorAll(MARKED)) {
    for (const kind of KINDS) {
      const ids = node.dataset[kind];
      if (ids === undefined) continue;
      for (const id of ids.split(" ")) {
        const key = `${kind}:${id}`;
        const found = index.get(key);
        if (found) found.push(node);
        else index.set(key, [node]);
      }
    }
  }
  return index;
}

// What a click on an element selects. A mark of a handle at a step means the handle, at that step.
function meaning(node) {
  const { step, handle, op, kind } = node.dataset;
  const means = kind ?? (handle !== undefined ? "handle" : op !== undefined ? "op" : "step");
  const ids = node.dataset[means];
  // A line of IR has its op first, and then those that are printed inside of it.
  const selection = { kind: means, id: means === "op" ? ids.split(" ")[0] : ids };
  const goes = means === "step" || (means === "handle" && op === undefined);
  return { selection, step: goes && step !== undefined ? Number(step) : null };
}

function same(a, b) {
  return a?.kind === b?.kind && a?.id === b?.id;
}

// Buttons and a slider over positions 0 … count - 1.
class Slider {
  constructor(count, label, go) {
    this.input = make("input", {
      type: "range", min: 0, max: count - 1, step: 1, "aria-label": label, oninput: () => go(Number(this.input.value)),
    });
    this.count = count;
    this.at = 0;
    const move = (by) => () => go(Math.min(Math.max(this.at + by, 0), this.count - 1));
    this.node = make(
      "span", { class: "lh-slider" },
      make("button", { type: "button", title: `back (←): ${label}`, "aria-label": `${label}: back`, onclick: move(-1) }, "‹"),
      this.input,
      make("button", { type: "button", title: `on (→): ${label}`, "aria-label": `${label}: on`, onclick: move(1) }, "›"),
    );
    this.move = move;
  }

  set(at, text) {
    this.at = at;
    this.input.max = this.count - 1;
    this.input.value = at;
    this.input.setAttribute("aria-valuetext", text);
  }
}

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
    const inside = [this.body];
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
    this.startPlayer = (at = 0) => go(at);
    return make("div", { class: "lh-bar" }, this.slider.node, button, said);
  }

  // Take other content for the same drawing, and show it where the reader is.
  renew(data) {
    this.data = data;
    this.heading.textContent = data.title;
    this.built.clear();
    this.wanted = null;
    if (!this.slider) return this.show(this.at ?? 0);
    this.slider.count = data.frames.length;
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
    this.applyZoom();
    this.body.scrollTo(scrollLeft, scrollTop);
    this.view.light();
  }

  wheel(event) {
    // A plain wheel scrolls the notebook.
    if (!(event.ctrlKey || event.shiftKey) || !this.body.querySelector("svg")) return;
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
      svg.style.width = zoomed ? `${Number(svg.getAttribute("width")) * this.zoom}px` : "";
      svg.style.height = zoomed ? `${Number(svg.getAttribute("height")) * this.zoom}px` : "";
    }
  }
}

// Sliders and menus for the knobs of a schedule; Python draws again when one moves.
class Knobs {
  constructor(model) {
    this.model = model;
    this.said = make("output", { class: "lh-said", "data-status": "failed" });
    this.node = make("div", { class: "lh-bar lh-knobs", role: "toolbar", "aria-label": "knobs" });
    this.fields = model.get("controls").map((control) => this.field(control));
    this.node.append(...this.fields.map((field) => field.node), this.said);
    this.follow();
  }

  field({ name, values, menu }) {
    const turn = () => {
      this.model.set("knobs", { ...this.model.get("knobs"), [name]: values[Number(input.value)] });
      this.model.save_changes();
      this.follow();
    };
    const input = menu
      ? make("select", { oninput: turn }, ...values.map((value, i) => make("option", { value: i }, String(value))))
      : make("input", { type: "range", min: 0, max: values.length - 1, step: 1, oninput: turn });
    const said = make("output", {});
    return { name, values, input, said, node: make("label", {}, `${name} `, input, menu ? "" : said) };
  }

  follow() {
    const now = this.model.get("knobs");
    for (const { name, values, input, said } of this.fields) {
      said.textContent = ` ${now[name]}`;
      input.value = values.indexOf(now[name]);
      input.setAttribute("aria-valuetext", String(now[name]));
    }
    this.said.textContent = this.model.get("said");
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
    // Keys that mean something here are not commands of the notebook.
    el.dataset.lmSuppressShortcuts = "true";
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
    this.selection = model.get("selection") ?? null;
    for (const pane of this.panes) pane.startPlayer?.();
    await this.goTo(model.get("step") ?? this.data.start);
  }

  stop() {
    for (const remove of this.removers) remove();
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

  // The payload ops of a handle when a step has ended.
  opsOf(handle) {
    const end = this.lookup.ends[this.step] ?? -1;
    let ops = "";
    for (const [at, held] of this.lookup.held[handle] ?? []) if (at <= end) ops = held;
    return ops ? ops.split(" ") : [];
  }

  // Keys of the selection and of what belongs to it: a handle's ops, an op's handles.
  keys() {
    if (!this.selection) return [];
    const { kind, id } = this.selection;
    const ids = String(id).split(" ");
    const keys = ids.map((each) => `${kind}:${each}`);
    if (kind === "handle") for (const each of ids) keys.push(...this.opsOf(each).map((op) => `op:${op}`));
    if (kind === "op") {
      const holds = (handle) => this.opsOf(handle).some((op) => ids.includes(op));
      keys.push(...Object.keys(this.lookup.held).filter(holds).map((handle) => `handle:${handle}`));
    }
    return keys;
  }

  light() {
    for (const node of this.lit) node.classList.remove("lh-selected", "lh-now");
    this.lit = [];
    for (const pane of this.panes) {
      for (const node of pane.index.get(`step:${this.step}`) ?? []) {
        if (node.dataset.handle !== undefined || node.dataset.op !== undefined) continue; // a mark, not the step
        node.classList.add("lh-now");
        this.lit.push(node);
      }
    }
    for (const key of this.keys()) {
      for (const pane of this.panes) {
        for (const node of pane.index.get(key) ?? []) {
          node.classList.add("lh-selected");
          this.lit.push(node);
        }
      }
    }
    this.chosen.textContent = this.inWords();
  }

  inWords() {
    if (!this.selection) return "";
    const { kind, id } = this.selection;
    if (kind === "step") return `selected: step ${id}`;
    const names = String(id).split(" ").map((each) => this.lookup.names[each] ?? each);
    const more = names.length > 3 ? `, … ${names.length - 3} more` : "";
    return `selected: ${names.slice(0, 3).join(", ")}${more}`;
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
    else if (zooms[event.key] && pane?.body.querySelector("svg")) pane.zoomTo(pane.zoom * zooms[event.key]);
    else if (event.key === "0" && pane) pane.zoomTo(1);
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

// Static pictures of the document that live models take over: the output itself holds no widget, so a notebook that
// is opened without its kernel shows the picture and no error. One observer serves all models.
function takeovers() {
  const mounts = new Map();
  const take = (el) => {
    const mount = mounts.get(el.dataset.lhView);
    if (mount && !el.classList.contains("lh-live")) mount(el);
  };
  const search = (root) => {
    if (root.nodeType !== Node.ELEMENT_NODE || root.closest(".lh-live")) return;
    if (root.matches("[data-lh-view]")) take(root);
    root.querySelectorAll("[data-lh-view]").forEach(take);
  };
  new MutationObserver((records) => {
    for (const record of records) record.addedNodes.forEach(search);
  }).observe(document.documentElement, { childList: true, subtree: true });
  return {
    add(id, mount) {
      mounts.set(id, mount);
      search(document.documentElement);
    },
    remove(id, mount) {
      if (mounts.get(id) === mount) mounts.delete(id);
    },
  };
}

function initialize({ model }) {
  const all = (window.lhkitTakeovers ??= takeovers());
  const id = model.get("view_id");
  const mount = (el) => render({ model, el });
  all.add(id, mount);
  return () => all.remove(id, mount);
}

export default { initialize, render };
