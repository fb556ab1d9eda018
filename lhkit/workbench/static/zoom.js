// Pictures that are made larger and smaller: by buttons, by keys, by the wheel with Ctrl (without it the notebook
// scrolls). The zoom is the pane's: it stays when another step or another iteration is drawn.

const ZOOM_STEP = 1.25;
const ZOOM_LEAST = 0.25;
const ZOOM_MOST = 8;
const ZOOM_MARGIN_PX = 6;

class Zoom {
  constructor(body, name) {
    this.body = body;
    this.factor = 1; // 1 fits the pane
    const button = (label, title, act) => make("button", { type: "button", title, "aria-label": `${title.split(" (")[0]}: ${name}`, onclick: act }, label);
    this.said = make("output", { class: "lhw-zoom-said", "aria-label": `zoom: ${name}` });
    this.node = make(
      "div", { class: "lhw-zoom", role: "toolbar", "aria-label": `zoom: ${name}` },
      this.said,
      button("−", "zoom out (-)", () => this.by(1 / ZOOM_STEP)),
      button("fit", "fit the pane (0)", () => this.to(1)),
      button("+", "zoom in (+)", () => this.by(ZOOM_STEP)),
    );
    body.classList.add("lhw-zoomed");
    body.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.tell();
  }

  by(ratio, at) {
    this.to(this.factor * ratio, at);
  }

  // Zoom; the place of the picture that is `at` x and y of the body stays where it is.
  to(factor, at = { x: this.body.clientWidth / 2, y: this.body.clientHeight / 2 }) {
    const { body } = this;
    const svg = body.querySelector("svg");
    const place = () => {
      const [outer, { left, top, width, height }] = [body.getBoundingClientRect(), svg.getBoundingClientRect()];
      return { x: left - outer.left, y: top - outer.top, width, height };
    };
    const before = svg && place();
    this.factor = Math.min(Math.max(factor, ZOOM_LEAST), ZOOM_MOST);
    this.tell();
    if (!before?.width) return;
    const after = place();
    body.scrollLeft += after.x + ((at.x - before.x) * after.width) / before.width - at.x;
    body.scrollTop += after.y + ((at.y - before.y) * after.height) / before.height - at.y;
  }

  tell() {
    this.body.style.setProperty("--lhw-zoom", this.factor);
    this.said.textContent = this.factor === 1 ? "" : `${Math.round(this.factor * 100)} %`;
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = this.body.getBoundingClientRect();
    this.by(2 ** (-event.deltaY / 300), { x: event.clientX - box.left, y: event.clientY - box.top });
  }

  // A key was pressed; true if it meant something.
  key({ key, ctrlKey, metaKey, altKey, target }) {
    if (ctrlKey || metaKey || altKey || target.matches("input, select")) return false;
    if (key === "+" || key === "=") this.by(ZOOM_STEP);
    else if (key === "-") this.by(1 / ZOOM_STEP);
    else if (key === "0") this.to(1);
    else return false;
    return true;
  }

  // A picture was placed: know how large it is of itself, and take the margin away in which nothing is drawn.
  take() {
    const svg = this.body.querySelector("svg");
    if (!svg || svg === this.taken) return;
    const drawn = svg.getBBox();
    if (!drawn.width) return; // behind another pane: it is taken when it comes to the front
    this.taken = svg;
    const { x, y, width, height } = svg.viewBox.baseVal;
    // What is narrower by little stays as it is, so that iterations do not jump.
    const right = Math.min(x + width, 40 * Math.ceil((drawn.x + drawn.width + ZOOM_MARGIN_PX) / 40));
    svg.setAttribute("viewBox", `${x} ${y} ${right - x} ${height}`);
    svg.setAttribute("width", right - x);
    svg.style.setProperty("--lhw-natural", `${right - x}px`);
    svg.style.setProperty("--lhw-aspect", (right - x) / height);
  }
}

// A pane that shows a picture.
class PicturePane extends BenchPane {
  static area = "pictures";
  static items = "[tabindex]";

  constructor(bench) {
    super(bench);
    this.zoom = new Zoom(this.body, this.constructor.title);
    this.node.append(this.zoom.node);
  }

  async place(part) {
    const isPlaced = await super.place(part);
    if (isPlaced) this.zoom.take();
    return isPlaced;
  }

  key(event) {
    return this.zoom.key(event);
  }
}
