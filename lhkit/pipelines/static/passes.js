// The page of a pipeline, pass by pass: a list, and the diff of the pass that is selected. Texts stay packed until
// they are looked at, and diffs of them are made here, except those that Python made because it knows ops.

const NAMES = /%[\w$.-]+(?:#\d+)?/g;
const WORDS = /(\/\/.*)|("(?:[^"\\]|\\.)*"?)|(%[\w$.-]+(?:[#:]\d+)?)|(@(?:"[^"]*"|[\w$.-]+))|(![\w$.]+|\b(?:tensor|vector|memref)(?=<)|\b(?:index|[us]?i\d+|bf16|f\d+)\b)|(#[\w$.]+)|(\^\w+)|(\b[a-z_]\w*(?:\.[a-z_]\w*)+)/g;
const KIND = ["c", "s", "v", "y", "t", "g", "b", "o"];
const STEERING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const CONTEXT = 2; // unchanged lines that stay beside changed ones
const MOST_LINES = 600; // that are built at once

const visible = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
const escape = (text) => text.replace(/[&<>"]/g, (c) => ENTITIES[c]).replace(STEERING, visible);

function lit(line) {
  let made = "";
  let at = 0;
  for (const found of line.matchAll(WORDS)) {
    const kind = KIND[found.slice(1).findIndex((group) => group !== undefined)];
    made += `${escape(line.slice(at, found.index))}<i class=${kind}>${escape(found[0])}</i>`;
    at = found.index + found[0].length;
  }
  return made + escape(line.slice(at));
}

// Pairs of equal keys in order: common ends, then keys that are unique on both sides, then whatever comes next.
function paired(a, b, lo, hi, from, to, take) {
  while (lo < hi && from < to && a[lo] === b[from]) take(lo++, from++);
  while (lo < hi && from < to && a[hi - 1] === b[to - 1]) take(--hi, --to);
  if (lo === hi || from === to) return;
  const where = new Map();
  for (let j = from; j < to; j++) where.set(b[j], where.has(b[j]) ? -1 : j);
  const count = new Map();
  for (let i = lo; i < hi; i++) count.set(a[i], (count.get(a[i]) ?? 0) + 1);
  const anchors = [];
  for (let i = lo, last = -1; i < hi; i++) {
    const j = where.get(a[i]) ?? -1;
    if (count.get(a[i]) === 1 && j > last) {
      anchors.push([i, j]);
      last = j;
    }
  }
  if (!anchors.length) {
    for (let i = lo, next = from; i < hi; i++) {
      const j = where.has(a[i]) ? b.indexOf(a[i], next) : -1;
      if (j < 0 || j >= to) continue;
      take(i, j);
      next = j + 1;
    }
    return;
  }
  for (const [i, j] of [...anchors, [hi, to]]) {
    paired(a, b, lo, i, from, j, take);
    if (i < hi) take(i, j);
    [lo, from] = [i + 1, j + 1];
  }
}

// Lines as {sign, old, new}, numbers from 0: "" unchanged but for the names of values, "~" changed.
function diffOf(old, now) {
  const keys = [old, now].map((lines) => lines.map((line) => line.replace(NAMES, "%")));
  const partner = new Array(now.length).fill(-1);
  paired(...keys, 0, old.length, 0, now.length, (i, j) => (partner[j] = i));
  const renamed = new Map();
  const isChanged = (i, j) => {
    const [was, is] = [old[i], now[j]].map((line) => line.match(NAMES) ?? []);
    const results = now[j].includes(" = ") ? (now[j].split(" = ", 1)[0].match(NAMES) ?? []).length : 0;
    const defines = now[j].endsWith("{") || now[j].trimStart().startsWith("^");
    let differs = false;
    was.forEach((name, k) => {
      if (defines || k < results || !renamed.has(name)) renamed.set(name, is[k]);
      else differs ||= renamed.get(name) !== is[k];
    });
    return differs;
  };
  const word = (line) => line.trimStart().replace(/^%.*? = /, "").split(/[ (<{]/, 1)[0];
  const rows = [];
  const gap = (lo, hi, from, to) => {
    const twins = new Map();
    const words = [old.slice(lo, hi).map(word), now.slice(from, to).map(word)];
    let next = 0;
    words[1].forEach((each, k) => {
      const at = words[0].indexOf(each, next);
      if (at < 0) return;
      twins.set(from + k, lo + at);
      next = at + 1;
    });
    const ends = [...twins.values(), hi]; // erased lines come before what was created in their place
    let i = lo;
    for (let j = from; j < to; j++) {
      while (i < ends[0]) rows.push({ sign: "−", old: i++ });
      if (twins.has(j)) rows.push({ sign: "~", old: (i = ends.shift() + 1) - 1, new: j });
      else rows.push({ sign: "+", new: j });
    }
    while (i < hi) rows.push({ sign: "−", old: i++ });
  };
  let [lo, from] = [0, 0];
  for (let j = 0; j <= now.length; j++) {
    const i = j < now.length ? partner[j] : old.length;
    if (i < 0) continue;
    gap(lo, i, from, j);
    if (j < now.length) rows.push({ sign: isChanged(i, j) ? "~" : "", old: i, new: j });
    [lo, from] = [i + 1, j + 1];
  }
  return rows;
}

const CLASSES = { "": "l", "+": "l a", "−": "l e", "~": "l x" };

function linesHtml(rows, old, now) {
  const made = [];
  for (const row of rows) {
    const line = (number, text, more = "") =>
      made.push(`<pre class="${CLASSES[row.sign]}${more}" data-n=${number + 1}>${lit(text)}</pre>`);
    if (row.sign === "~" && old[row.old] !== now[row.new]) line(row.old, old[row.old], " q");
    if (row.new === undefined) line(row.old, old[row.old], " q");
    else line(row.new, now[row.new]);
  }
  return made.join("");
}

// A diff as elements: unchanged lines far from changed ones, and what is too much, are built when they are opened.
function diffNode(rows, old, now, label) {
  const shown = new Array(rows.length).fill(!rows.some((row) => row.sign));
  rows.forEach((row, i) => row.sign && shown.fill(true, Math.max(0, i - CONTEXT), i + CONTEXT + 1));
  const inside = make("div");
  const folded = (part, words) => {
    const fold = make("details", {}, make("summary", {}, make("span", {}, `⋯ ${part.length.toLocaleString("en")} ${words}`)));
    const fill = () => fill.done || ((fill.done = true), fold.append(chunk(part)));
    fold.addEventListener("toggle", fill);
    inside.append(fold);
  };
  const chunk = (part) => fragmentOf(linesHtml(part.slice(0, 5 * MOST_LINES), old, now));
  let built = 0;
  for (let i = 0, j; i < rows.length; i = j) {
    for (j = i + 1; j < rows.length && shown[j] === shown[i]; ) j++;
    const part = rows.slice(i, j);
    if (!shown[i] && part.length > 2) folded(part, "unchanged lines");
    else {
      const room = Math.max(MOST_LINES - built, 0);
      inside.append(chunk(part.slice(0, room)));
      if (part.length > room) folded(part.slice(room), "more lines");
      built += part.length;
    }
  }
  return make("div", { class: "lh-ir", tabindex: 0, role: "region", "aria-label": label }, inside);
}

class Passes {
  constructor(root, data) {
    this.data = data;
    this.root = root;
    [this.list, this.pane, this.input, this.note] = [".list", ".pane", "input", ".note"].map((s) => root.querySelector(s));
    this.at = data.start;
    this.base = null;
    this.rows = new Map();
    this.open = new Set();
    this.input.addEventListener("input", () => this.filter(this.input.value));
    this.input.addEventListener("keydown", (event) => event.key === "Enter" && this.searchTexts(this.input.value));
    document.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => this.click(event));
    const drawing = root.querySelector("svg");
    drawing?.addEventListener("click", (event) => {
      const box = drawing.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width * data.width - data.left) / data.scale;
      this.go(Math.min(Math.max(Math.round(at), 0), data.steps.length - 1), { opens: true });
    });
    this.filter("");
  }

  isQuiet(step) {
    return step.status === "ok" && step.before === step.after;
  }

  // The rows of steps that fit; of those without effect in a row one row says how many they are.
  filter(text, only = null) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const { steps } = this.data;
    const fits = (s) => (only ? only.has(s.index) : words.every((w) => s.key.includes(w)));
    this.shown = [];
    this.rows.clear();
    const made = [];
    for (let i = 0, j; i < steps.length; i = j) {
      j = i + 1;
      if (!fits(steps[i])) continue;
      if (this.isQuiet(steps[i]) && !this.open.has(i)) {
        while (j < steps.length && this.isQuiet(steps[j]) && fits(steps[j]) && !this.open.has(j)) j++;
        const words = `${j - i} pass${j - i > 1 ? "es" : ""} without effect`;
        made.push(make("button", { class: "fold", type: "button", "data-fold": `${i} ${j}` }, words));
      } else made.push(this.row(steps[i]));
    }
    this.list.replaceChildren(...made);
    const found = steps.filter(fits).length;
    this.note.textContent = words.length || only ? `${found} of ${steps.length} passes` : "";
    this.mark();
  }

  row(step) {
    this.shown.push(step.index);
    const sum = (counts, sign) => (counts.length ? `${sign}${counts.reduce((n, [, c]) => n + c, 0)}` : "");
    const node = make(
      "div", { class: `pass ${step.status} ${this.isQuiet(step) ? "quiet" : ""}`, role: "option", "data-at": step.index, style: `--d:${step.depth}`, title: step.options },
      make("span", { class: "n" }, String(step.index)), make("span", { class: "w" }, step.name, make("small", {}, step.scope)),
      make("span", { class: "made" }, sum(step.made, "+")), make("span", { class: "gone" }, sum(step.gone, "−")),
      make("span", { class: "t" }, step.status === "ok" ? step.time : step.status),
    );
    this.rows.set(step.index, node);
    return node;
  }

  // Passes after which a text is there more or less often than before.
  async searchTexts(text) {
    if (!text) return;
    this.counts ??= await Promise.all(this.data.texts.map(unpacked));
    const counts = this.counts.map((each) => each.split(text).length);
    const found = this.data.steps.filter((s) => s.before !== null && s.after !== null && counts[s.before] !== counts[s.after]);
    this.filter(text, new Set(found.map((s) => s.index)));
    this.note.textContent = `${found.length} passes add or remove “${text}”`;
  }

  click(event) {
    const fold = event.target.closest("[data-fold]");
    if (fold) {
      const [first, end] = fold.dataset.fold.split(" ").map(Number);
      for (let i = first; i < end; i++) this.open.add(i);
      return this.filter(this.input.value);
    }
    const row = event.target.closest("[data-at]");
    if (!row) return null;
    const at = Number(row.dataset.at);
    this.base = event.shiftKey && at !== this.at ? this.at : null;
    return this.go(at);
  }

  key(event) {
    const move = { ArrowDown: 1, ArrowRight: 1, j: 1, ArrowUp: -1, ArrowLeft: -1, k: -1, Home: -Infinity, End: Infinity }[event.key];
    const typing = event.target === this.input && !["ArrowDown", "ArrowUp"].includes(event.key);
    if (!move || typing || event.ctrlKey || event.metaKey || event.altKey || !this.shown.length) return;
    event.preventDefault();
    this.base = null;
    const now = this.shown.findIndex((at) => at >= this.at);
    const exact = this.shown[now] === this.at;
    const next = (now < 0 ? this.shown.length : now) + (exact || move < 0 ? move : 0);
    this.go(this.shown[Math.min(Math.max(next, 0), this.shown.length - 1)]);
  }

  mark() {
    this.marked?.removeAttribute("aria-selected");
    this.marked = this.rows.get(this.at);
    this.marked?.setAttribute("aria-selected", "true");
    this.marked?.scrollIntoView({ block: "nearest" });
    const x = this.data.left + this.at * this.data.scale + 9; // it waits outside of the picture
    this.root.querySelector(".cursor")?.setAttribute("transform", `translate(${x})`);
  }

  async go(at, { opens = false } = {}) {
    this.at = at;
    if (opens && !this.rows.has(at)) {
      this.data.steps.forEach((s) => this.isQuiet(s) && this.open.add(s.index));
      this.filter("");
    }
    this.mark();
    const step = this.data.steps[at];
    const [was, is] = this.base === null ? [step.before, step.after] : [this.data.steps[this.base].after, step.after];
    const diff = this.base === null ? this.data.diffs[at] : undefined;
    const parts = await Promise.all([...[was, is].map((n) => (n === null ? "" : unpacked(this.data.texts[n]))), diff && unpacked(diff)]);
    if (this.at !== at) return;
    const title = `${step.name}${step.scope ? ` on ${step.scope}` : ""}${this.base === null ? "" : `, against pass ${this.base}`}`;
    const counts = (list, sign) => list.map(([name, n]) => `${sign}${n} ${name}`).join("  ");
    const head = [make("b", {}, title), make("code", {}, step.options), make("span", { class: "made" }, counts(step.made, "+")), make("span", { class: "gone" }, counts(step.gone, "−"))];
    const failed = step.message ? [make("div", { class: "lh-failure" }, step.message)] : [];
    const [old, now] = parts.slice(0, 2).map((text) => text.split("\n"));
    const same = was === is || is === null ? [make("p", { class: "lh-irt" }, is === null ? "the last IR before it" : "no effect: the IR that it ran on")] : [];
    const body = parts[2] ? fragmentOf(parts[2]) : same.length || was === null
      ? diffNode((was === null ? now : old).map((_, i) => ({ sign: "", old: i, new: i })), was === null ? now : old, was === null ? now : old, title)
      : diffNode(diffOf(old, now), old, now, title);
    this.pane.replaceChildren(make("header", {}, ...head), ...failed, ...same, body);
  }
}

const root = document.querySelector(".lh-passes");
root.passes = new Passes(root, JSON.parse(document.getElementById("lh-data").textContent));
if (root.passes.data.steps.length) root.passes.go(root.passes.at);
