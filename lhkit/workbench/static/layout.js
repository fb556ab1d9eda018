// The layout of the panes: a tree of columns and rows whose leaves are areas, one tree for screens with room for two
// columns and one for three. Presets say where areas are; a reader's changes are kept by Python with the screen.

const TWO_COLUMNS_PX = 600;
const THREE_COLUMNS_PX = 1100;
const MOST_AREAS = 16;
const MOST_DEPTH = 8;
const AUTO = 0; // the size of an area that is as high as what is in it, up to a third

const area = (size, ...areas) => ({ size, areas });
const rows = (size, ...children) => ({ size, rows: children });
const columns = (size, ...children) => ({ size, columns: children });

// What each is for; the panes that come to the front, and those that are closed; the trees.
const PRESETS = {
  compose: {
    title: "compose: steps and payload",
    front: ["steps", "payload", "timeline", "tiles", "guide"],
    2: rows(1, columns(1, area(1, "left"), rows(1.25, area(1, "middle"), area(1.4, "handles", "pictures"))), area(AUTO, "bottom")),
    3: columns(
      1,
      rows(2.65, columns(1, area(1.05, "left"), area(1.6, "middle")), area(AUTO, "bottom")),
      rows(1.45, area(1.25, "handles"), area(1, "pictures")),
    ),
  },
  debug: {
    title: "debug: handles, the guide with its repairs",
    front: ["guide", "timeline", "steps", "payload", "schedule_graph"],
    2: columns(1, rows(1, area(1.2, "left"), area(1, "bottom")), rows(1.25, area(1, "handles", "pictures"), area(1, "middle"))),
    3: columns(
      1,
      rows(1, area(1.2, "left"), area(1, "bottom")),
      rows(1.35, area(1, "handles"), area(1, "middle")),
      area(1, "pictures"),
    ),
  },
  tune: {
    title: "tune: results and tiles",
    front: ["results", "tiles", "steps", "payload", "timeline"],
    2: columns(1, rows(1, area(1.1, "left"), area(1, "bottom")), rows(1.25, area(2.2, "pictures", "handles"), area(1, "middle"))),
    3: columns(1, area(1, "left"), rows(1.6, area(1.3, "bottom"), area(1, "middle")), area(1.2, "pictures", "handles")),
  },
  teach: {
    title: "teach: little at once",
    front: ["steps", "payload", "timeline"],
    closed: ["text", "schedule_graph", "payload_graph", "code", "passes"],
    2: columns(1, area(1, "left"), rows(1.35, area(1.2, "middle"), area(1, "handles", "pictures", "bottom"))),
    3: columns(1, area(1, "left"), rows(1.9, area(1.3, "middle"), area(1, "handles", "pictures", "bottom"))),
  },
};

function columnsFor(width) {
  return width < TWO_COLUMNS_PX ? 1 : width < THREE_COLUMNS_PX ? 2 : 3;
}

// The leaves of a tree, from left to right and from top to bottom.
function leavesOf(tree) {
  return tree.areas ? [tree] : childrenOf(tree).flatMap(leavesOf);
}

function childrenOf(tree) {
  return tree.rows ?? tree.columns;
}

// The tree with some of its leaves; null if none is left.
function pruned(tree, isKept) {
  if (tree.areas) return isKept(tree) ? tree : null;
  const kept = childrenOf(tree).map((child) => pruned(child, isKept)).filter(Boolean);
  if (kept.length < 2) return kept.length ? { ...kept[0], size: tree.size } : null;
  return tree.rows ? { ...tree, rows: kept } : { ...tree, columns: kept };
}

class Layout {
  constructor() {
    this.use("compose");
  }

  use(preset) {
    this.preset = preset;
    this.closed = PRESETS[preset].closed ?? [];
    this.trees = { 2: structuredClone(PRESETS[preset][2]), 3: structuredClone(PRESETS[preset][3]) };
    this.places = { 2: {}, 3: {} }; // areas of panes that are elsewhere than usual
    this.changed = new Set(); // the numbers of columns whose tree the reader has changed
  }

  // Take a layout as Python kept it. It may be of a file from elsewhere: what is not well formed is left out.
  take(text) {
    let given = null;
    try {
      given = JSON.parse(text);
    } catch {
      // None was kept.
    }
    this.use(Object.hasOwn(PRESETS, given?.preset ?? "") ? given.preset : "compose");
    if (given?.closed) this.closed = strings(given.closed);
    for (const count of [2, 3]) {
      const { tree, places } = given?.own?.[count] ?? {};
      if (!isTree(tree)) continue;
      this.trees[count] = tree;
      this.places[count] = Object.fromEntries(Object.entries(places ?? {}).filter(([, name]) => typeof name === "string"));
      this.changed.add(count);
    }
  }

  toJSON() {
    const { preset, closed, trees, places } = this;
    const own = [...this.changed].map((count) => [count, { tree: trees[count], places: places[count] }]);
    return { preset, closed, own: Object.fromEntries(own) };
  }

  // The first area of the leaf that a pane is in.
  areaOf({ key, area: usual }, count) {
    const leaves = leavesOf(this.trees[count]);
    const holding = (name) => leaves.find(({ areas }) => areas.includes(name));
    return (holding(this.places[count][key]) ?? holding(usual) ?? leaves[0]).areas[0];
  }

  // Put a pane into an area, or beside it: on which side of it. Return the area that it is in.
  move(key, target, side, count) {
    const leaves = leavesOf(this.trees[count]);
    const leaf = leaves.find(({ areas }) => areas[0] === target);
    if (!leaf || (side && leaves.length >= MOST_AREAS)) return target;
    this.changed.add(count);
    let name = target;
    if (side) {
      let number = 1;
      while (leaves.some(({ areas }) => areas.includes(`own${number}`))) number += 1;
      name = `own${number}`;
      const both = [{ areas: leaf.areas, size: 1 }, area(1, name)];
      if (side === "left" || side === "above") both.reverse();
      delete leaf.areas;
      leaf[side === "left" || side === "right" ? "columns" : "rows"] = both;
      leaf.size ||= 1;
    }
    this.places[count][key] = name;
    const used = new Set(Object.values(this.places[count]));
    this.trees[count] = pruned(this.trees[count], ({ areas }) => areas.some((each) => !each.startsWith("own") || used.has(each)));
    return name;
  }
}

function strings(value) {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function isTree(tree, depth = 0) {
  if (typeof tree !== "object" || tree === null || depth > MOST_DEPTH) return false;
  if (!(Number.isFinite(tree.size) && tree.size >= 0)) return false;
  if (tree.areas) return Array.isArray(tree.areas) && tree.areas.length > 0 && strings(tree.areas).length === tree.areas.length;
  const children = childrenOf(tree);
  if (!Array.isArray(children) || !children.length || !children.every((child) => isTree(child, depth + 1))) return false;
  return depth > 0 || leavesOf(tree).length <= MOST_AREAS;
}
