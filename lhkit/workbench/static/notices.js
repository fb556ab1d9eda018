// Lines between the bar and the panes: what runs, with the button that ends it, and what Python has to say.

// A notice in words: its message as a sentence, and what to do next.
function wordsOfNotice({ message, advice }) {
  return advice ? `${message}${/[.!?:…]$/.test(message) ? "" : "."} ${advice}` : message;
}

class RunLine {
  constructor(bench) {
    this.bench = bench;
    this.bar = make("progress", { "aria-label": "progress" });
    this.said = make("span", { class: "lh-said" });
    // Not through the queue: a command that takes long must not keep it waiting.
    this.halt = make("button", { type: "button", onclick: () => bench.channel.send({ do: "stop" }) }, "■ stop");
    this.node = make("div", { class: "lhw-run-line", role: "status", hidden: true }, this.bar, this.said, this.halt);
  }

  show() {
    const { kind, said, done, total } = this.bench.part("run");
    const wasHalt = document.activeElement === this.halt;
    this.node.hidden = !kind;
    this.bench.top.showRun(kind);
    if (!kind) {
      if (wasHalt) this.bench.top.run.focus();
      return;
    }
    if (total) {
      this.bar.max = total;
      this.bar.value = done;
    } else this.bar.removeAttribute("value");
    this.said.textContent = `${kind}${total ? ` ${done} of ${total}` : ""}: ${said}`;
  }
}

// What comes from elsewhere is shown and not applied, until its reader says so.
class TrustBanner {
  constructor(bench) {
    this.bench = bench;
    this.title = make("b", { id: bench.idOf("trust-title") });
    this.said = make("p", { id: bench.idOf("trust-said") });
    const press = { type: "button", class: "lhw-trust-button", "aria-describedby": this.said.id, "data-do": JSON.stringify({ do: "trust" }) };
    this.button = make("button", press, "Trust and trace");
    this.node = make("section", { class: "lhw-trust", role: "region", "aria-labelledby": this.title.id, hidden: true }, make("div", {}, this.title, this.said), this.button);
  }

  show() {
    const banner = this.bench.part("trust");
    const hadFocus = this.node.contains(document.activeElement);
    this.node.hidden = !banner;
    if (!banner) {
      if (hadFocus) this.bench.top.run.focus();
      return;
    }
    this.title.textContent = banner.title;
    this.said.textContent = banner.message;
  }
}

class NoticeLine {
  constructor(bench) {
    this.bench = bench;
    this.node = make("div", { class: "lhw-notice", role: "status", "aria-live": "polite" });
  }

  show() {
    const notice = this.bench.part("notice");
    if (!notice) return this.node.replaceChildren();
    const close = make("button", { type: "button", class: "lhw-close", "aria-label": "close", onclick: () => this.node.replaceChildren() }, "✕");
    const actions = notice.actions.map(({ label, command }) => make("button", { type: "button", "data-do": JSON.stringify(command) }, label));
    this.node.dataset.kind = notice.kind;
    this.node.replaceChildren(make("span", {}, wordsOfNotice(notice)), ...actions, close);
  }

  // Say something that Python did not make a notice of.
  say(message, kind = "refused") {
    this.node.dataset.kind = kind;
    this.node.replaceChildren(make("span", {}, message));
  }
}
