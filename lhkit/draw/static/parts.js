// Shared by all scripts of lhkit, and concatenated before each of them (lhkit/draw/viewer.py).
// It makes no request. What elements stand for is in data-step, data-handle and data-op.

const MARKED = "[data-step],[data-handle],[data-op]";
const KINDS = ["step", "handle", "op"];
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

function fragmentOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// Elements by "kind:id": a selection costs what it lights, not what there is.
function indexed(root) {
  const index = new Map();
  for (const node of root.querySelectorAll(MARKED)) {
    for (const kind of KINDS) {
      const ids = node.getAttribute(`data-${kind}`);
      if (ids === null) continue;
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

// Controls of knobs, as lhkit/draw/live_view.py makes them: the value of an input, and showing a value.
function knobValue(input) {
  return JSON.parse(input.dataset.values)[Number(input.value)];
}

function showKnob(input, value) {
  input.value = JSON.parse(input.dataset.values).indexOf(value);
  input.setAttribute("aria-valuetext", String(value));
  const said = input.parentNode.querySelector("output");
  if (said) said.textContent = String(value);
}

// The payload ops of a handle when a step has ended.
function opsOf(lookup, step, handle) {
  const end = lookup.ends[step] ?? -1;
  let ops = "";
  for (const [at, held] of lookup.held[handle] ?? []) if (at <= end) ops = held;
  return ops ? ops.split(" ") : [];
}

// Keys of a selection and of what belongs to it: a handle's ops, an op's handles.
function keysOf(lookup, step, selection) {
  if (!selection) return [];
  const { kind, id } = selection;
  const ids = String(id).split(" ");
  const keys = ids.map((each) => `${kind}:${each}`);
  if (kind === "handle") for (const each of ids) keys.push(...opsOf(lookup, step, each).map((op) => `op:${op}`));
  if (kind === "op") {
    const holds = (handle) => opsOf(lookup, step, handle).some((op) => ids.includes(op));
    keys.push(...Object.keys(lookup.held).filter(holds).map((handle) => `handle:${handle}`));
  }
  return keys;
}

// Take the light from some elements, give it to those of a step and of keys, and return these.
function relight(lit, indexes, step, keys) {
  for (const node of lit) node.classList.remove("lh-selected", "lh-now");
  const made = [];
  const light = (node, name) => {
    node.classList.add(name);
    made.push(node);
  };
  for (const index of indexes) {
    for (const node of index.get(`step:${step}`) ?? []) {
      if (node.dataset.handle !== undefined || node.dataset.op !== undefined) continue; // a mark, not the step
      light(node, "lh-now");
    }
    for (const key of keys) for (const node of index.get(key) ?? []) light(node, "lh-selected");
  }
  return made;
}

function inWords(lookup, selection) {
  if (!selection) return "";
  const { kind, id } = selection;
  if (kind === "step") return `selected: step ${id}`;
  const names = String(id).split(" ").map((each) => lookup.names[each] ?? each);
  const more = names.length > 3 ? `, … ${names.length - 3} more` : "";
  return `selected: ${names.slice(0, 3).join(", ")}${more}`;
}

// Keys that mean something inside of an element are no commands of the notebook around it. JupyterLab asks the
// element that has the focus first, so that one has to say it too; a slider would not move by its arrow keys.
function keepKeys(el) {
  const mark = (node) => (node.dataset.lmSuppressShortcuts = "true");
  mark(el);
  el.addEventListener("focusin", (event) => mark(event.target));
}

const BEAT_MS = 2000;
const MOST_BEATS = 4; // so many go by without an answer: counted, since a page that slept has missed none
const SILENT = "disconnected: the kernel does not answer. If it is busy, wait; if it was restarted, run the cell again.";
const GONE = "disconnected: run the cell again.";

// Asks again and again whether the kernel is there; also while it is lost, since one that was busy answers in the end.
class Heartbeat {
  constructor(model, by, changed) {
    this.model = model;
    this.by = by;
    this.words = { silent: SILENT, gone: GONE, ...model.words }; // outside of Jupyter the model has its own
    this.changed = changed; // told why the kernel is lost, and an empty text when it is there again
    this.why = "";
    this.count = 0;
    this.waiting = null; // id of the beat that has no answer yet
    this.hear = ({ done }) => done && done === this.waiting && this.heard();
    model.on("msg:custom", this.hear);
    this.gone = () => this.lose(this.words.gone);
    model.on("comm_live_update", this.gone); // Jupyter's own word that the kernel restarted or was shut down
    this.pulse = setInterval(() => this.beat(), BEAT_MS);
  }

  stop() {
    this.model.off("msg:custom", this.hear);
    this.model.off("comm_live_update", this.gone);
    clearInterval(this.pulse);
  }

  beat() {
    if (this.waiting) {
      if (++this.beats > MOST_BEATS && !this.why) this.lose(this.words.silent);
      return;
    }
    this.beats = 1;
    this.waiting = `${this.by}-beat-${++this.count}`;
    try {
      this.model.send({ do: "beat", by: this.by, id: this.waiting });
    } catch {
      this.waiting = null; // the kernel is gone
    }
  }

  heard() {
    this.waiting = null;
    if (this.why) this.changed((this.why = ""));
  }

  lose(why) {
    this.changed((this.why = why));
  }
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
    for (const record of records) if (!record.target.closest?.(".lh-live")) record.addedNodes.forEach(search);
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

// Let a model draw itself into the static pictures with an id; returns the function that ends that.
function takeOver(id, mount) {
  const all = (window.lhkitTakeovers ??= takeovers());
  all.add(id, mount);
  return () => all.remove(id, mount);
}
