// Where panes are on screen: the areas of the layout, each with tabs, and the borders between them.

const NARROW = "narrow"; // the area of a screen with one column, which has all panes
const LEAST_PX = 90; // what a border leaves of a part
const NUDGE_PX = 24;

class Areas {
  constructor(bench) {
    this.bench = bench;
    this.front = {}; // the pane in front of each area, the newest first
    this.shown = new Map(); // area on screen → the pane in front of it
    this.layout = new Layout();
    this.sections = new Map();
    this.node = make("div", { class: "lhw-main-grid" });
    this.menu = new AreaMenu(this);
    this.sizes = new ResizeObserver(() => this.resized());
  }

  start() {
    this.sizes.observe(this.bench.el);
    this.resized();
    if (!this.columns) this.arrange(3); // it is not on screen yet
  }

  stop() {
    this.sizes.disconnect();
  }

  resized() {
    const width = this.bench.el.clientWidth;
    if (width && columnsFor(width) !== this.columns) this.arrange(columnsFor(width));
  }

  // Put the panes into the areas that there is room for.
  arrange(columns = this.columns) {
    this.columns = columns;
    const { el, panes } = this.bench;
    el.classList.toggle("lhw-narrow", columns === 1);
    const held = panes.map(({ body }) => [body, { scrollTop: body.scrollTop, scrollLeft: body.scrollLeft }]); // lost by a move
    const focused = el.contains(document.activeElement) ? document.activeElement : null;
    this.tabs();
    const tree = columns === 1 ? area(1, NARROW) : this.layout.trees[columns];
    this.node.replaceChildren(...[this.built(tree)].filter(Boolean));
    this.node.dataset.columns = columns;
    this.node.toggleAttribute("data-own", this.layout.changed.has(columns));
    this.bench.top.showLayout();
    for (const [body, place] of held) Object.assign(body, place);
    if (focused !== document.activeElement) focused?.focus({ preventScroll: true });
    this.bench.updateFront();
    this.tellFront();
  }

  // The element of a part of the tree, or null if it shows nothing. What is dragged changes `lhTree`.
  built(tree) {
    let node = null;
    if (tree.areas) node = this.groups.has(tree.areas[0]) ? this.sections.get(tree.areas[0]) : null;
    else {
      const kind = tree.rows ? "rows" : "columns";
      const parts = childrenOf(tree).map((child) => this.built(child)).filter(Boolean);
      if (parts.length < 2) [node = null] = parts;
      else {
        node = make("div", { class: `lhw-split lhw-${kind}` });
        parts.forEach((part, i) => node.append(...(i ? [this.border(kind, parts[i - 1], part)] : []), part));
      }
    }
    if (node) sizePart(node, (node.lhTree = tree).size);
    return node;
  }

  areaOf(pane) {
    return this.columns === 1 ? NARROW : this.layout.areaOf(pane.constructor, this.columns);
  }

  isOpen(pane) {
    return pane.isOffered && !this.layout.closed.includes(pane.constructor.key);
  }

  isInFront(pane) {
    return this.isOpen(pane) && this.shown.get(this.areaOf(pane)) === pane.constructor.key;
  }

  // Give every area its tabs and panes; which is in front is marked apart, so that a tab in hand keeps the focus.
  tabs() {
    this.groups = new Map();
    this.offered = this.bench.panes.map((pane) => pane.isOffered).join();
    for (const pane of this.bench.panes.filter((each) => this.isOpen(each))) {
      const name = this.areaOf(pane);
      this.groups.set(name, [...(this.groups.get(name) ?? []), pane]);
    }
    for (const [name, panes] of this.groups) {
      for (const pane of panes) pane.tab = this.tab(name, pane);
      const list = make("div", { class: "lhw-tabs", role: "tablist", "aria-label": name }, ...panes.map((pane) => pane.tab));
      const strip = make("div", { class: "lhw-strip" }, list, ...(name === NARROW ? [] : [this.menu.button(name)]));
      if (!this.sections.has(name)) this.sections.set(name, dropTarget(this, make("section", { class: "lhw-area", "data-area": name })));
      const section = this.sections.get(name);
      section.dataset.tabs = panes.length;
      section.replaceChildren(strip, ...panes.map((pane) => pane.node));
    }
    this.markFront();
  }

  tab(name, pane) {
    const { key, title } = pane.constructor;
    pane.tabSaid = make("span", { class: "lhw-badge" }, pane.badge());
    const known = { type: "button", role: "tab", class: "lhw-tab", "aria-controls": this.bench.idOf(key), "data-tab": key };
    return draggedTab(this, key, make("button", { ...known, onclick: () => this.open(name, key) }, title, pane.tabSaid));
  }

  // What is offered may have changed.
  offer() {
    if (this.bench.panes.map((pane) => pane.isOffered).join() !== this.offered) this.arrange();
  }

  // Take what is in front, and the layout, as Python says it.
  show(front, layout) {
    if (!this.telling) this.front = { ...front }; // what was opened here since Python spoke is newer
    // What was arranged here since Python spoke is newer.
    if (layout === this.layoutText || this.saving) return this.markFront();
    this.layoutText = layout;
    this.layout.take(layout);
    if (this.columns) this.arrange();
  }

