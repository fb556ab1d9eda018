"""A workbench as a value: saved, opened again, exported."""

import ast
import copy
import io
import json
import re
import zipfile
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from fused_schedule import FUSED, RELU, TILE

import lhkit
from lhkit.model.errors import UsageError
from lhkit.model.schedule import Schedule
from lhkit.show.trace_view import trace_key
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.workbench.controller import Workbench
from lhkit.workbench.runs import Result, ResultBar
from lhkit.workbench.workbench_exports import EXPORTS, WorkbenchState, export_kind, exported, read_state

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("lhkit").joinpath("schemas/workbench-1.json").read_text(encoding="utf-8"))
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": "lhkit.trace/1"}', "holds no workbench of lhkit.workbench/1: its schema is lhkit.trace/1"),
        ('{"schema": "%s"}' % ("x" * 10_000), "its schema is xxx"),
        ("[]", "it is a JSON list, not an object with a schema"),
        ("{}", "it names no schema"),
        ("nope", "it is not JSON: Expecting value"),
        ('{"schema": "lhkit.workbench/1"}', "its field 'payload' is missing"),
        ('{"schema": "lhkit.workbench/1", "payload": 3}', "its payload is no object"),
    ],
)
def test_a_file_that_is_no_workbench_is_said_to_be_what_it_is(content, said, tmp_path):
    (tmp_path / "w.json").write_text(content)
    with pytest.raises(UsageError) as error:
        read_state(tmp_path / "w.json")
    assert said in str(error.value) and len(str(error.value)) < 500
    assert error.value.failure.advice == "A workbench is saved with widget.save(path)."


def result(schedule: Schedule):
    bar = ResultBar("", 2.5, 2.0, 3.0, "2.5×")
    variant = ResultBar("tile = 4", 1.0, 1.0, 1.0, "1×", True, (("tile", 4),))
    return Result(
        1, "measure", "ok", schedule, (("tile", 8),), "as it was loaded", "fast", "NumPy", (bar, variant)
    )


@pytest.fixture
def worked(bench):
    """A workbench with versions, a checkpoint, a result, and a step that is looked at."""
    bench.do("checkpoint", name="first")
    bench.do("set_knobs", knobs={"tile": 16})
    bench.do("duplicate_step", step=RELU)
    bench.do("undo")
    bench.workbench.runs.results = (result(bench.session.schedule),)
    bench.do("select", step=TILE, kind="step", ids=str(TILE), by="v1")
    bench.do("open", area="bottom", pane="results")
    return bench.workbench


def test_a_state_fits_its_schema_and_comes_back(worked, worker, tmp_path):
    state = WorkbenchState.of(worked)
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)
    VALIDATOR.validate(json.loads(state.text()))
    path = tmp_path / "saved.json"
    path.write_text(state.text(), encoding="utf-8")
    again = read_state(path, trust=True)
    assert again == state
    opened = Workbench(again.open(worker=worker), screen=again.screen, results=again.results)
    assert opened.session.schedule.values == {"tile": 16} and opened.session.history.can_redo
    assert set(opened.session.checkpoints) == {"first"}
    assert opened.panes["screen"] == worked.panes["screen"]
    assert opened.panes["results"] == worked.panes["results"]
    assert WorkbenchState.of(opened) == state
    opened.close()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "lhkit.workbench/2"),
        (("results", 0, "kind"), "guess"),
        (("screen", "step"), -2),
        (("session", "branches"), []),
        (("payload", "blobs"), [{"name": "w"}]),
        (("more",), 1),
    ],
)
def test_what_does_not_fit_is_refused(worked, path, value, tmp_path):
    data = json.loads(WorkbenchState.of(worked).text())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(data)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "lhkit.workbench/1"}', "\x00"])
def test_a_file_that_is_none_is_refused(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="holds no workbench"):
        read_state(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_state(tmp_path / "nowhere.json")


def test_a_version_that_is_not_there_is_refused(worked, tmp_path):
    data = copy.deepcopy(json.loads(WorkbenchState.of(worked).text()))
    data["session"]["branches"][0]["versions"][0]["schedule"] = 99
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="names a schedule that it does not hold"):
        read_state(path)


