// Where panes stand: the areas of a wide screen, each with tabs, or all panes in one where the screen is narrow.

const NARROW_PX = 900;

class Areas {
  constructor(bench) {
    this.bench = bench;
    this.front = {}; // the pane in front of each area
    this.wide = new Map(AREAS.map((area) => [area, make("section", { class: "lhw-area", "data-area": area })]));
    // The right side has rows of its own: what opens at the bottom takes no room from it.
    this.side = make("div", { class: "lhw-side" }, ...SIDE.map((area) => this.wide.get(area)));
    this.narrow = make("section", { class: "lhw-area", "data-area": "narrow" });
    this.node = make("div", { class: "lhw-main-grid" });
    this.sizes = new ResizeObserver(() => this.arrange());
  }

  start() {
    this.sizes.observe(this.bench.el);
    this.arrange();
  }

  stop() {
    this.sizes.disconnect();
  }

  // Put the panes into the areas of a wide screen, or all into one.
  arrange() {
    const { el } = this.bench;
    const width = el.clientWidth;
    if (!width && this.isNarrow !== undefined) return;
    const isNarrow = width > 0 && width < NARROW_PX;
    if (isNarrow === this.isNarrow) return;
    this.isNarrow = isNarrow;
    el.classList.toggle("lhw-narrow", isNarrow);
    const wide = [...this.wide].filter(([area]) => !SIDE.includes(area)).map(([, node]) => node);
    this.node.replaceChildren(...(isNarrow ? [this.narrow] : [...wide, this.side]));
    this.tabs();
    this.bench.updateFront();
  }

  areaOf(pane) {
    return this.isNarrow ? "narrow" : pane.constructor.area;
  }

  isInFront(pane) {
    return this.front[this.areaOf(pane)] === pane.constructor.key;
  }

  // Give every area its tabs and panes; which is in front is marked apart, so that a tab in hand keeps the focus.
  tabs() {
    const groups = this.isNarrow ? new Map([["narrow", this.narrow]]) : this.wide;
    for (const [area, node] of groups) {
      const panes = this.bench.panes.filter((pane) => pane.isOffered && this.areaOf(pane) === area);
      if (!panes.some((pane) => this.isInFront(pane))) this.front = { ...this.front, [area]: panes[0]?.constructor.key };
      for (const pane of panes) pane.tab = this.tab(area, pane);
      const list = make("div", { class: "lhw-tabs", role: "tablist", "aria-label": area }, ...panes.map((pane) => pane.tab));
      node.replaceChildren(list, ...panes.map((pane) => pane.node));
    }
    this.offered = this.bench.panes.filter((pane) => pane.isOffered).length;
    this.markFront();
  }

  tab(area, pane) {
    const { key, title } = pane.constructor;
    pane.tabSaid = make("span", { class: "lhw-badge" }, pane.badge());
    const known = { type: "button", role: "tab", class: "lhw-tab", "aria-controls": this.bench.idOf(key), "data-tab": key };
    return make("button", { ...known, onclick: () => this.open(area, key) }, title, pane.tabSaid);
  }

  // What is offered may have changed.
  offer() {
    const offered = this.bench.panes.filter((pane) => pane.isOffered).length;
    if (offered === this.offered) return;
    this.tabs();
    this.bench.updateFront();
  }

  // Take what is in front as Python says it.
  show(front) {
    this.front = { ...front };
    this.markFront();
  }

  markFront() {
    for (const pane of this.bench.panes) {
      const isFront = this.isInFront(pane);
      pane.node.hidden = !isFront;
      pane.tab?.setAttribute("aria-selected", String(isFront));
      pane.tab?.setAttribute("tabindex", isFront ? 0 : -1);
    }
  }

  open(area, key) {
    this.show({ ...this.front, [area]: key });
    this.bench.updateFront();
    this.bench.do({ do: "open", area, pane: key, by: this.bench.id });
  }

  // Bring a pane to the front of its area.
  reveal(key) {
    const pane = this.bench.panes.find((each) => each.constructor.key === key);
    if (pane && !this.isInFront(pane)) this.open(this.areaOf(pane), key);
  }

  nextTab(tab, by) {
    const tabs = [...tab.parentNode.children];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    this.open(tab.closest("[data-area]").dataset.area, next.dataset.tab);
    next.focus();
  }
}