  markFront() {
    this.shown = new Map();
    for (const [name, panes] of this.groups ?? []) {
      const keys = panes.map((pane) => pane.constructor.key);
      const isOf = ([area]) => (area === NARROW) === (name === NARROW);
      const newest = Object.entries(this.front).filter(isOf).find(([, key]) => keys.includes(key));
      this.shown.set(name, newest?.[1] ?? keys[0]);
    }
    for (const pane of this.bench.panes) {
      const isFront = this.isInFront(pane);
      pane.node.hidden = !isFront;
      pane.tab?.setAttribute("aria-selected", String(isFront));
      pane.tab?.setAttribute("tabindex", isFront ? 0 : -1);
    }
  }

  open(name, key) {
    const { [name]: _, ...others } = this.front;
    this.front = { [name]: key, ...others };
    this.markFront();
    this.bench.updateFront();
    this.telling = (this.telling ?? 0) + 1;
    this.bench.do({ do: "open", area: name, pane: key, by: this.bench.id }).finally(() => (this.telling -= 1));
  }

  // Python renders some panes only while they are in front: it has to know of those that came there by themselves.
  tellFront() {
    if (!this.bench.isStarted) return;
    for (const [name, key] of this.shown) if (!Object.values(this.front).includes(key)) this.open(name, key);
  }

  // Bring a pane to the front of its area; open it if it was closed.
  reveal(key) {
    const pane = this.bench.panes.find((each) => each.constructor.key === key);
    if (!pane?.isOffered) return;
    if (this.layout.closed.includes(key)) {
      this.layout.closed = this.layout.closed.filter((each) => each !== key);
      this.changed();
    }
    if (!this.isInFront(pane)) this.open(this.areaOf(pane), key);
  }

  nextTab(tab, by) {
    const tabs = [...tab.parentNode.children];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    this.open(tab.closest("[data-area]").dataset.area, next.dataset.tab);
    next.focus();
  }

  // What a reader changes of the layout.

  use(preset) {
    this.layout.use(preset);
    const front = PRESETS[preset].front.map((key) => this.bench.panes.find((pane) => pane.constructor.key === key));
    this.changed();
    for (const pane of front.reverse()) if (pane.isOffered) this.open(this.areaOf(pane), pane.constructor.key);
  }

  move(key, target, side) {
    const name = this.layout.move(key, target, side, this.columns);
    this.changed();
    this.open(name, key);
  }

  close(key) {
    this.layout.closed = [...this.layout.closed, key];
    this.changed();
  }

  changed() {
    this.arrange();
    this.save();
  }

  // Python keeps it for this user, and with the state of the workbench.
  save() {
    this.node.toggleAttribute("data-own", this.layout.changed.has(this.columns));
    this.layoutText = JSON.stringify(this.layout);
    this.saving = (this.saving ?? 0) + 1;
    const saved = this.bench.latest({ do: "set_layout", layout: this.layoutText, by: this.bench.id });
    saved.finally(() => (this.saving -= 1));
  }

  // A border between two parts, which is dragged, or moved by keys.
  border(kind, before, after) {
    const isAcross = kind === "columns";
    const at = (event) => (isAcross ? event.clientX : event.clientY);
    const extent = (part) => part[isAcross ? "offsetWidth" : "offsetHeight"];
    const known = { class: "lhw-border", role: "separator", tabindex: 0, "aria-orientation": isAcross ? "vertical" : "horizontal" };
    const node = make("div", { ...known, "aria-label": "resize", title: "drag it, or use the arrow keys" });
    const say = () => node.setAttribute("aria-valuenow", Math.round((100 * extent(before)) / (extent(before) + extent(after))));
    node.addEventListener("focus", say);
    const shift = (px) => {
      const parts = [...node.parentNode.children].filter((part) => part.lhTree);
      const sizes = new Map(parts.map((part) => [part, extent(part)]));
      const by = Math.min(Math.max(px, LEAST_PX - sizes.get(before)), Math.max(0, sizes.get(after) - LEAST_PX));
      sizes.set(before, sizes.get(before) + by).set(after, sizes.get(after) - by);
      for (const [part, px] of sizes) sizePart(part, (part.lhTree.size = Math.max(1, Math.round(px))));
      this.layout.changed.add(this.columns);
      say();
    };
    const keys = isAcross ? { ArrowLeft: -NUDGE_PX, ArrowRight: NUDGE_PX } : { ArrowUp: -NUDGE_PX, ArrowDown: NUDGE_PX };
    node.addEventListener("keydown", (event) => {
      if (!keys[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      shift(keys[event.key]);
      this.save();
    });
    node.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      node.setPointerCapture(event.pointerId);
      const start = at(event) - extent(before); // where the part before it begins
      const move = (moved) => shift(at(moved) - start - extent(before));
      node.addEventListener("pointermove", move);
      node.addEventListener("lostpointercapture", () => {
        node.removeEventListener("pointermove", move);
        this.save();
      }, { once: true });
    });
    return node;
  }
}

function sizePart(node, size) {
  node.classList.toggle("lhw-auto", size === AUTO);
  node.style.flexGrow = size || "";
}
