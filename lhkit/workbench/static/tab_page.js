// The page of a workbench without Jupyter: the model of the widget over a web socket, and the widget in the page.

import workbench from "./workbench.js";

const AGAIN_MS = 2000; // between attempts to reach the server
const WORDS = {
  gone: "disconnected: lhkit explore has ended. Start it again, and open the address that it prints.",
  silent: "disconnected: lhkit explore does not answer. If it is busy, wait; if it has ended, start it again.",
};

// What scripts of a widget need of its model: get, set, on, off, send; state and messages come from the server.
class TabModel {
  constructor() {
    this.state = {};
    this.handlers = new Map();
    this.words = WORDS;
    this.ready = new Promise((resolve) => (this.resolve = resolve));
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    this.socket.addEventListener("message", ({ data }) => this.hear(JSON.parse(data)));
    this.socket.addEventListener("close", () => {
      this.trigger("comm_live_update");
      setTimeout(() => this.connect(), AGAIN_MS);
    });
  }

  hear({ method, state, content }) {
    if (method === "custom") return this.trigger("msg:custom", content);
    // All are set before the first is told of, as panes read each other's.
    Object.assign(this.state, state);
    this.resolve();
    for (const name of Object.keys(state)) this.trigger(`change:${name}`);
  }

  get(name) {
    return this.state[name];
  }

  // Of this page alone: the server has the value.
  set(values) {
    // All are set before the first is told of, as panes read each other's.
    Object.assign(this.state, values);
    for (const name of Object.keys(values)) this.trigger(`change:${name}`);
  }

  send(content) {
    if (this.socket.readyState !== WebSocket.OPEN) throw new Error(WORDS.gone);
    this.socket.send(JSON.stringify(content));
  }

  on(name, handler) {
    if (!this.handlers.has(name)) this.handlers.set(name, new Set());
    this.handlers.get(name).add(handler);
  }

  off(name, handler) {
    this.handlers.get(name)?.delete(handler);
  }

  trigger(name, ...given) {
    for (const handler of [...(this.handlers.get(name) ?? [])]) handler(...given);
  }
}

// The token is a cookie by now: the address without it can be shown to others.
history.replaceState(null, "", location.pathname);
const model = new TabModel();
await model.ready;
const nameTab = () => {
  const { schedule, payload } = model.get("part_head");
  document.title = `${schedule} on ${payload} · lhkit`;
};
model.on("change:part_head", nameTab);
nameTab();
await workbench.render({ model, el: document.querySelector("main") });
