// The registry of the workbench's panes, and what they have in common. Each pane has a file of its own, pane_….js,
// that adds its class to PANES; workbench.js comes last and shows them.

const PANES = [];

// Say something; what is said already is not laid out again.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Resolves when the next frame is painted; in a page out of sight, which paints none, all the same.
const HIDDEN_MS = 100;
const painted = () => new Promise((done) => {
  requestAnimationFrame(() => setTimeout(done));
  setTimeout(done, HIDDEN_MS);
});

// A pane of the workbench. Classes say statically: key, title, area (layout.js), `shows`, the parts they are made of, and
// `items`, a selector, if it is a list.
class BenchPane {
  constructor(bench) {
    this.bench = bench;
    this.index = new Map(); // elements by what they stand for
    this.turn = 0;
    const { key, title } = this.constructor;
    this.body = make("div", { class: "lhw-body", tabindex: 0, role: "group", "aria-label": title });
    this.frame = make("div", { class: "lhw-frame" }); // where a fragment goes
    this.node = make("div", { class: "lhw-pane", id: bench.idOf(key), "data-pane": key, role: "tabpanel", "aria-label": title }, this.body);
    this.body.append(this.frame);
    const { items } = this.constructor;
    this.roving = items ? new Roving(this.body, items) : null; // the pane is a list of these
  }

  // Parts have changed, or the pane came to the front; only panes in front are asked.
  async update() {}

  // Another step is shown.
  async showStep() {}

  // Something else is selected.
  showSelection() {}

  // Whether there is anything for it to show; a pane that is not offered has no tab.
  get isOffered() {
    return true;
  }

  // A key was pressed inside; true if it meant something.
  key() {
    return false;
  }

  // What the tab says beside its title.
  badge() {
    return "";
  }

  // Put a fragment into an element, unless a newer one came while this one was unpacked.
  async place(part, into = this.frame) {
    const turn = ++this.turn;
    const html = await unpacked(part);
    if (turn !== this.turn) return false;
    if (into.lhHtml !== html) {
      into.lhHtml = html;
      into.innerHTML = html; // the scrolling stays, since nothing is laid out in between
      this.reindex();
    }
    return true;
  }

  // Like place, changing only what differs: for large drawings of which little does.
  async patch(part) {
    const turn = ++this.turn;
    const html = await unpacked(part);
    if (turn !== this.turn || this.frame.lhHtml === html) return;
    this.frame.lhHtml = html;
    const wanted = make("div", { class: "lhw-frame" });
    wanted.append(fragmentOf(html));
    morph(this.frame, wanted);
    this.reindex();
  }

  // Put a short fragment into the frame; focus and scroll stay.
  show(html) {
    const wanted = make("div", { class: "lhw-frame" });
    wanted.append(fragmentOf(html));
    morph(this.frame, wanted);
    this.roving?.tidy();
  }

  // Have a screen reader say what is new, once.
  speak(said) {
    if (said && said !== this.spoken) this.bench.announce(said);
    this.spoken = said;
  }

  reindex() {
    this.index = indexed(this.body);
    this.roving?.tidy();
    this.bench.lightSoon();
  }
}

// Make an element like another one by changing only what differs: focus and scroll stay, and so does the value of a
// field that `isHeld`, as that of a slider in hand.
function morph(from, to, isHeld = () => false) {
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && !KEPT.has(name)) from.removeAttribute(name);
  for (const { name, value } of to.attributes) {
    if (name === "class") morphClasses(from, value);
    else if (from.getAttribute(name) === value) continue;
    else if (name === "value" && isHeld(from)) painted().then(() => from.setAttribute(name, value)); // lays out at once
    else from.setAttribute(name, value);
  }
  if (from.matches(FIELD) && !isHeld(from) && from.value !== to.getAttribute("value")) from.value = to.getAttribute("value") ?? "";
  const olds = [...from.childNodes];
  const news = [...to.childNodes];
  news.forEach((wanted, i) => {
    const old = olds[i];
    if (!old) from.append(wanted);
    else if (old.isEqualNode(wanted) && !hasField(old)) return; // most are, and telling so is quick
    else if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName) old.replaceWith(wanted);
    else if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== wanted.data) old.data = wanted.data;
    } else morph(old, wanted, isHeld);
  });
  for (const old of olds.slice(news.length)) old.remove();
}

// What a field holds is not an attribute of it, and may be what a hand left there.
const FIELD = "input:not([type=checkbox])";

function hasField(node) {
  return node.nodeType === Node.ELEMENT_NODE && (node.matches(FIELD) || node.querySelector(FIELD) !== null);
}

const KEPT = new Set(["open", "tabindex", "data-lm-suppress-shortcuts", "aria-current", "draggable"]); // what the reader and the script did to it stays
const LIT = ["lh-selected", "lh-now"];

function morphClasses(node, classes) {
  const lit = LIT.filter((name) => node.classList.contains(name));
  const wanted = [...new Set([...classes.split(" "), ...lit])].join(" ");
  if (node.className.baseVal !== undefined) node.setAttribute("class", wanted);
  else if (node.className !== wanted) node.className = wanted;
}
