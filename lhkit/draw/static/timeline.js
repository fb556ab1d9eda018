// The timeline of handles for thousands of steps: a row per handle, a column per step, and only what is in sight is
// drawn. The data are those of lhkit/traces/timeline/timeline_data.py. Steps with others inside open and close; columns
// are filtered and searched, zoomed and panned here, without asking anybody.

class HandleTimeline extends TimelineDrawing {
  // `drawn` is called whenever other elements are on screen; `go` shows a step.
  constructor({ drawn, go }) {
    super();
    this.drawn = drawn;
    this.go = go;
    this.step = -1;
    this.zoom = null; // pixels of a column; null fits
    this.part = (name) => make("div", { class: name });
    const button = (label, title, act) => make("button", { type: "button", title, "aria-label": title, onclick: act }, label);
    this.words = make("input", { type: "search", placeholder: "op, %handle, cause", "aria-label": "search the timeline", oninput: () => this.search() });
    this.words.addEventListener("keydown", (event) => this.searchKey(event));
    this.found = make("output", { class: "lh-tl-found" });
    this.effects = make("input", { type: "checkbox", "aria-label": "only steps with effect", onchange: () => this.arrange() });
    this.tools = make(
      "div", { class: "lh-tl-bar", role: "toolbar", "aria-label": "timeline" }, this.words, this.found,
      make("label", { title: "only steps with effect: hide those that change no payload, end no handle and have nothing to say" }, this.effects, "effects"),
      make("span", { class: "lh-tl-zoom" }, button("⊟", "fold all steps", () => this.openAll(false)), button("⊞", "unfold all steps", () => this.openAll(true)),
        button("−", "zoom out: timeline", () => this.zoomTo(this.width / 1.5)), button("fit", "fit: timeline", () => this.zoomTo(null)),
        button("+", "zoom in: timeline", () => this.zoomTo(this.width * 1.5))),
    );
    this.map = make("div", { class: "lh-tl-map", "aria-hidden": "true" });
    for (const name of ["heads", "corner", "names", "tracks", "notes"]) this[name] = this.part(`lh-tl-${name}`);
    this.heads.classList.add("lh-heads");
    this.names.classList.add("lh-names");
    this.stage = make("div", { class: "lh-tl-stage" }, this.corner, this.heads, this.names, this.tracks, this.notes);
    this.sizer = make("div", { class: "lh-tl-sizer" }, this.stage);
    this.scroller = make("div", { class: "lh-tl-scroller", role: "group", "aria-label": "handles over the steps", tabindex: 0 }, this.sizer);
    this.legend = this.part("lh-tl-key");
    this.node = make("div", { class: "lh lh-timeline lh-tl" }, this.tools, this.map, this.scroller, this.legend);
    this.listen();
  }

  get onPaper() {
    return this.isPrinted || this.paper.matches;
  }

