// What the timeline of timeline.js draws of its data, as SVG: heads, names, tracks, causes and the map.

const ROW = 20;
const BAND = 10 * ROW; // a drawing of its own on paper, where no page ends within one
const HEAD = 18; // the line of numbers
const LEVEL = 15; // a line of brackets
const WIDEST = 52; // of a column, unless the reader zooms in
const SEVERAL = 40; // columns; longer traces open folded, and show only the rows of the columns in sight
const [CHAR, SMALL_CHAR, TINY_CHAR] = [7.25, 6.65, 5.8]; // widths, at 12, 11 and 9.5 px
const NAMED = 40; // columns so wide have the names of their ops
const EVENTS = ["read", "consumed", "made", "dead"];
const VERBS = ["reads", "consumes", "makes"];
const STATES = ["live", "empty", "invalid"];
const KEY = ["read", "consumed", "made", "invalidated here", "live", "empty", "invalidated", "dies with what is consumed", "used when invalidated"];
const STATUSES = ["ok", "failed", "crashed", "suppressed", "not-run"];
const HANDLES = ["a handle to payload ops", "a handle to values of the payload", "a parameter"];
const PLACES = [0.26, 0.26, 0.74, 0.74]; // of a mark in its column: uses left, effects right
const CROWDED = [0.13, 0.37, 0.6, 0.9]; // where two of them share that place
const SIGNS = { a: "▹", t: "↻", e: "◃", x: "⋯" };

