"""Every HTML output, made from files whose names try to be markup: nothing of theirs executes, loads or is an element."""

import dataclasses
import html
import json
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sweep_records import comparison, grid, record, result_of

import lhkit
from lhkit.compose.session import Session
from lhkit.exercises.attempt import Finding, Verdict
from lhkit.lessons.publishing import publish_notebook
from lhkit.show.comparison_page import links_page, render_page
from lhkit.sweeps.sweep_board import SweepBoard
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.workbench.widget import WorkbenchWidget
from lhkit.workbench.workbench_exports import exported

# What a name could end or begin, where it was not escaped: elements, attributes, scripts, addresses, mathematics.
EVIL = (
    "</script><img src=x onerror=window.pwned=1><a href='javascript:window.pwned=2'>x</a>"
    "\" onmouseover=\"window.pwned=3\" ' autofocus onfocus='window.pwned=4' "
    "</pre></style></title><script>window.pwned=5</script><svg onload=window.pwned=6>"
    "](javascript:window.pwned=7) ${window.pwned=8} $\\frac$ http://pwned.test/ \u202etxt\u2066\x1b[31m -->"
)
# Without what a file's name may not have.
FILE = "<img src=x onerror=window.pwned=9>\" onload='window.pwned=10' $\\frac$ \u202etxt\x1b[31m"
HANDLE = "%onerror.pwned-1$"
ANY = "!transform.any_op"
# The words that each output has to show, or it was empty.
SHOWN = "window.pwned="
# What shows numbers and machine code, and no name.
NAMELESS = ("code", "tiles")


def spelled(text):
    """Return a text as a string of MLIR."""
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in text.encode())
    return f'"{"".join(plain)}"'


PAYLOAD = f"""module {{
  func.func @{spelled(EVIL)}(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32>
      attributes {{llvm.emit_c_interface}} {{
    %0 = linalg.matmul {{note = {spelled(EVIL)}}} ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }}
}}
"""
SCHEDULE = f"""// {EVIL}
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @{spelled(EVIL)}(%root: {ANY} {{transform.consumed}}) {{
    {HANDLE} = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}
    %n = transform.tune.knob<{spelled(EVIL)}> = 4 : i64 from options = [2, 4] -> !transform.param<i64>
    transform.debug.emit_remark_at {HANDLE}, {spelled(EVIL)} : {ANY}
    transform.annotate {HANDLE} {spelled(EVIL)} = %n : {ANY}, !transform.param<i64>
    %t, %l = transform.structured.tile_using_for {HANDLE} tile_sizes [%n] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})
    LAST
    transform.yield
  }}
}}
"""
DEAD = f'transform.annotate {HANDLE} "dead" : {ANY}'


def documents(bundle, name):
    """Yield a MIME bundle's HTML and SVG as a page, and the SVG as a file of its own."""
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    # A notebook shows text as text.
    shown = bundle.get("text/html", f"<pre>{html.escape(bundle['text/plain'])}</pre>")
    picture = bundle.get("image/svg+xml", "")
    yield f"{name}.html", f"<!DOCTYPE html><meta charset='utf-8'><title>x</title>{shown}<hr>{picture}"
    if picture:
        yield f"{name}.svg", picture


def widget_page(widget):
    """Return a page that runs a widget's code with the state that a kernel sends to it."""
    state = {name: value for name, value in widget.get_state().items() if not name.startswith("_")}
    data = json.dumps({"state": state, "code": str(widget._esm)}, default=repr).replace("<", "\\u003c")
    return f"""<!DOCTYPE html><meta charset="utf-8"><title>x</title><style>{widget._css}</style><body><div id="here"></div>
<script type="application/json" id="data">{data}</script><script type="module">
const {{ state, code }} = JSON.parse(document.getElementById("data").textContent);
const nothing = () => {{}};
const hearing = [];
const on = (name, hear) => name === "msg:custom" && hearing.push(hear);
// Without a kernel: what is asked is refused, so that no page waits for an answer.
const send = ({{ id }}) => id && queueMicrotask(() => hearing.forEach((hear) => hear({{ reply: id, error: "no kernel" }})));
const model = {{ get: (name) => state[name], set: nothing, save_changes: nothing, on, off: nothing, send }};
const module = await import(URL.createObjectURL(new Blob([code], {{ type: "text/javascript" }})));
const {{ initialize, render }} = module.default;
await initialize?.({{ model }});
await render({{ model, el: document.getElementById("here") }});
document.body.dataset.ready = "yes";
</script></body>"""