def test_weights_and_references_travel(worker, tmp_path):
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %s = arith.addf %x, %w : tensor<4xf32>
  return %s : tensor<4xf32>
}
"""
    weights = {"w": np.arange(4, dtype=np.float32)}
    payload = lhkit.load_payload(text, name="weighted.mlir", weights=weights, worker=worker)
    shipped = lhkit.load_payload("fc_relu.mlir", worker=worker)
    for given in (payload, shipped):
        bench = lhkit.explore(given)
        path = bench.save(tmp_path / "saved.json")
        again = read_state(path).payload
        bench.close()
        assert again == given and [bytes(b.data) for b in again.blobs] == [bytes(b.data) for b in given.blobs]
    assert json.loads(path.read_text())["payload"]["reference"] == "lhkit:fc_relu"


def test_every_export_is_made_and_portable_ones_have_no_knobs(worked):
    found = {kind: exported(worked, kind) for kind in EXPORTS}
    assert b'tune.knob<"tile"> = 16' in found["schedule"] and b"tune.knob" not in found["portable"]
    ast.parse(found["code"])
    assert found["markdown"].startswith(b"#") and b"<html" in found["page"][:200]
    with zipfile.ZipFile(io.BytesIO(found["report"])) as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
        assert {"payload.mlir", "schedule.mlir", "commands.txt", "workbench.json"} <= names
        assert not any(b"/tmp" in archive.read(name) for name in archive.namelist() if "json" not in name)
    assert exported(worked, "report") == found["report"], "the same state is the same file"
    answer = worked.ask({"ask": "export", "kind": "state"})
    assert answer["name"] == "fused_workbench.json" and answer["media"] == "application/json"


def test_exports_are_named_by_suffixes(worked):
    assert [export_kind(f"x{e.suffix}") for e in EXPORTS.values()].count("schedule") == 2
    with pytest.raises(UsageError, match="unknown export format"):
        export_kind("x.pdf")
    with pytest.raises(UsageError, match="no export 'pdf'"):
        exported(worked, "pdf")
    worked.session.set_text(FUSED + "nonsense")
    with pytest.raises(UsageError, match="does not parse"):
        exported(worked, "page")


def test_a_widget_is_saved_opened_and_exported(tmp_path):
    bench = lhkit.explore("fc_relu.mlir", "fc_relu_handles.mlir")
    bench.do({"do": "set_knobs", "knobs": {"tile": 8}})
    path = bench.save(tmp_path / "saved.json")
    assert bench.export(tmp_path / "x.mlir").read_text().count("tune.knob") == 1
    assert "tune.knob" not in bench.export(tmp_path / "y.mlir", "portable").read_text()
    bench.close()
    again = lhkit.explore(path)
    assert again.schedule.values == {"tile": 8} and again.session.history.can_undo
    with pytest.raises(UsageError, match=r"does not end in \.json"):
        again.save(tmp_path / "saved.txt")
    with pytest.raises(UsageError, match="has its schedule already"):
        lhkit.explore(path, "fc_relu_handles.mlir")
    again.close()


def test_the_row_of_a_step_and_its_payload_say_the_same_counts(bench):
    trace = bench.workbench.trace
    counted = 0
    for step in trace.step_records:
        row = {sign: len(ops) for sign, ops in shown_delta(trace, step.index).signed}
        frame = bench.ask("frame", key=trace_key(trace), step=step.index, whole=False)
        head = re.search(r"<p class=lh-irt>(.*?)</p>", frame)[1]
        words = {"+": "created", "−": "erased", "~": "changed", "↕": "moved"}
        said = {sign: int(n) for sign, word in words.items() for n in re.findall(rf"(\d+) {word}", head)}
        assert said == row, step
        counted += len(said)
    assert counted > 4
    html = bench.part("steps")["html"]
    legend = re.search(r'class="[^"]*lhw-legend[^"]*">(.*?)<', html)[1]
    for words in ("+ created", "− erased", "~ changed", "↕ moved", "✕ handles", "×2"):
        assert words in legend


def test_a_layout_is_kept_for_the_user_and_with_the_state(bench, open_bench, tmp_path):
    layout = '{"preset": "debug", "closed": ["passes"]}'
    assert bench.part("screen")["layout"] == ""
    assert bench.do("set_layout", layout=layout, by="v1") == {"screen"}
    assert bench.part("screen")["layout"] == layout and bench.part("screen")["by"] == "v1"
    (tmp_path / "kept.json").write_text(WorkbenchState.of(bench.workbench).text())
    assert open_bench().part("screen")["layout"] == layout
    bench.do("set_layout", layout="{}", by="v1")
    assert read_state(tmp_path / "kept.json").screen.layout == layout
    for bad in ("[]", "{", "{" * 99_999, '{"a": "' + "b" * 30_000 + '"}'):
        bench.do("set_layout", layout=bad, by="v1")
        assert "a layout is a JSON object" in bench.notice.message
    assert bench.part("screen")["layout"] == "{}"