const safe = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const cut = (text, most) => (text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}…` : text);

// A name that fits: rather the step that made the handle is said in short than not at all.
function called(name, most) {
  const [, plain, step, turn] = /^(.*) \(step (\d+)(?:, \w+ (\d+))?\)$/.exec(name) ?? [];
  if (name.length <= most || !plain) return cut(name, most);
  const at = `@${step}${turn === undefined ? "" : `[${turn}]`}`;
  return `${cut(plain, Math.max(most - at.length, 3))}${at}`;
}

// Sizes, and the parts of the drawing: of `data`, the `columns` there are, the rows that are `shown`, and the `levels`
// of brackets, all of which the timeline arranges.
class TimelineDrawing {
  // Sizes: names left and causes right stay in sight, the columns between them scroll.
  measure() {
    const { scroller, columns } = this;
    const whole = scroller.clientWidth;
    if (!whole || !columns) return false;
    const longest = (of, char, most) => Math.min(Math.max(...this.kept.map((row) => of(row).length), 3) * char + 16, most);
    if (this.isNew || this.whole !== whole) {
      this.left = longest((row) => row.called, CHAR, Math.min(230, Math.max(whole * 0.32, 120)));
      this.right = longest((row) => row.note, SMALL_CHAR, Math.min(240, whole * 0.3));
    }
    this.whole = whole;
    this.room = Math.max(whole - this.left - this.right, 40);
    const fit = Math.max(Math.min(this.room / columns.length, WIDEST), 1.5);
    this.width = this.onPaper ? Math.min(this.room / columns.length, WIDEST) : this.zoom ?? Math.max(fit, 18);
    // Room for the brackets in sight: it grows when others come into sight, and nothing moves when they leave it.
    const begin = scroller.scrollLeft / this.width;
    const inSight = this.levels.filter(({ from, to }) => this.onPaper || (from < begin + this.room / this.width && to >= begin));
    const most = Math.min(Math.max(Math.floor((scroller.clientHeight * 0.45 - HEAD) / LEVEL), 1), 5);
    this.lines = Math.min(Math.max(this.lines ?? 0, ...inSight.map(({ level }) => level + 1)), most);
    this.numbers = HEAD + (this.width >= NAMED ? 11 : 0);
    this.heading = this.numbers + LEVEL * this.lines + 4;
    this.sizer.style.width = `${this.left + this.right + Math.max(columns.length * this.width, this.room)}px`;
    return true;
  }

  top(index) {
    const { parameters } = this;
    return index * ROW + (parameters >= 0 && index >= parameters ? ROW : 0);
  }

  fill(node, width, height, inside) {
    const band = this.onPaper ? Math.min(height, BAND) : height;
    let svg = "";
    for (let y = 0; y < height; y += band) {
      const box = [width, Math.min(band, height - y)].map((size) => size.toFixed(1));
      svg += `<svg width="${box[0]}" height="${box[1]}" viewBox="0 ${y} ${box[0]} ${box[1]}" xmlns="http://www.w3.org/2000/svg">${inside}</svg>`;
    }
    if (node.lhHtml !== svg) node.innerHTML = node.lhHtml = svg;
  }

  get nowColumn() {
    const moment = this.step < 0 ? 0 : this.begins.get(this.step);
    return moment === undefined ? -1 : this.columnOf[moment];
  }

  titleOf(moment) {
    const { moments, at, steps, ops, labels, entry } = this.data;
    const kind = moments[moment];
    if (kind === "a") return `the arguments of @${entry}`;
    const [op, status, , place, said] = steps[at[moment]];
    const name = `step ${at[moment]} (${ops[op]})`;
    if (kind === "t") return `${labels[moment]} of ${name} begins`;
    if (kind === "x") return `${labels[moment]}: ${name}`;
    if (kind === "e") return `${name} ends: consumed handles die, results are defined`;
    return [`step ${at[moment]}: ${ops[op]}${place ? `, ${place}` : ""}`, ...(status ? [STATUSES[status]] : []), ...said].join("\n");
  }

  shortOf(step) {
    const { ops, steps } = this.data;
    return ops[steps[step][0]].replace(/^.*\./, "");
  }

  drawHeads({ begin, end, x }) {
    const { moments, at, steps } = this.data;
    const { width } = this;
    const made = [];
    let free = -Infinity; // numbers do not overlap
    const now = this.nowColumn;
    for (let c = begin; c < end; c++) {
      const moment = this.columns[c];
      const kind = moments[moment];
      const isStep = kind === "s";
      const [, status, , , said] = steps[at[moment]] ?? [0, 0, 0, "", []];
      const sign = isStep ? String(at[moment]) : SIGNS[kind];
      const needs = sign.length * SMALL_CHAR + 3;
      const middle = x(c) + width / 2;
      const isNow = c === now;
      const isWrong = isStep && status > 0 && status < 4;
      const isNear = c !== now && Math.abs(c - now) * width < needs; // the step that is shown has its number in any case
      if (!isNow && (isNear || (middle - needs / 2 < free && !isWrong))) continue;
      const seen = Math.min(Math.max(middle, needs / 2), this.room - needs / 2); // whole, also at an edge
      if (!isNow && Math.abs(seen - middle) > 1) continue;
      free = seen + needs / 2;
      const role = isStep ? `role="button" tabindex="${isNow || (now < 0 && c === begin) ? 0 : -1}" data-step="${at[moment]}" aria-label="${safe(this.titleOf(moment))}"` : "";
      const tone = isWrong ? "dead" : isStep && status !== 4 ? "ink" : "faint";
      const ground = isWrong ? ' class="lh-f-erased-paper"' : ' fill="none"';
      const hit = this.hitSteps.has(at[moment]) && isStep ? ' text-decoration="underline"' : "";
      made.push(
        `<g class="lh-step${isNow ? " lh-at" : ""}" ${role}><title>${safe(this.titleOf(moment))}</title>`,
        `<rect x="${x(c).toFixed(1)}" y="0" width="${width.toFixed(1)}" height="${this.numbers}" pointer-events="all"${ground}/>`,
        `<text x="${seen.toFixed(1)}" y="13" text-anchor="middle" class="lh-f-${tone}"${hit}>${sign}</text>`,
        isStep && width >= NAMED ? `<text x="${middle.toFixed(1)}" y="24" text-anchor="middle" class="lh-f-faint lh-tl-small">${safe(cut(this.shortOf(at[moment]), Math.floor(width / TINY_CHAR)))}</text>` : "",
        isStep && !status && said.length ? `<text x="${(middle + needs / 2).toFixed(1)}" y="13" class="lh-f-ink">!</text>` : "", "</g>");
    }
    const inSight = this.levels.filter(({ from, to }) => from < end && to >= begin);
    // Brackets around all that is in sight are told in a line.
    const outer = inSight.filter(({ from, to, isOpen }) => isOpen && from < begin && to >= end - 1);
    const skipped = Math.max(0, Math.max(-1, ...inSight.map(({ level }) => level)) + 1 - this.lines);
    for (const each of inSight) made.push(this.bracket(each, x, skipped, outer.includes(each)));
    return made.join("");
  }

  bracket({ g, step, label, level, from, to, isOpen }, x, skipped, isAround) {
    if (level < skipped) return "";
    const y = this.numbers + 2 + LEVEL * (level - skipped);
    const left = Math.max(x(from) + 1, isAround ? 2 : -1e4);
    const right = Math.min(x((isOpen ? to : from) + 1) - 1, this.room + 10);
    const room = Math.floor((right - Math.max(left, 0) - 16) / TINY_CHAR);
    const name = label.startsWith("iter") || label.startsWith("alt") ? label : `${step} ${label}`;
    const inside = isOpen ? this.data.groups[g][1] - this.data.groups[g][0] : 0;
    const said = `${isOpen ? "fold" : "unfold"} ${name}${isOpen ? "" : `, ${this.data.groups[g][1] - this.data.groups[g][0]} columns inside`}`;
    const words = room > 3 ? `<text x="${(Math.max(left, 0) + 14).toFixed(1)}" y="${y + 10}" class="lh-f-faint lh-tl-small">${safe(cut(name, room))}</text>` : "";
    const line = isOpen && inside ? `<path d="M${left.toFixed(1)} ${y + 12}V${y + 1}H${right.toFixed(1)}v4" fill="none" class="lh-s-faint"/>` : "";
    const sign = isOpen ? "▾" : "▸";
    const place = isOpen ? Math.max(left, 0) + 3 : (x(from) + x(from + 1)) / 2 - 4;
    return `<g class="lh-tl-fold" role="button" tabindex="-1" data-group="${g}" aria-expanded="${isOpen}" aria-label="${safe(said)}"><title>${safe(said)}</title>`
      + `<rect x="${(place - 4).toFixed(1)}" y="${y}" width="${Math.max(isOpen ? right - place : this.width, 14).toFixed(1)}" height="${LEVEL - 1}" fill="none" pointer-events="all"/>`
      + `${line}<text x="${place.toFixed(1)}" y="${y + 12}" class="lh-f-ink">${sign}</text>${isOpen ? words : ""}</g>`;
  }

  drawNames({ from, to, y }) {
    const room = Math.floor((this.left - 14) / CHAR);
    const isEntry = this.shown.includes(this.entry) ? this.entry : this.shown[from];
    const made = this.shown.slice(from, to).map((row, i) => {
      const title = `${row.called}, ${HANDLES[row.kind]}`;
      return `<g class="lh-name"><title>${safe(title)}</title><text x="${(this.left - 8).toFixed(1)}" y="${(y(from + i) + 4).toFixed(1)}" text-anchor="end" class="lh-f-ink" role="button" tabindex="${row === isEntry ? 0 : -1}" data-handle="${safe(row.id)}" aria-label="${safe(`${title}; ${row.note}`)}">${safe(called(row.called, room))}</text></g>`;
    });
    if (this.parameters >= 0) made.push(`<text x="8" y="${(y(this.parameters) - ROW + 5).toFixed(1)}" class="lh-f-faint lh-tl-small">parameters</text>`);
    return made.join("");
  }

  drawNotes({ from, to, y }) {
    const room = Math.floor((this.right - 12) / SMALL_CHAR);
    return this.shown.slice(from, to).map((row, i) => {
      const isDead = row.note.startsWith("✕");
      const title = [row.note, ...row.deaths].join("\n");
      return `<g><title>${safe(title)}</title><text x="6" y="${(y(from + i) + 4).toFixed(1)}" class="lh-tl-note ${isDead ? "lh-f-dead" : "lh-f-faint"}" data-handle="${safe(row.id)}">${safe(cut(row.note, room))}</text></g>`;
    }).join("");
  }

  drawTracks({ begin, end, from, to, x, y }) {
    const { width, data } = this;
    const bottom = this.sight;
    const made = [];
    for (const { from: first, to: last, isOpen, level } of this.levels) {
      if (!isOpen || first >= end || last < begin || level > 6) continue;
      made.push(`<rect x="${x(first).toFixed(1)}" y="0" width="${((last - first + 1) * width).toFixed(1)}" height="${bottom}" class="lh-f-faint" fill-opacity=".03"/>`);
    }
    const now = this.nowColumn;
    if (now >= begin && now < end) made.push(`<rect x="${x(now).toFixed(1)}" y="0" width="${Math.max(width, 2).toFixed(1)}" height="${bottom}" class="lh-f-ink lh-tl-now"/>`);
    for (const step of this.hitSteps) {
      const c = this.columnOf[this.begins.get(step)];
      if (c >= begin && c < end) made.push(`<rect x="${x(c).toFixed(1)}" y="0" width="${Math.max(width, 2).toFixed(1)}" height="${bottom}" class="lh-f-selected" fill-opacity=".14"/>`);
    }
    const marks = [];
    const places = new Map();
    for (let i = from; i < to; i++) {
      const row = this.shown[i];
      const at = y(i);
      places.set(row.number, at);
      made.push(`<line x1="0" x2="${this.room}" y1="${at}" y2="${at}" class="lh-s-line"/>`, this.bars(row, at, x));
      marks.push(this.marks(row, at, begin, end, x));
    }
    for (const tie of data.ties) made.push(this.tie(tie, begin, end, x, places));
    return made.join("") + marks.join("");
  }

  // States, each from within the column where it begins to within the one where it ends.
  bars(row, y, x) {
    const { width } = this;
    const { moments, at, steps } = this.data;
    let halt = moments.length; // nothing is known of handles behind the last step that ran
    while (halt > 1 && moments[halt - 1] === "s" && steps[at[halt - 1]][1] === 4) halt -= 1;
    let made = "";
    for (let i = 0; i < row.states.length; i += 3) {
      const [first, last, state] = row.states.slice(i, i + 3);
      const isEnd = i + 3 >= row.states.length;
      const begin = Math.max(x(this.columnOf[first]) + width * 0.74, -4);
      const end = Math.min(isEnd ? x(this.columnOf[Math.min(last, halt - 1)] + 1) : x(this.columnOf[last]) + width * 0.74, this.room + 4);
      if (end <= begin) continue;
      const title = `<title>${safe(`${row.called}: ${STATES[state]}${isEnd ? `, ${row.note}` : ""}`)}</title>`;
      const marked = `data-handle="${safe(row.id)}"`;
      const size = `x="${begin.toFixed(1)}" y="${y - 3.5}" width="${(end - begin).toFixed(1)}" height="7" rx="2"`;
      if (state === 0) made += `<rect ${size} class="lh-f-live" ${marked}>${title}</rect>`;
      else if (state === 1) made += `<rect ${size} class="lh-f-paper lh-s-empty" stroke-width="1.5" ${marked}>${title}</rect>`;
      else made += `<line x1="${begin.toFixed(1)}" x2="${end.toFixed(1)}" y1="${y}" y2="${y}" class="lh-s-invalid" stroke-width="7" stroke-dasharray="1.5 3.5" ${marked}>${title}</line>`;
    }
    return made;
  }

  marks(row, y, begin, end, x) {
    const { width } = this;
    const { ops, steps, entry } = this.data;
    const size = Math.min(width / 22, 1);
    const seen = new Map();
    const died = this.death(row);
    for (let i = 0; i < row.events.length; i += 3) {
      const [moment, kind, step] = row.events.slice(i, i + 3);
      const c = this.columnOf[moment];
      if (!this.isSeen[moment] || c < begin || c >= end || (width < 4 && kind < 2)) continue;
      const name = `${c} ${kind}`;
      if (seen.has(name)) seen.get(name).more += 1;
      else seen.set(name, { c, kind, step, moment, more: 0, death: kind === 3 ? row.deaths[0] : "", isLate: kind < 2 && died < moment });
    }
    let made = "";
    for (const { c, kind, step, more, death, isLate } of seen.values()) {
      const isCrowded = width > 8 && seen.has(`${c} ${kind ^ 1}`);
      const at = x(c) + (isCrowded ? CROWDED : PLACES)[kind] * width;
      let said = death || (step < 0 ? `${row.called} is an argument of @${entry}` : `step ${step} (${ops[steps[step][0]]}) ${VERBS[kind]} ${row.called}`);
      if (isLate) said += ", which is invalidated";
      if (more) said += `; and ${more} more like it`;
      const label = death ? `role="button" tabindex="-1" aria-label="${safe(said)}"` : "";
      made += `<g class="lh-mark lh-${EVENTS[kind]}" data-handle="${safe(row.id)}"${step >= 0 ? ` data-step="${step}"` : ""} ${label}><title>${safe(said)}</title>${this.shape(kind, at, y, Math.max(isCrowded ? 0.7 * size : size, 0.45), isLate)}</g>`;
    }
    return made;
  }

  // The moment in which a handle is invalidated.
  death(row) {
    const at = row.events.findIndex((kind, i) => i % 3 === 1 && kind === 3);
    return at < 0 ? Infinity : row.events[at - 1];
  }

  shape(kind, x, y, size, isLate = false) {
    const place = `transform="translate(${x.toFixed(1)} ${y}) scale(${size.toFixed(2)})"`;
    if (isLate) return `<g ${place}>${this.shape(kind, 0, 0, 1)}<path d="M-6.5 6.5L6.5-6.5" stroke-width="2.2" fill="none" class="lh-s-dead"/></g>`;
    if (kind === 0) return `<circle r="4" stroke-width="1.8" class="lh-f-paper lh-s-read" ${place}/>`;
    if (kind === 1) return `<circle r="4.6" class="lh-f-consumed" ${place}/>`;
    if (kind === 2) return `<path d="M0-5.6L5.6 0L0 5.6L-5.6 0Z" class="lh-f-made" ${place}/>`;
    return `<path d="M-4-4L4 4M4-4L-4 4" stroke-width="2.4" fill="none" class="lh-s-dead" ${place}/>`;
  }

  // What the marks and bars mean, of those that there are.
  signs() {
    const { rows, data } = this;
    const every = (list, nth) => new Set(list.flatMap((each) => each.filter((_, i) => i % 3 === nth)));
    const [kinds, states] = [every(rows.map((row) => row.events), 1), every(rows.map((row) => row.states), 2)];
    const size = 'x="1" y="4.5" width="26" height="7" rx="2"';
    const bars = [`<rect ${size} class="lh-f-live"/>`, `<rect ${size} class="lh-f-paper lh-s-empty" stroke-width="1.5"/>`,
      '<path d="M1 8H27" class="lh-s-invalid" stroke-width="7" stroke-dasharray="1.5 3.5"/>'];
    const signs = [...EVENTS.keys()].filter((kind) => kinds.has(kind)).map((kind) => [14, this.shape(kind, 7, 8, 1), KEY[kind]]);
    const late = rows.flatMap((row) => row.events.filter((kind, i) => i % 3 === 1 && kind < 2 && this.death(row) < row.events[i - 1]));
    if (late.length) signs.push([16, this.shape(late[0], 8, 8, 1, true), KEY[8]]);
    signs.push(...bars.map((bar, state) => [28, bar, KEY[4 + state]]).filter((_, state) => states.has(state)));
    if (data.ties.length) signs.push([28, '<path d="M2 3Q14 3 14 8T26 13" fill="none" stroke-width="1.6" class="lh-s-dead"/>', KEY[7]]);
    return signs.map(([width, sign, words]) => `<span><svg width="${width}" height="16">${sign}</svg>${words}</span>`).join("");
  }

  // From the handle that was consumed to those that were invalidated with it; rows out of sight are above or below.
  tie([moment, step, by, rows], begin, end, x, places) {
    const c = this.columnOf[moment];
    if (!this.isSeen[moment] || c < begin || c >= end || this.width < 10) return "";
    const from = places.get(by);
    const ends = rows.map((row) => places.get(row)).filter((y) => y !== undefined);
    if (from === undefined || !ends.length) return "";
    const trunk = x(c) + this.width / 2;
    const paths = ends.map((y) => {
      const bend = y > from ? 7 : -7;
      return `M${(x(c) + this.width * 0.3).toFixed(1)} ${from}Q${trunk.toFixed(1)} ${from} ${trunk.toFixed(1)} ${from + bend}V${y - bend}Q${trunk.toFixed(1)} ${y} ${(x(c) + this.width * 0.72).toFixed(1)} ${y}`;
    });
    const said = `step ${step} consumed ${this.rows[by].called}, and ${rows.length === 1 ? "another handle was" : `${rows.length} other handles were`} invalidated with it`;
    return `<path d="${paths.join("")}" fill="none" stroke-width="1.6" class="lh-s-dead lh-arc" data-step="${step}" data-handle="${safe(this.rows[by].id)}"><title>${safe(said)}</title></path>`;
  }

  // All columns: steps with an effect, deaths below, failures across; and what is in sight.
  drawMap(begin, end) {
    const { moments, at, steps } = this.data;
    const count = this.columns.length;
    this.map.hidden = count * this.width <= this.room + 1;
    if (this.map.hidden) return;
    const unit = 1000 / count;
    const key = `${this.text.length} ${count} ${this.columns[0]} ${this.effects.checked} ${this.hits.length} ${this.words.value}`;
    if (this.mapKey !== key || this.mapColumns !== this.columns) {
      const ticks = { "faint": "", ink: "", dead: "", selected: "" };
      this.columns.forEach((moment, c) => {
        const [, status, effect] = steps[at[moment]] ?? [0, 0, 0];
        const place = `M${(c * unit).toFixed(2)} `;
        const size = `h${Math.max(unit, 0.8).toFixed(2)}`;
        if (moments[moment] === "s" && status > 0 && status < 4) ticks.dead += `${place}0${size}v24h-${Math.max(unit, 0.8).toFixed(2)}z`;
        else ticks[effect && moments[moment] === "s" ? "ink" : "faint"] += `${place}${effect ? 4 : 10}${size}v${effect ? 8 : 2}h-${Math.max(unit, 0.8).toFixed(2)}z`;
      });
      const dead = new Set();
      for (const row of this.rows) for (let i = 1; i < row.events.length; i += 3) if (row.events[i] === 3 && this.isSeen[row.events[i - 1]]) dead.add(this.columnOf[row.events[i - 1]]);
      for (const c of dead) ticks.dead += `M${(c * unit).toFixed(2)} 15h${Math.max(unit, 1.2).toFixed(2)}v6h-${Math.max(unit, 1.2).toFixed(2)}z`;
      for (const { moment } of this.hits) ticks.selected += `M${(this.columnOf[moment] * unit).toFixed(2)} 0h${Math.max(unit, 2).toFixed(2)}v24h-${Math.max(unit, 2).toFixed(2)}z`;
      const paths = Object.entries(ticks).map(([tone, d]) => `<path d="${d}" class="lh-f-${tone}"${tone === "faint" ? ' fill-opacity=".45"' : tone === "ink" ? ' fill-opacity=".6"' : ""}/>`);
      this.map.innerHTML = `<svg viewBox="0 0 1000 24" preserveAspectRatio="none">${paths.join("")}<rect class="lh-tl-window" y="0.5" height="23"/><rect class="lh-tl-mapnow lh-f-ink" y="0" height="24"/></svg>`;
      [this.mapKey, this.mapColumns] = [key, this.columns];
    }
    const place = (name, from, width) => {
      const node = this.map.querySelector(name);
      node.setAttribute("x", from.toFixed(2));
      node.setAttribute("width", Math.max(width, 1).toFixed(2));
    };
    place(".lh-tl-window", begin * unit, (end - begin) * unit);
    place(".lh-tl-mapnow", this.nowColumn * unit, 1.5);
  }
}