  listen() {
    const { scroller } = this;
    scroller.addEventListener("scroll", () => this.drawSoon());
    scroller.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // a plain wheel scrolls
      event.preventDefault();
      event.stopPropagation();
      this.zoomTo(this.width * Math.exp(-(event.deltaY || event.deltaX) / 400), event.clientX);
    }, { passive: false });
    scroller.addEventListener("click", (event) => this.toggled(event), true);
    scroller.addEventListener("click", (event) => this.pickRow(event));
    scroller.addEventListener("keydown", (event) => this.key(event));
    this.drags(this.tracks, (event, start) => {
      scroller.scrollLeft = start.left - (event.clientX - start.x);
      scroller.scrollTop = start.top - (event.clientY - start.y);
    });
    const center = (event) => {
      const box = this.map.getBoundingClientRect();
      scroller.scrollLeft = ((event.clientX - box.left) / box.width) * this.columns.length * this.width - this.room / 2;
    };
    this.map.addEventListener("pointerdown", center);
    this.drags(this.map, center);
    this.paper = matchMedia("print"); // on paper all steps have room beside one another
    this.paper.addEventListener("change", () => this.columns && this.draw());
    // The pages are counted before the media query changes.
    const printed = (is) => () => {
      const { scrollLeft, scrollTop } = scroller;
      if (is) this.scrolled = { left: scrollLeft, top: scrollTop };
      this.isPrinted = is;
      scroller.scrollTo({ left: 0, top: 0, behavior: "instant" });
      if (this.columns) this.draw();
      if (!is && this.scrolled) scroller.scrollTo({ ...this.scrolled, behavior: "instant" });
    };
    addEventListener("beforeprint", printed(true));
    addEventListener("afterprint", printed(false));
    new ResizeObserver(() => {
      if (!this.columns) return;
      this.isStepShown = false; // the step that is shown stays in sight
      this.setStep(this.step);
      this.drawSoon();
    }).observe(scroller);
  }

  // A press that moves drags, and is no click then.
  drags(node, move) {
    node.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const { scrollLeft: left, scrollTop: top } = this.scroller;
      const start = { x: event.clientX, y: event.clientY, left, top };
      let isDrag = false;
      const moved = (now) => {
        isDrag ||= Math.hypot(now.clientX - start.x, now.clientY - start.y) > 4;
        if (isDrag) move(now, start);
      };
      const done = () => {
        removeEventListener("pointermove", moved);
        if (!isDrag) return;
        const swallow = (click) => click.stopPropagation();
        addEventListener("click", swallow, { capture: true, once: true });
        setTimeout(() => removeEventListener("click", swallow, { capture: true }));
      };
      addEventListener("pointermove", moved);
      addEventListener("pointerup", done, { once: true });
    });
  }

  // The trace.

  show(text) {
    if (text === this.text) return;
    const before = this.data;
    this.text = text;
    this.data = text ? JSON.parse(text) : null;
    this.node.hidden = !this.data;
    if (!this.data) return;
    const { moments, at, groups, rows } = this.data;
    this.isLong = moments.length > SEVERAL;
    this.tools.hidden = !this.isLong; // all of a short one is in sight
    this.begins = new Map(); // the moment at which a step begins
    [...moments].forEach((kind, moment) => kind === "s" && this.begins.set(at[moment], moment));
    // Groups stay as the reader left them while their steps are the same.
    const name = ([first, last, , step, label]) => `${step} ${label} ${last - first > 0}`;
    const known = before ? new Map(before.groups.map((g, i) => [name(g), this.open[i]])) : new Map();
    const middle = (label) => Number(/\d+/.exec(label)?.[0] ?? 0) > 0;
    this.open = groups.map((g) => known.get(name(g)) ?? (!this.isLong || (g[2] === 0 && groups.length < 20) || (g[2] % 2 === 1 && !middle(g[4]))));
    this.rows = rows.map(([id, called, kind, note, states, events, deaths], number) => ({ id, called, kind, note, states, events, deaths, number }));
    this.isEffective = this.effective();
    this.legend.innerHTML = this.signs();
    this.search({ keeps: true });
    this.arrange();
  }

  // Moments of steps with an effect, and of steps around those.
  effective() {
    const { moments, at, steps, groups } = this.data;
    const found = [...moments].map((kind, i) => kind === "a" || kind === "x" || (kind === "s" && steps[at[i]][2] === 1));
    for (const row of this.rows) for (let i = 0; i < row.events.length; i += 3) if (row.events[i + 1] === 3) found[row.events[i]] = true;
    for (const [first, last] of groups) for (let i = first; i <= last; i++) if (found[i] && i > first) found[first] = true;
    return found;
  }

  // What is a column: not what is inside of closed steps, nor what a filter hides.
  arrange() {
    const { moments, at, groups } = this.data;
    const isHidden = new Uint8Array(moments.length);
    const owner = new Int32Array(moments.length).fill(-1); // the outermost closed group around
    groups.forEach(([first, last], g) => {
      if (!this.open[g] && !isHidden[first]) {
        isHidden.fill(1, first + 1, last + 1);
        owner.fill(g, first, last + 1);
      }
    });
    this.columns = [];
    this.columnOf = new Int32Array(moments.length);
    this.isSeen = new Uint8Array(moments.length);
    for (let m = 0; m < moments.length; m++) {
      const isFiltered = this.effects.checked && !this.isEffective[m];
      if (!isHidden[m] && !isFiltered) this.columns.push(m);
      this.isSeen[m] = isFiltered && owner[m] < 0 ? 0 : 1;
      this.columnOf[m] = Math.max(this.columns.length - 1, 0);
    }
    this.owner = owner;
    const steps = groups.map(([, , , step]) => step);
    this.kept = this.rows.filter((row) => {
      let [low, high] = [Infinity, -1];
      let isThere = false;
      for (let i = 0; i < row.events.length; i += 3) {
        const [m, , step] = row.events.slice(i, i + 3);
        if (!this.isSeen[m]) continue;
        isThere ||= !isHidden[m] || steps[owner[m]] === step;
        [low, high] = [Math.min(low, this.columnOf[m]), Math.max(high, this.columnOf[m])];
      }
      Object.assign(row, { low, high });
      return isThere || !row.events.length;
    });
    this.levels = this.leveled();
    this.lines = 0;
    this.drawSoon(true);
  }

  // Open groups with the line in which their bracket is drawn.
  leveled() {
    const ends = [];
    const made = [];
    this.data.groups.forEach(([first, last, , step, label], g) => {
      while (ends.length && ends.at(-1) < first) ends.pop();
      const isInClosed = this.owner[first] >= 0 && this.owner[first] !== g;
      if (isInClosed || (this.effects.checked && !this.isEffective[first])) return;
      made.push({ g, step, label, level: ends.length, from: this.columnOf[first], to: this.columnOf[last], isOpen: this.open[g] });
      if (this.open[g]) ends.push(last);
    });
    return made;
  }

  openAll(isOpen) {
    this.open = this.open.map(() => isOpen);
    this.arrange();
  }

  // Open what hides a moment, and scroll there.
  reveal(moment) {
    this.data.groups.forEach(([first, last], g) => {
      if (first < moment && moment <= last) this.open[g] = true;
    });
    if (!this.isEffective[moment]) this.effects.checked = false;
    this.arrange();
    this.scrollTo(this.columnOf[moment]);
  }

  // Scroll no further than it takes to see a column.
  scrollTo(column) {
    this.measure();
    const [left, right] = [column * this.width, (column + 1) * this.width];
    const { scrollLeft } = this.scroller;
    if (right > scrollLeft + this.room) this.scroller.scrollLeft = right - this.room + (this.isLong ? this.room / 3 : 0);
    else if (left < scrollLeft) this.scroller.scrollLeft = left - (this.isLong ? this.room / 3 : 0);
  }

  setStep(step) {
    if (!this.data || (step === this.step && this.isStepShown)) return;
    this.step = step;
    this.isStepShown = step < 0 || this.begins.has(step); // the data of its trace may still come
    this.isStepNew = true;
    this.drawSoon(); // with the frame, when all else is in its place: what asks for sizes lays out
  }

  // Zoom, with what is under a point in its place.
  zoomTo(width, x = null) {
    const box = this.tracks.getBoundingClientRect();
    const offset = x === null ? this.room / 2 : x - box.left;
    const column = (this.scroller.scrollLeft + offset) / this.width;
    this.zoom = width === null ? null : Math.min(Math.max(width, 1.5), 160);
    this.measure();
    this.scroller.scrollLeft = column * this.width - offset;
    this.draw();
  }

  // Search: steps by op and number, handles by name, deaths by cause.

  search({ keeps = false } = {}) {
    const words = this.words.value.trim().toLowerCase();
    this.hits = [];
    this.hit = keeps ? Math.min(this.hit ?? -1, 0) : -1;
    if (words && this.data) {
      const { ops, steps } = this.data;
      const number = /^\d+$/.test(words) ? Number(words) : null;
      for (const [step, moment] of this.begins) {
        const isHit = number === null ? ops[steps[step][0]].toLowerCase().includes(words) : step === number;
        if (isHit) this.hits.push({ moment, step });
      }
      for (const row of this.rows) {
        const said = [row.note, ...row.deaths].some((each) => each.startsWith("✕") || row.deaths.includes(each) ? each.toLowerCase().includes(words) : false);
        const at = said ? row.events.findIndex((kind, i) => i % 3 === 1 && kind === 3) - 1 : row.called.toLowerCase().includes(words) ? 0 : -1;
        if (at >= 0 && row.events.length) this.hits.push({ moment: row.events[at], step: row.events[at + 2], row });
      }
      this.hits.sort((a, b) => a.moment - b.moment);
    }
    this.hitRows = new Set(this.hits.map(({ row }) => row).filter(Boolean));
    this.hitSteps = new Set(this.hits.filter(({ row }) => !row).map(({ step }) => step));
    this.sayFound();
    if (this.columns) this.drawSoon(true);
  }

  sayFound() {
    const { length } = this.hits;
    this.found.textContent = !this.words.value.trim() ? "" : !length ? "nothing found" : this.hit < 0 ? `${length} found: Enter` : `${this.hit + 1} of ${length}`;
  }

  searchKey(event) {
    if (event.key === "Escape" && this.words.value) this.words.value = "";
    else if (event.key !== "Enter" || !this.hits.length) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") return this.search();
    this.hit = (this.hit + (event.shiftKey ? this.hits.length - 1 : 1)) % this.hits.length;
    const { moment, step, row } = this.hits[this.hit];
    this.reveal(moment);
    this.sayFound();
    if (step >= 0) this.go(step);
    if (!row) return;
    this.draw();
    const at = this.shown.indexOf(row);
    if (at >= 0) this.scroller.scrollTop = Math.max(0, this.top(at) - this.scroller.clientHeight / 3);
  }

  key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const zoom = { "+": this.width * 1.25, "-": this.width * 0.8, 0: null };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (by && event.target.closest(".lh-names [data-handle]")) {
      const row = this.shown[this.shown.findIndex(({ id }) => id === event.target.dataset.handle) + by];
      if (row) this.focusRow(row);
    } else if (event.key in zoom) this.zoomTo(zoom[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && event.target.dataset.group) this.toggle(Number(event.target.dataset.group));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focusRow(row) {
    this.entry = row;
    const y = this.top(this.shown.indexOf(row));
    const { scroller } = this;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    if (y + ROW > scroller.scrollTop + this.sight) scroller.scrollTop = y + ROW - this.sight;
    this.draw();
    this.nameOf(row)?.focus({ preventScroll: true });
  }

  toggled(event) {
    const node = event.target.closest("[data-group]");
    if (!node) return;
    event.stopPropagation();
    this.toggle(Number(node.dataset.group));
  }

  // Letters and marks are small: a click beside them, anywhere in a row, is one on its name.
  pickRow({ target, clientY }) {
    if (target.closest("[data-handle], [data-step], [data-group]")) return;
    const y = clientY - this.names.getBoundingClientRect().top + this.scroller.scrollTop;
    const row = y >= this.scroller.scrollTop && this.shown.find((_, i) => this.top(i) <= y && y < this.top(i) + ROW);
    if (row) this.nameOf(row)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }

  nameOf(row) {
    return this.names.querySelector(`[data-handle="${CSS.escape(row.id)}"]`);
  }

  toggle(group) {
    this.open[group] = !this.open[group];
    this.arrange();
  }

  // Drawing.

  drawSoon(isNew = false) {
    this.isNew ||= isNew;
    this.due ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.due);
    this.due = null;
    if (!this.data || !this.measure()) return;
    if (this.isStepNew && this.columns.length && this.nowColumn >= 0) {
      this.scrollTo(this.nowColumn);
      this.measure(); // of what is in sight now
    }
    this.isNew = this.isStepNew = false;
    const { scroller, columns, width } = this;
    const begin = Math.max(Math.floor(scroller.scrollLeft / width), 0);
    const end = Math.min(Math.ceil((scroller.scrollLeft + this.room) / width), columns.length);
    const isNear = ({ low, high }) => low < end && high >= begin;
    this.shown = this.hitRows.size ? this.kept.filter((row) => this.hitRows.has(row)) : this.isLong ? this.kept.filter(isNear) : this.kept;
    this.parameters = this.shown.findIndex(({ kind }) => kind === 2);
    const height = this.top(this.shown.length) + 4;
    this.sizer.style.height = `${this.heading + height}px`;
    this.scroller.style.setProperty("--lh-tl-height", `${this.heading + height + 2}px`);
    this.sight = this.onPaper ? height : Math.max(scroller.clientHeight - this.heading, 0);
    const from = Math.max(Math.floor(scroller.scrollTop / ROW) - 1, 0);
    const to = Math.min(Math.ceil((scroller.scrollTop + this.sight) / ROW) + 1, this.shown.length);
    const view = { begin, end, from, to, x: (column) => column * width - scroller.scrollLeft, y: (index) => this.top(index) - scroller.scrollTop + ROW / 2 };
    const focus = document.activeElement?.closest?.(".lh-tl-stage") === this.stage ? { ...document.activeElement.dataset } : null;
    this.stage.style.width = `${this.whole}px`;
    this.stage.style.height = `${this.heading + this.sight}px`;
    this.stage.style.gridTemplate = `${this.heading}px ${this.sight}px / ${this.left}px ${this.room}px ${this.right}px`;
    this.fill(this.corner, this.left, this.heading, "");
    this.fill(this.heads, this.room, this.heading, this.drawHeads(view));
    this.fill(this.names, this.left, this.sight, this.drawNames(view));
    this.fill(this.tracks, this.room, this.sight, this.drawTracks(view));
    this.fill(this.notes, this.right, this.sight, this.drawNotes(view));
    this.drawMap(begin, end);
    if (focus) this.refocus(focus);
    this.drawn();
  }

  refocus({ handle, step, group }) {
    const [name, value] = group !== undefined ? ["group", group] : handle !== undefined ? ["handle", handle] : ["step", step];
    if (value === undefined || this.stage.contains(document.activeElement)) return;
    (this.stage.querySelector(`[tabindex][data-${name}="${CSS.escape(value)}"]`) ?? this.scroller).focus({ preventScroll: true });
  }
}
