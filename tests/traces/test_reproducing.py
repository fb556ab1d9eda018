"""Folders that repeat a trace, and links: real ones are traced again and applied by the pass itself."""

import pytest

import lhkit
from lhkit.compiler.ir.bindings import ir, new_context, passmanager
from lhkit.model.errors import UsageError
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.traces.report.markdown_report import COMBINED

ANY = "!transform.any_op"
DEAD = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @other(%root: {ANY} {{transform.consumed}}, %m: {ANY} {{transform.consumed}}) {{
    %n = transform.tune.knob<"n"> = 8 : i64 from options = [4, 8] -> !transform.param<i64>
    %t, %l = transform.structured.tile_using_for %m tile_sizes [%n] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})
    USE
    transform.yield
  }}
}}
"""


@pytest.fixture
def traced(worker):
    def trace(use=""):
        schedule = lhkit.load_schedule(
            DEAD.replace("USE", use), entry="other", bind=["linalg.matmul"], knobs={"n": 4}, worker=worker
        )
        return lhkit.trace(lhkit.load_payload("matmul", worker=worker), schedule, worker=worker)

    return trace


def test_the_command_in_the_folder_repeats_the_trace(traced, tmp_path, lhkit_command):
    trace = traced(f"transform.structured.vectorize %m : {ANY}")
    folder = trace.save_reproducer(tmp_path / "again")
    assert sorted(p.name for p in folder.iterdir()) == [
        "README.md",
        "combined.mlir",
        "commands.txt",
        "payload.mlir",
        "schedule.mlir",
        "versions.txt",
    ]
    command = (folder / "commands.txt").read_text().splitlines()[0]
    assert command == "lhkit trace payload.mlir schedule.mlir --entry other --set n=4 --bind linalg.matmul"
    done = lhkit_command(*command.split()[1:], cwd=folder)
    assert done.returncode == 1 and "%m is invalidated: step 1 consumed it" in done.stderr
    readme = (folder / "README.md").read_text()
    assert "schedule.mlir:5:5: error" in readme and str(tmp_path) not in readme
    assert "lhkit 0." in (folder / "versions.txt").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["again"]


def test_the_interpreter_pass_takes_the_combined_module(traced, tmp_path):
    folder = traced().save_reproducer(tmp_path / "again")
    options = "entry-point=other debug-payload-root-tag=payload debug-bind-trailing-args=linalg.matmul"
    assert sorted(options.split()) == sorted((folder / "commands.txt").read_text().split('"')[1].split())
    with new_context():
        module = ir.Module.parse((folder / COMBINED).read_text())
        passmanager.PassManager.parse(f"builtin.module(transform-interpreter{{{options}}})").run(
            module.operation
        )
        after = str(module)
    assert "step %c4" in after and after.count("scf.for") == 1


def test_a_folder_is_whole_or_not_there(traced, tmp_path):
    trace = traced()
    (tmp_path / "empty").mkdir()
    assert trace.save_reproducer(tmp_path / "empty").is_dir()
    with pytest.raises(UsageError, match="exists and is not empty"):
        trace.save_reproducer(tmp_path / "empty")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="exists and is not empty"):
        trace.save_reproducer(tmp_path / "file")
    with pytest.raises(UsageError, match="cannot be written"):
        trace.save_reproducer(tmp_path / "missing" / "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "file"]


def test_a_trace_from_json_has_no_texts_to_save(traced, tmp_path):
    trace = trace_from_json(trace_to_json(traced()))
    with pytest.raises(UsageError, match="JSON of a trace does not hold them"):
        trace.save_reproducer(tmp_path / "again")


def test_a_file_with_payload_and_schedule_is_repeated_too(worker, tmp_path):
    text = f"""#map = affine_map<(d0) -> (d0)>
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}} ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {{
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }} -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %m = transform.structured.match ops{{["linalg.generic"]}} in %root : ({ANY}) -> {ANY}
    %t, %l = transform.structured.tile_using_for %m tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})
    transform.yield
  }}
}}
"""
    trace = lhkit.trace(
        lhkit.load_payload(text, worker=worker), lhkit.load_schedule(text, worker=worker), worker=worker
    )
    folder = trace.save_reproducer(tmp_path / "again")
    with new_context():
        module = ir.Module.parse((folder / COMBINED).read_text())
        pass_ = "transform-interpreter{debug-payload-root-tag=payload}"
        passmanager.PassManager.parse(f"builtin.module({pass_})").run(module.operation)
        after = str(module)
    assert after.count("scf.for") == 1
