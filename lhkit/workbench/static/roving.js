// One tab stop per list: ArrowUp, ArrowDown, Home and End go through its items. What is inside of an item has keys of
// its own, and no stop; the keys are listed by `?`.

const STOPS = "button, summary, select, input, a[href], [tabindex]";
const KEYS = [
  ["Everywhere", [
    ["← →", "the step before, the step behind"],
    ["Esc", "select nothing; leave a field or a form"],
    ["Ctrl Z, Ctrl Shift Z", "undo, redo"],
    ["t", "what can I do with the selected handle"],
    ["Tab, Shift Tab", "the next list, the one before: each list is one stop"],
    ["← → on a tab", "the next pane of an area"],
    ["?", "these keys"],
  ]],
  ["In a list", [
    ["↑ ↓, Home, End", "go through it; the payload is a list of its lines"],
    ["Enter", "select the item, press the button, unfold"],
  ]],
  ["On a step", [
    ["h", "select its next handle"],
    ["k", "go to its knob; Esc comes back"],
    ["e", "change its arguments"],
    ["d", "duplicate it"],
    ["Space", "switch it off, or on"],
    ["Alt ↑, Alt ↓", "move it"],
    ["Delete", "remove it"],
  ]],
  ["Elsewhere", [
    ["+ − 0", "in a picture: zoom in, out, fit"],
    ["Esc, then Tab", "leave the text editor"],
  ]],
];

class Roving {
  constructor(root, items) {
    this.root = root;
    this.items = items; // selector
    root.addEventListener("focusin", ({ target }) => {
      const item = target.closest(items);
      if (item && root.contains(item)) this.stop(item);
    });
  }

  // What is in the list has changed.
  tidy() {
    const { root, items } = this;
    for (const node of root.querySelectorAll(STOPS)) if (node.getAttribute("tabindex") !== "-1" && !node.closest("form")) node.tabIndex = -1; // asked for `tabIndex` it computes styles
    const held = this.now && root.contains(this.now) ? this.now : null;
    this.stop(held ?? root.querySelector(`.lh-now ${items}`) ?? root.querySelector(items));
  }

  stop(item) {
    if (this.now && this.now !== item) this.now.tabIndex = -1;
    this.now = item;
    if (item) item.tabIndex = 0;
    this.root.tabIndex = item ? -1 : 0; // an empty list is scrolled by keys
  }

  // True if the key means something here.
  key({ key, target, altKey, ctrlKey, metaKey, shiftKey }) {
    if (altKey || ctrlKey || metaKey || shiftKey || target.matches("input, select, textarea")) return false;
    if (!["ArrowUp", "ArrowDown", "Home", "End"].includes(key)) return false;
    const all = [...this.root.querySelectorAll(this.items)];
    const by = key === "ArrowUp" || key === "End" ? -1 : 1;
    let at = key === "Home" ? -1 : key === "End" ? all.length : all.indexOf(target.closest(this.items));
    do at += by; while (all[at] && !all[at].checkVisibility());
    if (all[at]) {
      this.stop(all[at]);
      all[at].focus();
    }
    return all.length > 0;
  }
}

// The keys, as a dialog; the focus goes back where it was.
class KeysHelp {
  constructor() {
    const sections = KEYS.map(([title, rows]) => make("section", {}, make("h4", {}, title),
      make("dl", {}, ...rows.flatMap(([keys, said]) => [make("dt", {}, make("kbd", {}, keys)), make("dd", {}, said)]))));
    const close = make("button", { type: "button", class: "lhw-close", "aria-label": "close", onclick: () => this.node.close() }, "✕");
    this.node = make("dialog", { class: "lhw-keys", "aria-label": "keys" }, close, ...sections);
    this.node.addEventListener("keydown", (event) => event.stopPropagation());
  }

  show() {
    this.node.showModal();
  }
}
