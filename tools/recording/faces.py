"""The Python face: names, values as they show themselves, drawings, sessions, workbench, magics, exercises."""

from __future__ import annotations

import io
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from recording.commands import add_done, run_apart
from recording.entries import Entry, Record, array_text
from recording.pairs import STAGES, Pair, load_pair
from recording.texts import ADD, ADD_TILE, FILES
from recording.values import (
    add_call,
    add_documented,
    add_members,
    add_shown,
    described,
    find_public,
    resolve,
)

# Seen in every way there is.
SEEN = (
    Pair("data/fc_relu.mlir", "schedules/fc_relu_handles.mlir"),
    Pair("data/fc_relu.mlir", "schedules/fc_relu_tile_fuse_vectorize.mlir"),
    Pair("data/matmul.mlir", "schedules/matmul_tile.mlir"),
    Pair("data/softmax.mlir", "schedules/softmax.mlir"),
)
_AUTO = re.compile(r"^\.\. auto(\w+):: ([\w.]+)", re.MULTILINE)


def record_faces(record: Record) -> None:
    """Record what Python sees."""
    _record_names(record)
    for pair in SEEN:
        record.entry(f"python/{pair.name}/values", _values(pair))
        record.entry(f"python/{pair.name}/kernel", _kernel(pair))
        record.entry(f"python/{pair.name}/drawings", _drawings(pair))
        record.entry(f"python/{pair.name}/session", _session(pair))
        record.entry(f"python/{pair.name}/workbench", _workbench(pair))
    record.entry("python/failures", _failures)
    record.entry("fixed/measured before", _measured_before)
    record.entry("python/sweep before", _sweep_before)
    record.entry("python/measured now", _measured_now)
    record.entry("python/payloads", _payloads)
    record.entry("python/weights", _weights)
    record.entry("python/building", _building)
    record.entry("python/own ops", _own_ops)
    record.entry("python/trying", _trying)
    record.entry("python/exercises", _exercises)
    record.entry("python/magics", _magics)
    record.entry("python/workbench of one's own file", _own_workbench)
    record.entry("python/a saved session", _saved_session)
    record.entry("python/the saved workbench", _saved_workbench)
    record.entry("python/no compiler here", _no_compiler)


_LOADED = """import lhkit, sys
print(lhkit.trace("matmul.mlir", "matmul_tile.mlir").outcome.status)
print(lhkit.verify(lhkit.compile("row_sum.mlir")).ok)
print(sorted(m for m in sys.modules if m.split(".")[0] in ("mlir", "torch_mlir")))
"""


def _no_compiler(entry: Entry) -> None:
    """MLIR is in the worker only; and what ``import lhkit`` alone loads."""
    python = str(entry.record.checkout / ".venv" / "bin" / "python")
    add_done(entry, "python", run_apart([python, "-c", _LOADED], entry.record.scratch))
    heavy = "[m for m in ('numpy', 'pandas', 'matplotlib', 'anywidget') if m in sys.modules]"
    heavy = f"import lhkit, sys; print({heavy})"
    add_done(entry, "python", run_apart([python, "-c", heavy], entry.record.scratch))


def _record_names(record: Record) -> None:
    record.entry("names/lhkit", _names)
    pages = sorted((record.checkout / "docs" / "api").glob("*.rst"))
    for page in pages:
        found = _AUTO.findall(page.read_text(encoding="utf-8"))
        if found:
            record.entry(f"names/page {page.stem}", _documented(found))
    record.entry("names/schemas", _schemas)


def _names(entry: Entry) -> None:
    import lhkit

    entry.add("__all__", "\n".join(lhkit.__all__))
    entry.add("dir", "\n".join(dir(lhkit)))
    entry.add("lhkit", lhkit.__doc__ or "")
    for name in dir(lhkit):
        if name != "__version__":
            add_call(entry, f"lhkit.{name}", lambda name=name: described(getattr(lhkit, name)))
    for name in ("exercises", "ops", "payloads", "show", "own_ops"):
        module = resolve(f"lhkit.{name}")
        names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        entry.add(f"names of lhkit.{name}", "\n".join(names))
        for each in names:
            add_call(entry, f"lhkit.{name}.{each}", lambda m=module, n=each: described(getattr(m, n)))


