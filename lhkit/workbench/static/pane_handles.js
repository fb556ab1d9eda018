// States of handles, and pictures: tiles, the graph of the schedule.

class TimelinePane extends BenchPane {
  static key = "timeline";
  static title = "Handles";
  static area = "handles";
  static shows = ["timeline"];

  constructor(bench) {
    super(bench);
    this.said = make("div", { class: "lhw-bar lhw-pointed lh-said", "aria-hidden": "true" }); // screen readers hear the labels
    this.node.prepend(this.said);
    this.body.tabIndex = -1; // what scrolls in it has the focus
    this.timeline = new HandleTimeline({ drawn: () => this.reindex(), go: (step) => bench.goTo(step) });
    this.frame.append(this.timeline.node);
    for (const name of ["pointerover", "focusin"]) this.body.addEventListener(name, (event) => this.point(event.target));
    for (const name of ["pointerleave", "focusout"]) this.body.addEventListener(name, () => this.point(null));
  }

  async update() {
    const turn = ++this.turn;
    const data = await unpacked(this.bench.part("timeline"));
    if (turn !== this.turn) return;
    this.timeline.show(data);
    this.showStep();
  }

  showStep() {
    this.timeline.setStep(this.bench.step);
  }

  // Say at once what is pointed at, or has the focus: the columns have numbers only.
  point(node) {
    const titled = node?.closest?.("g:has(> title), :is(rect, line, path):has(> title)");
    const text = titled?.querySelector(":scope > title").textContent.replaceAll("\n", " · ") ?? "";
    this.said.textContent = text;
    this.said.title = text;
  }
}

const LEAST_FIT = 0.75; // letters of 12 px have 9 then

class TilesPane extends PicturePane {
  static key = "tiles";
  static title = "Tiles";
  static shows = ["tiles"];

  constructor(bench) {
    super(bench);
    this.chosen = -1; // until the reader moves it, Python says where each picture starts
    this.slider = new Slider(1, "iteration", (at) => this.go((this.chosen = at)));
    this.said = make("output", { class: "lh-said" });
    this.play = make("button", { type: "button", onclick: () => this.toggle() }, "▶ play");
    this.bar = make("div", { class: "lhw-bar" }, this.slider.node, this.play, this.said);
    this.node.prepend(this.bar);
    new ResizeObserver(() => this.found && this.fit()).observe(this.body);
  }

  update() {
    clearTimeout(this.resting);
    return this.go(this.chosen);
  }

  // Show the whole picture, or where its letters would be too small to read one with less in it.
  async fit() {
    const { found, body } = this;
    const html = await unpacked(found.html);
    const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(html) ?? [];
    const isSmall = body.clientHeight > 0 && Math.min(body.clientWidth / width, body.clientHeight / height) < LEAST_FIT;
    if (found === this.found) await this.place(isSmall ? found.brief : html);
  }

  // The picture follows the step when the hand rests: each is drawn in Python.
  showStep() {
    if (this.bench.step === this.step) return;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.go(this.chosen), REST_MS);
  }

  // Show an iteration at the step that is shown: one may be there, the others are asked for.
  async go(at) {
    const part = this.bench.part("tiles");
    const { step } = this.bench;
    const turn = (this.asked = {});
    this.step = step;
    if (at >= 0) this.slider.set(at, this.said.textContent);
    try {
      const isHere = part.step === step && (at < 0 || at === part.iteration);
      const found = isHere ? part : await this.bench.ask({ ask: "tiles", key: part.key, step, iteration: at });
      if (turn !== this.asked) return;
      this.bar.hidden = found.count < 2;
      this.slider.count = Math.max(found.count, 1);
      this.slider.set(found.iteration, found.label);
      say(this.said, (this.said.title = found.label));
      this.found = found;
      await this.fit();
    } catch {
      // Another trace is shown by now, and its picture is on its way.
    }
  }

  toggle() {
    clearInterval(this.timer);
    this.timer = this.timer ? null : setInterval(() => {
      if (this.node.isConnected) this.go((this.chosen = (this.slider.at + 1) % this.slider.count));
      else this.toggle();
    }, PLAY_MS);
    this.play.textContent = this.timer ? "■ stop" : "▶ play";
  }
}

class ScheduleGraphPane extends PicturePane {
  static key = "schedule_graph";
  static title = "Schedule graph";
  static shows = ["schedule_graph"];

  update() {
    return this.place(this.bench.part("schedule_graph"));
  }
}

// The graph of the payload after the step that is shown: drawn when it is asked for, since large ones take a while.
class PayloadGraphPane extends PicturePane {
  static key = "payload_graph";
  static title = "Payload graph";
  static shows = ["payload"];

  async showStep() {
    const { key } = this.bench.part("trace");
    const { step } = this.bench;
    const name = `${key}|${step}`;
    if (name === this.shown) return;
    this.shown = name;
    try {
      const svg = await this.bench.ask({ ask: "payload_graph", key, step });
      if (name === this.shown) await this.place(svg);
    } catch (error) {
      if (name === this.shown) this.body.textContent = error.message;
    }
  }

  update() {
    return this.showStep();
  }
}

PANES.push(TimelinePane, TilesPane, ScheduleGraphPane, PayloadGraphPane);