@pytest.fixture(scope="module")
def files(worker, tmp_path_factory):
    """Return a folder with every output, made of one payload and one schedule."""
    folder = tmp_path_factory.mktemp("outputs")
    made = {}
    payload = lhkit.load_payload(PAYLOAD, name=FILE, worker=worker)
    schedule = lhkit.load_schedule(SCHEDULE.replace("LAST", ""), name=FILE, worker=worker)
    broken = lhkit.load_schedule(SCHEDULE.replace("LAST", DEAD), name=FILE, worker=worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    failed = lhkit.trace(payload, broken, worker=worker)
    assert trace.outcome.status == "ok" and failed.outcome.status == "failed"
    kernel = lhkit.compile(payload, schedule, worker=worker)

    trace.save_html(folder / "trace page.html", command=EVIL)
    failed.save_html(folder / "page of a failure.html")
    measured = dataclasses.replace(
        comparison({"NumPy": [5.0] * 6, EVIL: [2.0, 2.5, 2.0, 2.0, 2.0, 2.0], f"2 {EVIL}": [9.0] * 6}),
        payload=FILE,
        environment=(("cpu", EVIL),),
    )
    records = [
        *grid(lambda **k: 100.0 * k[EVIL] + k["m"], **{EVIL: (2, 4), "m": (8, 16)}),
        record({EVIL: 8, "m": 8}, status="schedule-failed", number=9, message=EVIL),
    ]
    swept: SweepResult = result_of(records, schedule=schedule, **{EVIL: (2, 4, 8), "m": (8, 16)})
    many = grid(lambda **k: 100.0 * k[EVIL] + k["m"], **{EVIL: (2, 4), "m": (8, 16), "k": (1, 2), "x": (1, 2)})
    many_knobs = result_of(many, **{EVIL: (2, 4), "m": (8, 16), "k": (1, 2), "x": (1, 2)})
    verdict = Verdict(
        EVIL, (Finding(EVIL, True, EVIL), Finding(EVIL, False, EVIL)), EVIL, trace._repr_mimebundle_
    )
    shows = {
        "payload": payload,
        "schedule": schedule,
        "trace": trace,
        "failed trace": failed,
        "check": lhkit.check(broken, worker=worker),
        "kernel": kernel,
        "comparison": measured,
        "measurement": measured.measurements[1],
        "sweep result": swept,
        "verdict": verdict,
        "why": failed.why(),
        "repairs": failed.repairs(),
        "timeline": lhkit.show.timeline(failed),
        "graph": lhkit.show.graph(failed),
        "graph of a payload": lhkit.show.graph(payload),
        "diff": lhkit.show.diff(trace),
        "diff against": lhkit.show.diff(trace, against=-1),
        "tiles": lhkit.show.tiles(trace),
        "code": lhkit.show.code(kernel),
        "page": lhkit.show.page(failed),
        "speed": lhkit.show.speed(measured),
        "sweep": lhkit.show.sweep(swept),
        "sweep of many knobs": lhkit.show.sweep(many_knobs),
        "throughput": lhkit.show.throughput({8: dataclasses.replace(measured, flops=1000)}, size_label=EVIL),
        "outcomes": lhkit.show.sweep(swept, kind="outcomes"),
    }
    bundles = {name: value._repr_mimebundle_() for name, value in shows.items()}
    demo = render_page(EVIL, EVIL, measured, ((EVIL, EVIL),), EVIL, (("a.html", EVIL),), swept)
    made |= {"demo.html": demo, "links.html": links_page(EVIL, [("a.html", EVIL)])}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lhkit.workbench.widget.is_live", lambda: True)
        for name, given in (("workbench", schedule), ("failed workbench", broken)):
            widget = WorkbenchWidget(Session(payload, given, worker=worker, autosaves=False))
            bundles[name] = widget._repr_mimebundle_()
            made[f"live {name}.html"] = widget_page(widget)
            made[f"{name} export.html"] = exported(widget.workbench, "page").decode()
            widget.close()

    axes = [SimpleNamespace(name=name, values=values) for name, values in swept.axes]
    running = SimpleNamespace(
        records=tuple(records),
        total=6,
        failure=EVIL,
        end=None,
        best=swept.best,
        confirming=None,
        confirmations={},
    )
    running.space, running.subscribe = SimpleNamespace(axes=axes), lambda _: None
    made["live board.html"] = widget_page(SweepBoard(running))

    outputs = [new_output("display_data", b[0] if isinstance(b, tuple) else b) for b in bundles.values()]
    outputs += [new_output("stream", text=EVIL), new_output("error", ename=EVIL, evalue=EVIL, traceback=[EVIL])]
    code = new_code_cell(f"name = {EVIL!r}", outputs=outputs)
    title = new_markdown_cell(f"# `{EVIL}`")
    source = folder / f"{FILE.replace('/', '')}.ipynb"
    source.write_text(json.dumps(new_notebook(cells=[title, code])), encoding="utf-8")
    made["published.html"] = publish_notebook(source).html

    for name, bundle in bundles.items():
        made |= documents(bundle, name)
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# What of theirs is in the document or in a shadow root: elements and attributes that only the names have.
THEIRS = """() => {
  const found = [];
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on") && /pwned/.test(value)) found.push(`${element.tagName} ${name}`);
        if (/^(src|href|xlink:href|action|data)$/.test(name) && /^(x$|\\s*javascript:|http)/i.test(value))
          found.push(`${element.tagName} ${name}=${value}`);
      }
      if (element.tagName.toLowerCase() === "script" && /^\\s*window.pwned/.test(element.textContent))
        found.push("script");
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  look(document);
  return found;
}"""
# What a reader sees and hears; not the data of a page, which have the names anyway.
WORDS = """() => {
  const found = [];
  for (const element of (document.body ?? document).querySelectorAll("*")) {
    if (/^(script|style)$/i.test(element.tagName)) continue;
    for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) found.push(node.data);
  }
  return found.join("");
}"""


def test_no_output_has_anything_of_a_hostile_name_but_its_text(files, watched):
    page = watched()
    dialogs = []
    page.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    outputs = sorted(p for p in files.iterdir() if p.suffix in (".html", ".svg"))
    assert len(outputs) > 50
    found = {}
    for path in outputs:
        page.requests.clear()
        page.errors.clear()
        page.page.goto(path.as_uri())
        if path.name.startswith("live "):
            page.page.wait_for_selector("[data-ready]", state="attached")
        shown = page.page.evaluate(WORDS)
        found[path.name] = {
            "ran": page.page.evaluate("window.pwned ?? null"),
            "elements": page.page.evaluate(THEIRS),
            "requests": [u for u in page.requests if not u.startswith(("data:", "blob:", path.as_uri()))],
            "errors": page.errors[:],
            "is empty": SHOWN not in shown and path.stem not in NAMELESS,
            "is damaged": "parsererror" in shown,
        }
    assert dialogs == []
    assert {name: {k: v for k, v in of.items() if v} for name, of in found.items() if any(of.values())} == {}