def _documented(found: list[tuple[str, str]]) -> Any:
    def fill(entry: Entry) -> None:
        for kind, name in found:
            if kind != "module":
                add_documented(entry, name)
                continue
            module = resolve(name)
            add_call(entry, name, lambda m=module: m.__doc__ or "")
            public = getattr(module, "__all__", None) or [
                n
                for n, v in vars(module).items()
                if not n.startswith("_") and getattr(v, "__module__", None) == module.__name__
            ]
            for each in sorted(public):
                add_documented(entry, f"{name}.{each}")

    return fill


def _schemas(entry: Entry) -> None:
    """The JSON Schema files of the package, wherever they lie, and the names of all its modules."""
    import lhkit

    for root in lhkit.__path__:
        for path in sorted(Path(root).rglob("*.json"), key=lambda p: p.name):
            value = json.loads(path.read_text(encoding="utf-8"))
            if "$schema" in value or "schema" in path.parts[-2]:
                entry.add_json(path.name, value)
    public = [m.name for m in pkgutil.iter_modules(lhkit.__path__)]
    entry.add(
        "top modules",
        "\n".join(sorted(n for n in public if n in ("ops", "own_ops", "payloads", "show", "magics"))),
    )


def _values(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        import lhkit

        payload, schedule = load_pair(entry.record, pair)
        add_shown(entry, "Payload", payload)
        add_members(entry, "Payload", payload)
        add_shown(entry, "Schedule", schedule)
        add_members(entry, "Schedule", schedule)
        report = lhkit.check(schedule)
        add_shown(entry, "CheckReport", report)
        add_members(entry, "CheckReport", report)
        trace = lhkit.trace(payload, schedule)
        add_shown(entry, "Trace", trace)
        add_members(entry, "Trace", trace)
        for name in ("handles", "steps", "ops", "handles_frame", "steps_frame", "frame"):
            frame = getattr(trace, name, None)
            frame = frame() if callable(frame) else frame
            if hasattr(frame, "to_csv"):
                entry.add(f"frame {name}", str(frame.to_csv()))
        for handle in list(dict.fromkeys(h.name for h in trace.handle_records))[:12]:
            why = add_call(entry, f"why {handle}", lambda handle=handle: trace.why(handle))
            if why is not None:
                add_shown(entry, f"why {handle}", why)
        add_call(entry, "to_markdown", trace.to_markdown)
        add_call(entry, "compiler_explorer_url", trace.compiler_explorer_url)
        folder = entry.record.folder(entry.name)
        trace.save_html(folder / "page.html")
        entry.add_file("page.html", folder / "page.html")
        trace.save_reproducer(folder / "again")
        for path in sorted((folder / "again").rglob("*")):
            if path.is_file():
                entry.add_file(f"again/{path.relative_to(folder / 'again')}", path)
        saved = payload.save(folder / "saved.mlir")
        entry.add_file("saved.mlir", Path(saved))
        limits = lhkit.Limits(seconds=30.0, bytes=1 << 30)
        add_shown(entry, "Limits", limits)
        add_members(entry, "Limits", limits)

    return fill


def _kernel(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        import lhkit

        payload, schedule = load_pair(entry.record, pair)
        kernel = lhkit.compile(payload, schedule)
        add_shown(entry, "Kernel", kernel, figures=True)
        add_members(entry, "Kernel", kernel, figures=True)
        verdict = lhkit.verify(kernel)
        add_shown(entry, "Verification", verdict)
        add_members(entry, "Verification", verdict)
        for stage in STAGES:
            add_call(entry, f"ir {stage}", lambda stage=stage: kernel.ir(stage))
        add_call(entry, "ir of no stage", lambda: kernel.ir("nothing"))
        for title, make in (("hot_loops", kernel.hot_loops), ("footprint", kernel.footprint)):
            found = add_call(entry, title, make)
            if found is not None:
                add_shown(entry, title, found)
        empty = lhkit.empty((4, 8), "float32")
        entry.add("lhkit.empty", f"{type(empty).__name__} {empty.dtype} {empty.shape}")
        plain = lhkit.compile(payload, schedule, target="avx2")
        add_call(entry, "for avx2", lambda: plain.schedule.values)

    return fill


def _results(kernel: Any) -> str:
    import numpy as np

    random = np.random.default_rng(0)
    arguments = [random.random(a.shape, dtype=np.float32) for a in kernel.function.arguments]
    found = kernel(*arguments)
    return "\n".join(array_text(r) for r in (found if isinstance(found, tuple) else (found,)))


def _drawings(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        import lhkit

        show = lhkit.show
        payload, schedule = load_pair(entry.record, pair)
        trace, kernel = lhkit.trace(payload, schedule), lhkit.compile(payload, schedule)
        add_call(entry, "results", lambda: _results(kernel))
        made = {
            "timeline": lambda: show.timeline(trace),
            "diff": lambda: show.diff(trace),
            "diff of step 1": lambda: show.diff(trace, 1),
            "graph of the schedule": lambda: show.graph(trace),
            "graph after step 1": lambda: show.graph(trace, 1),
            "graph of the payload": lambda: show.graph(payload),
            "tiles": lambda: show.tiles(trace),
            "tiles of the payload": lambda: show.tiles(payload),
            "op_counts": lambda: show.op_counts(trace),
            "live_buffers": lambda: show.live_buffers(kernel),
            "code": lambda: show.code(kernel),
        }
        for title, make in made.items():
            try:
                drawing = make()
            except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
                entry.add(title, f"{type(error).__name__}: {error}")
                continue
            if isinstance(drawing, str):
                entry.add_html(title, drawing)
            else:
                add_shown(entry, title, drawing)

    return fill


def _session(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        payload, schedule = load_pair(entry.record, pair)
        session = find_public("Session", "lhkit.compose.session")(payload, schedule, name="recorded")
        events: list[Any] = []
        session.subscribe(events.append)
        add_members(entry, "Session", session)
        knob = next((k for k in schedule.knobs if len(k.options or ()) > 1), None)
        if knob is not None:
            session.set_knobs({knob.name: next(o for o in knob.options if o != knob.default)})
            add_call(entry, "knobs", lambda: session.schedule.values)
        session.checkpoint("first")
        session.start_branch("other")
        session.set_text(session.text.replace("{transform.consumed}", "{transform.readonly}"))
        session.set_text("this does not parse")
        add_call(entry, "stale", lambda: session.is_stale)
        add_call(entry, "undo", session.undo)
        add_call(entry, "undo", session.undo)
        add_call(entry, "redo", session.redo)
        add_call(entry, "compare", lambda: session.compare("main"))
        add_shown(entry, "Session", session)
        entry.add("events", "\n".join(re.sub(r"trace=.*", "", repr(e))[:300] for e in events))
        session.close()

    return fill


_COMMANDS: tuple[Mapping[str, Any], ...] = (
    {"do": "select", "step": 1, "kind": "step", "ids": ""},
    {"do": "undo"},
    {"do": "checkpoint", "name": "here"},
    {"do": "duplicate_step", "step": 1},
    {"do": "undo"},
    {"do": "switch_off", "step": 1},
    {"do": "restore", "name": "here"},
    {"do": "run"},
    {"do": "nonsense"},
)


def _parts(widget: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(widget.trait_names()):
        if name.startswith("part_"):
            yield name, getattr(widget, name)


def _workbench(pair: Pair) -> Any:
    def fill(entry: Entry) -> None:
        import lhkit

        payload, schedule = load_pair(entry.record, pair)
        widget = lhkit.explore(payload, schedule, trust=True)
        _walk(entry, widget)
        folder = entry.record.folder(entry.name)
        for name in ("x.mlir", "x.py", "x.md", "x.html", "x.zip", "x.json"):
            _export(entry, widget, folder / name, None)
        _export(entry, widget, folder / "portable.mlir", "portable")
        _export(entry, widget, folder / "x.gif", None)
        again = lhkit.explore(folder / "x.json")
        add_parts(entry, "opened again", again)
        again.close()
        widget.close()

    return fill


def _walk(entry: Entry, widget: Any) -> None:
    add_parts(entry, "at first", widget)
    add_shown(entry, "WorkbenchWidget", widget)
    for command in _COMMANDS:
        try:
            widget.do(command)
        except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
            entry.add(f"{dict(command)}", f"{type(error).__name__}: {error}")
        else:
            entry.add(f"{dict(command)}", widget.schedule.text)
    add_parts(entry, "in the end", widget)
    for kind, text in (("script", widget._esm), ("style", widget._css)):
        entry.add(f"{kind} of the page", f"[{kind} {entry.record.keep_block(kind, str(text))}]")


def add_parts(entry: Entry, title: str, widget: Any) -> None:
    """Add what stands on the screen of a workbench, part by part; HTML a tag a line."""
    for name, value in _parts(widget):
        entry.add(f"{title}: {name}", _readable(json.dumps(value, indent=1, ensure_ascii=False, default=str)))


def _readable(text: str) -> str:
    return re.sub(r">(?=<)", ">\n", text)


def _export(entry: Entry, widget: Any, path: Path, kind: str | None) -> None:
    try:
        widget.export(path, kind)
    except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
        entry.add(f"export {path.name}", f"{type(error).__name__}: {error}")
    else:
        entry.add_file(f"export {path.name}", path)


def _failures(entry: Entry) -> None:
    """Traces of what fails, with repairs, and errors with their fields."""
    import lhkit

    entry.record.go_home()
    payload = lhkit.load_payload("data/matmul.mlir")
    for name in ("dead.mlir", "dead_vectorize.mlir", "miss.mlir", "negative.mlir", "crash.mlir"):
        schedule = lhkit.load_schedule(str(FILES[name]), name=name)
        trace = lhkit.trace(payload, schedule)
        add_shown(entry, f"Trace of {name}", trace)
        add_members(entry, f"outcome of {name}", trace.outcome)
        repairs = add_call(entry, f"repairs of {name}", trace.repairs)
        if repairs is not None:
            add_shown(entry, f"Repairs of {name}", repairs)
        add_shown(entry, f"CheckReport of {name}", lhkit.check(schedule))
        add_shown(entry, f"timeline of {name}", lhkit.show.timeline(trace))
    for title, make in {
        "no such file": lambda: lhkit.load_payload("missing.mlir"),
        "no payload": lambda: lhkit.load_payload("this is not MLIR\n"),
        "no schedule": lambda: lhkit.load_schedule(str(FILES["syntax.mlir"])),
        "unknown knob": lambda: lhkit.compile("data/matmul.mlir", "schedules/matmul_tile.mlir", knobs={"q": 1}),
        "wrong limits": lambda: lhkit.Limits(seconds=-1),
        "wrong arguments": lambda: lhkit.compile("data/matmul.mlir")(1, 2),
    }.items():
        try:
            make()
            entry.add(title, "no error")
        except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
            entry.add(title, f"{type(error).__name__}: {error}")
            add_members(entry, title, getattr(error, "failure", error))


def _measured_before(entry: Entry) -> None:
    """What was measured once shows itself with all its figures, which are the same in every record."""
    import lhkit

    load = find_public("load_bench", "lhkit.bench.bench_file")
    comparison = load(entry.record.fixtures / "bench.json")
    add_shown(entry, "Comparison", comparison)
    add_members(entry, "Comparison", comparison)
    for measurement in comparison.measurements:
        add_shown(entry, "Measurement", measurement)
        add_members(entry, "Measurement", measurement)
    add_shown(entry, "speed", lhkit.show.speed(comparison))
    suite = find_public("load_suite", "benchmarks.suite_file")
    result = suite(entry.record.checkout / "data" / "suite" / "amd-epyc-avx512.json")
    add_members(entry, "suite", result)
    for name in ("conv2d", "matmul", "softmax"):
        row = next(row for row in result.rows if row.family == name)
        add_shown(entry, f"Comparison of {name}", row.comparison)
        for title, make in (("roofline", lhkit.show.roofline), ("speed", lhkit.show.speed)):
            drawing = add_call(entry, f"{title} of {name}", lambda make=make, c=row.comparison: make(c))
            if drawing is not None:
                add_shown(entry, f"{title} of {name}", drawing)
    rows = [row for row in result.rows if row.family == "matmul"]
    drawing = lhkit.show.throughput({row.shape[0]: row.comparison for row in rows})
    add_shown(entry, "throughput", drawing)


def _sweep_before(entry: Entry) -> None:
    """A sweep that was tried once: its frame, its replay, and a result that is read from its store."""
    import lhkit

    store = entry.record.checkout / "data" / "sweeps" / "matmul_512.jsonl"
    frame = find_public("store_frame", "lhkit.sweeps.sweep_files")(store)
    entry.add("frame", frame.head(20).to_csv())
    costs = {
        tuple(r.knobs): (r.time_ns.median if r.time_ns else None)
        for r in find_public("load_records", "lhkit.sweeps.sweep_files")(store)
    }
    replay = find_public("replay", "lhkit.sweeps.strategy_replay")
    rows = replay(costs, strategies=("grid", "random", "latin-hypercube", "coordinate-descent"), seeds=3)
    entry.add("replay", find_public("replay_frame", "lhkit.sweeps.strategy_replay")(rows).to_csv())
    folder = entry.record.folder(entry.name)
    for name in ("sweep.jsonl", "sweep.confirmed.jsonl", "payload.mlir", "schedule.mlir"):
        (folder / name).write_bytes((entry.record.fixtures / name).read_bytes())
    result = lhkit.sweep(
        folder / "payload.mlir",
        folder / "schedule.mlir",
        knobs={"m": [2, 4], "n": [4]},
        store=folder / "sweep.jsonl",
        confirm=False,
    )
    add_shown(entry, "Sweep", result, figures=True)
    found = result.result
    found = found() if callable(found) else found
    add_shown(entry, "SweepResult", found, figures=True)
    add_members(entry, "SweepResult", found, figures=True)
    add_call(entry, "best_schedule", lambda: str(found.best_schedule()))
    for kind in ("knobs", "history", "outcomes"):
        add_shown(entry, f"sweep drawn: {kind}", lhkit.show.sweep(found, kind=kind), figures=True)


def _measured_now(entry: Entry) -> None:
    import lhkit

    payload = lhkit.load_payload(ADD, name="add.mlir")
    schedule = lhkit.load_schedule(ADD_TILE, name="tile.mlir")
    kernels = {"plain": lhkit.compile(payload), "tiled": lhkit.compile(payload, schedule, knobs={"m": 8})}
    comparison = lhkit.measure(kernels, rounds=3, seconds=0.3)
    add_shown(entry, "Comparison", comparison, figures=True)
    add_shown(entry, "Measurement", comparison.measurements[0], figures=True)


def _payloads(entry: Entry) -> None:
    """Every generator of payloads, with the texts that it makes."""
    import lhkit

    sizes: Mapping[str, tuple[Any, ...]] = {
        "conv2d_nhwc": (2, 5, 7, 3, 4, 3),
        "depthwise_conv2d_nhwc": (2, 5, 7, 3, 3),
        "mlp": (5, (7, 9, 11, 3)),
        "batch_matmul": (3, 5, 7, 9),
        "op_chain": (97,),
        "transpose_pack": (9, 7, 13),
        "matmul_dynamic": (),
        "relu_dynamic": (),
    }
    names = getattr(lhkit.payloads, "__all__", None) or [
        n for n in dir(lhkit.payloads) if not n.startswith("_")
    ]
    for name in names:
        make = getattr(lhkit.payloads, name)
        tried = (sizes[name],) if name in sizes else ((33, 17, 9), (33, 17), (33,), ())
        for given in tried:
            try:
                payload = make(*given)
            except Exception as error:  # noqa: BLE001 - how it fails is what is recorded
                entry.add(f"{name}{given}", f"{type(error).__name__}: {error}")
                continue
            entry.add(
                f"{name}{given}", f"{getattr(payload, 'reference', '')}\n{getattr(payload, 'text', payload)}"
            )
            break


def _weights(entry: Entry) -> None:
    import lhkit

    text = """func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = arith.constant dense_resource<weight> : tensor<4x4xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>)
    outs(%i : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %m : tensor<4x4xf32>
}
{-# dialect_resources: { builtin: { weight: "0xDATA" } } #-}
""".replace("DATA", "04000000" + "0000803F" * 16)
    payload = lhkit.load_payload(text, name="weights.mlir")
    add_shown(entry, "Payload", payload)
    moved = payload.constants_to_arguments()
    add_shown(entry, "with arguments", moved)
    add_call(entry, "weights", lambda: {k: array_text(v) for k, v in moved.weights().items()})
    add_call(entry, "results", lambda: lhkit.verify(lhkit.compile(moved)))
    folder = entry.record.folder(entry.name)
    moved.save(folder / "weights.mlir")
    for path in sorted(folder.glob("weights.*")):
        entry.add_file(path.name, path)


def _building(entry: Entry) -> None:
    import lhkit

    build = getattr(lhkit, "build", None) or lhkit.building
    with build(lhkit.payloads.fc_relu(64, 64, 64)) as s:
        rows = s.knob("rows", 8, options=[4, 8, 16])
        matmul = s.match(ops=["linalg.matmul"])
        tiled, *_ = s.structured.tile_using_for(matmul, tile_sizes=[rows, 32])
        entry.add("a handle", repr(tiled))
    entry.add("text", s.text)
    add_shown(entry, "schedule", s.schedule())
    add_call(entry, "trace", s.trace)
    exporting = find_public("builder_code", "lhkit.load.schedule_export")
    entry.add("as code", exporting(s.schedule()))

    def wrong() -> None:
        with build(lhkit.payloads.fc_relu(64, 64, 64)) as t:
            t.structured.tile_using_for(t.match(ops=["linalg.matmul"]), tile_size=[4])

    add_call(entry, "a mistake", wrong)


def _own_ops(entry: Entry) -> None:
    import lhkit

    add_call(
        entry, "load_ops", lambda: lhkit.load_ops(entry.record.checkout / "schedules" / "ops" / "my_ops.py")
    )
    schedule = lhkit.load_schedule(str(FILES["marked.mlir"]), name="marked.mlir")
    entry.record.go_home()
    trace = lhkit.trace("data/matmul.mlir", schedule)
    add_shown(entry, "Trace", trace)


def _trying(entry: Entry) -> None:
    try_ops = find_public("try_ops", "lhkit.compose.trial_steps")
    payload, schedule = load_pair(entry.record, SEEN[2])
    for tried in try_ops(payload, schedule, "%matmul"):
        entry.add("tried", repr(tried)[:600])


def _exercises(entry: Entry) -> None:
    import lhkit

    names = lhkit.exercises.names()
    entry.add("names", "\n".join(names))
    for name in names:
        exercise = lhkit.exercises.load(name)
        add_shown(entry, name, exercise)
        add_call(entry, f"{name}: stub", lambda e=exercise: e.stub)
        add_call(entry, f"{name}: hint", exercise.hint)
        solution = add_call(entry, f"{name}: solution", lambda e=exercise: str(e.solution()))
        code = re.search(r"```\w*\n(.*?)```", solution or "", re.DOTALL)
        answers = {"the stub": exercise.stub, "the solution": code[1] if code else ""}
        for title, answer in answers.items() if name in names[:4] else ():
            verdict = add_call(entry, f"{name}: {title}", lambda e=exercise, a=answer: e.check(a))
            if verdict is not None:
                add_shown(entry, f"{name}: {title}", verdict)
    add_call(entry, "progress", lambda: lhkit.exercises.progress().to_csv())


def _magics(entry: Entry) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "lhkit")
    cells = {
        "a payload": f"%%payload add\n{ADD}",
        "a schedule": f"%%schedule tile --set m=8\n{ADD_TILE}",
        "a trace": f"%%schedule tile --set m=2 --payload add\n{ADD_TILE}",
        "a mistake": f"%%schedule bad\n{FILES['syntax.mlir']!s}",
        "no payload": "%%payload junk\nthis is not MLIR",
    }
    for title, cell in cells.items():
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            done = shell.run_cell(cell, store_history=False)
        error = done.error_in_exec or done.error_before_exec
        entry.add(title, f"{error or ''}\n{out.getvalue()}\n{err.getvalue()}")
        if done.result is not None:
            add_shown(entry, title, done.result)
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def _own_workbench(entry: Entry) -> None:
    """A file of one's own is followed, and is not trusted until it is."""
    import lhkit

    folder = entry.record.folder(entry.name)
    (folder / "p.mlir").write_text(ADD, encoding="utf-8")
    (folder / "s.mlir").write_text(ADD_TILE, encoding="utf-8")
    widget = lhkit.explore(folder / "p.mlir", folder / "s.mlir")
    add_parts(entry, "not trusted", widget)
    add_call(entry, "run", lambda: widget.do({"do": "run"}))
    widget.trust()
    add_parts(entry, "trusted", widget)
    widget.do({"do": "set_knobs", "knobs": {"m": 8}})
    for question in (
        {"ask": "complete", "before": "    %x = transform.structured.ti"},
        {"ask": "explain", "word": "transform.structured.fuse"},
        {"ask": "editor"},
        {"ask": "export", "kind": "portable"},
        {"ask": "nonsense"},
    ):
        add_call(entry, f"{question['ask']}", lambda q=question: _readable(repr(widget.workbench.ask(q))))
    widget.do({"do": "set_text", "text": "this does not parse", "gesture": 1, "by": "x"})
    add_parts(entry, "stale", widget)
    widget.do({"do": "undo"})
    add_call(entry, "save", lambda: widget.save(folder / "saved.json"))
    entry.add_file("saved.json", folder / "saved.json")
    widget.close()
    empty = lhkit.explore(lhkit.load_payload(ADD, name="add.mlir"))
    entry.add("an empty one", empty.session.text)
    empty.close()


def _saved_session(entry: Entry) -> None:
    """A session that an earlier version left behind."""
    import shutil

    folder = entry.record.folder(entry.name) / "left"
    shutil.copytree(entry.record.fixtures / "session", folder)
    session = find_public("Session", "lhkit.compose.session").recover(folder)
    add_members(entry, "recovered", session)


def _saved_workbench(entry: Entry) -> None:
    """A workbench that an earlier version saved."""
    import lhkit

    widget = lhkit.explore(entry.record.fixtures / "workbench.json", trust=True)
    add_parts(entry, "opened", widget)
    entry.add("results", repr(widget.results))
    widget.close()
