// The board of a running sweep: progress, best so far, a heat map that fills, charts, and a button that stops it.

// The colour map cividis at nine places from slow to fast; between them colours are mixed.
const COLORS = [
  [0, 32, 77], [15, 53, 110], [59, 73, 108], [88, 95, 109], [116, 117, 120],
  [146, 140, 119], [179, 164, 109], [215, 191, 89], [255, 234, 70],
];

// Cells of larger maps are too small for numbers; their titles have them.
const MOST_PRINTED = 24;

function colorOf(level) {
  const at = level * (COLORS.length - 1);
  const below = Math.min(Math.floor(at), COLORS.length - 2);
  const mixed = COLORS[below].map((c, i) => Math.round(c + (COLORS[below + 1][i] - c) * (at - below)));
  return `rgb(${mixed.join(",")})`;
}

function make(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function drawCell(cell) {
  if (cell === undefined) return make("td", "");
  const drawn = make("td", "lh-cell");
  drawn.textContent = cell.text;
  drawn.title = `${cell.text} ${cell.status}`;
  if (cell.level !== null) {
    drawn.style.background = colorOf(cell.level);
    drawn.style.color = cell.level < 0.55 ? "#ffffff" : "#101014";
  }
  drawn.classList.toggle("lh-best", cell.is_framed);
  return drawn;
}

function drawFacet(heat, facet) {
  const isDense = Math.max(heat.x_values.length, heat.y_values.length) > MOST_PRINTED;
  const table = make("table", isDense ? "lh-facet lh-dense" : "lh-facet");
  if (facet.label) table.append(make("caption", "", facet.label));
  const cells = new Map(facet.cells.map((cell) => [`${cell.row} ${cell.column}`, cell]));
  for (let row = heat.y_values.length - 1; row >= 0; row--) {
    const line = make("tr", "");
    line.append(make("th", "", heat.y_values[row]));
    heat.x_values.forEach((_, column) => line.append(drawCell(cells.get(`${row} ${column}`))));
    table.append(line);
  }
  const foot = make("tr", "");
  foot.append(make("th", ""), ...heat.x_values.map((value) => make("th", "", value)));
  table.append(foot);
  return table;
}

function drawHeat(place, heat) {
  place.replaceChildren();
  if (!heat) return;
  const names = heat.y_name ? `up: ${heat.y_name}, to the right: ${heat.x_name}` : heat.x_name;
  const framed = heat.is_timed ? `; framed: ${heat.framed}` : "";
  place.append(make("div", "lh-faint", `${names}; time as a multiple of the least, each timed alone${framed}`));
  const facets = make("div", "lh-facets");
  facets.append(...heat.facets.map((facet) => drawFacet(heat, facet)));
  place.append(facets);
  const legend = heat.legend.map(([mark, words]) => `${mark} ${words}`).join(" · ");
  if (legend) place.append(make("div", "lh-faint", legend));
}

function render({ model, el }) {
  const board = make("div", "lh-board");
  const head = make("div", "lh-head");
  const bar = make("progress", "lh-bar");
  bar.setAttribute("aria-label", "variants done");
  const said = make("span", "lh-said");
  said.setAttribute("role", "status");
  const stop = make("button", "lh-stop", "Stop");
  stop.type = "button";
  const best = make("div", "lh-so-far");
  const race = make("div", "lh-race");
  const heat = make("div", "lh-heat");
  const charts = make("div", "lh-charts");
  head.append(bar, said, stop);
  board.append(head, best, race, heat, charts);
  el.append(board);

  stop.addEventListener("click", () => {
    stop.disabled = true;
    stop.textContent = "stopping…";
    model.send({ kind: "stop" });
  });

  function show() {
    const state = model.get("state");
    const isOver = state.end !== null;
    const step = state.confirming;
    const isRacing = step !== null && !isOver;
    bar.setAttribute("aria-label", isRacing ? "processes done" : "variants done");
    if (isRacing) {
      bar.max = Math.max(step.total, 1);
      bar.value = step.done;
    } else if (state.total === null && !isOver) bar.removeAttribute("value");
    else {
      bar.max = Math.max(state.total ?? state.done, 1);
      bar.value = state.done;
    }
    const of = state.total === null ? "" : ` of ${state.total}`;
    const failures = state.failures.map(([status, count]) => `, ${count} ${status}`).join("");
    said.textContent = `${state.done}${of} variants${failures}${isOver ? `: ${state.end}` : ""}`;
    best.textContent = state.best === null ? "no best yet" : `best so far: ${state.best}`;
    race.hidden = step === null;
    if (isRacing) {
      race.textContent = `timing the best again side by side: ${step.done} of at most ${step.total} processes, ${step.words}`;
    } else if (step !== null) race.textContent = step.words;
    stop.hidden = isOver;
    drawHeat(heat, state.heat);
  }

  const shown = new Map();
  // Python draws them, one after the other: only what is new is replaced.
  function showCharts() {
    for (const [heading, drawing] of Object.entries(model.get("charts") ?? {})) {
      if (!shown.has(heading)) {
        const section = make("section", "lh-chart");
        section.append(make("h4", "", heading), make("div", ""));
        shown.set(heading, { drawing: "", place: section.lastChild });
        charts.append(section);
      }
      const known = shown.get(heading);
      if (known.drawing !== drawing) known.place.innerHTML = known.drawing = drawing;
    }
  }

  show();
  showCharts();
  model.on("change:state", show);
  model.on("change:charts", showCharts);
  return () => {
    model.off("change:state", show);
    model.off("change:charts", showCharts);
  };
}

export default { render };
