// How a reader puts panes elsewhere: the menu of an area, and tabs that are dragged to an area or to a side of it.

const SIDES = { left: "←", right: "→", above: "↑", below: "↓" };
const EDGE = 0.25; // the share of an area at each side that means that side

class AreaMenu {
  constructor(areas) {
    this.areas = areas;
    this.node = make("div", { class: "lhw-menu", role: "menu", popover: "auto" });
    this.node.addEventListener("keydown", (event) => this.key(event));
  }

  // The button of an area's strip that opens the menu.
  button(name) {
    const known = { type: "button", class: "lhw-arrange", "aria-haspopup": "menu", title: "arrange this pane", "aria-label": `arrange: ${name}` };
    const button = make("button", { ...known, onclick: () => this.open(name, button) }, "⋯");
    return button;
  }

  open(name, button) {
    const { areas } = this;
    const key = areas.shown.get(name);
    const titleOf = (each) => areas.bench.panes.find((pane) => pane.constructor.key === each).constructor.title;
    const item = (label, act, title = label) => {
      const known = { type: "button", role: "menuitem", title, "aria-label": title };
      return make("button", { ...known, onclick: () => (this.node.hidePopover(), act(), this.refocus(key)) }, label);
    };
    const alone = areas.groups.get(name).length === 1;
    const sides = Object.entries(SIDES).map(([side, mark]) => item(mark, () => areas.move(key, name, side), `put ${titleOf(key)} ${side}`));
    const others = [...areas.shown].filter(([other]) => other !== name);
    this.node.replaceChildren(
      make("div", { class: "lhw-menu-title" }, titleOf(key)),
      ...(alone ? [] : [make("div", { class: "lhw-menu-sides", role: "group", "aria-label": "beside the others" }, ...sides)]),
      ...others.map(([other, front]) => item(`to ${titleOf(front)}`, () => areas.move(key, other), `put ${titleOf(key)} beside ${titleOf(front)}, as a tab`)),
      item("close", () => areas.close(key), `close ${titleOf(key)}`),
    );
    areas.bench.el.append(this.node);
    this.node.showPopover();
    const box = button.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.node;
    const within = (at, size, most) => `${Math.max(0, Math.min(at, most - size))}px`;
    this.node.style.left = within(box.right - offsetWidth, offsetWidth, window.innerWidth);
    this.node.style.top = within(box.bottom, offsetHeight, window.innerHeight);
    this.node.querySelector("[role=menuitem]").focus();
  }

  refocus(key) {
    const pane = this.areas.bench.panes.find((each) => each.constructor.key === key);
    const isOpen = this.areas.isOpen(pane);
    (isOpen ? pane.tab : this.areas.bench.top.layouts).focus();
  }

  key(event) {
    event.stopPropagation(); // Escape closes the menu, and means nothing else
    const items = [...this.node.querySelectorAll("[role=menuitem]")];
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    items[(items.indexOf(document.activeElement) + by + items.length) % items.length].focus();
  }
}

// A tab that can be dragged to other areas.
function draggedTab(areas, key, tab) {
  tab.draggable = true;
  tab.addEventListener("dragstart", (event) => {
    areas.dragged = key;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", key);
    event.stopPropagation();
  });
  tab.addEventListener("dragend", () => (areas.dragged = null));
  return tab;
}

// An area that takes tabs: into it, or to a side of it.
function dropTarget(areas, section) {
  const sideOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = section.getBoundingClientRect();
    const [x, y] = [(clientX - left) / width, (clientY - top) / height];
    const [across, down] = [Math.min(x, 1 - x), Math.min(y, 1 - y)];
    if (Math.min(across, down) > EDGE || y * height < section.firstChild.offsetHeight) return "";
    return across < down ? (x < 0.5 ? "left" : "right") : y < 0.5 ? "above" : "below";
  };
  const leave = () => delete section.dataset.dropSide;
  section.addEventListener("dragover", (event) => {
    if (!areas.dragged || areas.columns === 1) return;
    event.preventDefault();
    section.dataset.dropSide = sideOf(event) || "into";
  });
  section.addEventListener("dragleave", (event) => section.contains(event.relatedTarget) || leave());
  section.addEventListener("drop", (event) => {
    leave();
    if (!areas.dragged || areas.columns === 1) return;
    event.preventDefault();
    const name = section.dataset.area;
    const side = sideOf(event);
    const isSame = areas.groups.get(name).some((pane) => pane.constructor.key === areas.dragged);
    if (!isSame || (side && areas.groups.get(name).length > 1)) areas.move(areas.dragged, name, side);
    areas.dragged = null;
  });
  return section;
}
