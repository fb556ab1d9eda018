"""Bindings without named elementwise ops (LLVM since September 2026): all that is shipped works as before."""

import ast
import os
import re
from pathlib import Path

import nbformat
import pytest
from payload_sizes import SIZES

import lhkit
from lhkit.exercises.attempt import read_task
from lhkit.load.old_spellings import elementwise_spelling
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import PayloadError
from lhkit.model.fatal_attributes import ElementwiseSpelling
from lhkit.text.upgrades.linalg_rules import mentions_elementwise
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import Ping

HOSTS = Path(__file__).parents[1] / "hosts"
DATA, SCHEDULES, NOTEBOOKS = (shipped_folder(kind) for kind in ("data", "schedules", "notebooks"))
HEADER = re.compile(r"// Payload: data/([\w/]+)\.mlir")
MICROKERNELS = {
    "fc_relu_microkernel": {"matmul_tile": f"{SCHEDULES / 'microkernels' / 'matmul_tile.py'}:matmul_tile"}
}
# What the tiles of schedules divide.
EVEN_SIZES = {"fc_relu": (64, 64, 64)}
# Its schedule brings an elementwise op into a payload that had none.
DETACHED = "flow/detach_elementwise"
TASKS = [name for name in lhkit.exercises.names() if re.search(r"linalg\.(add|max|mul)", str(read_task(name)))]


@pytest.fixture(scope="module", autouse=True)
def next_bindings():
    """Let the session's worker have the bindings of ``tests/hosts/next_mlir``."""
    shared_worker().close()
    shared_worker.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LHKIT_MLIR", "next_mlir")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HOSTS), os.environ.get("PYTHONPATH", "")]))
        patch.syspath_prepend(HOSTS)
        shared_worker().ask(Ping())
        yield
        shared_worker().close()
    shared_worker.cache_clear()


# They look for what should not be there.
GUARDS = ("cleanup_shapes", "verify_legality")


def pairs():
    """Every schedule and the payload that its header names, if the schedule or the payload has elementwise ops."""
    for path in sorted(SCHEDULES.rglob("*.mlir")):
        if not (match := HEADER.match(path.read_text())):
            continue
        payload = DATA / f"{match[1]}.mlir"
        if match[1] == DETACHED or any(mentions_elementwise(p.read_text()) for p in (path, payload)):
            yield pytest.param(payload, path, id=path.stem)


def test_the_bindings_of_today_have_both_and_those_of_tomorrow_one():
    assert elementwise_spelling() == ElementwiseSpelling(named=False, form="short")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LHKIT_MLIR", "torch_mlir")
        today = Worker()
        today.ask(Ping())
    assert elementwise_spelling(today) == ElementwiseSpelling(named=True, form="kind")
    today.close()


@pytest.mark.parametrize("name", sorted(SIZES.keys() - {"op_chain"}))
def test_a_generated_payload_is_right(name):
    payload = getattr(lhkit.payloads, name)(*SIZES[name])
    assert lhkit.verify(lhkit.compile(payload, opt_level=0)).against == "NumPy"


@pytest.mark.parametrize(("payload", "path"), list(pairs()))
def test_a_shipped_schedule_finds_what_it_looks_for_and_keeps_the_result(payload, path):
    if (name := payload.stem) in SIZES:
        loaded = getattr(lhkit.payloads, name)(*EVEN_SIZES.get(name, SIZES[name]))
    else:
        loaded = lhkit.load_payload(payload)
    schedule = lhkit.load_schedule(path)
    trace = lhkit.trace(loaded, schedule)
    assert trace.outcome.status == "ok", trace.why().describe()
    missed = [w for s in trace.step_records for w in s.warnings if w.kind == "zero-match"]
    assert path.stem in GUARDS or not missed
    function = name if len(loaded.functions) > 1 else None
    microkernels = MICROKERNELS.get(path.stem)
    kernel = lhkit.compile(loaded, schedule, function=function, opt_level=0, microkernels=microkernels)
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("name", TASKS)
def test_a_solution_of_an_exercise_passes(name):
    exercise = lhkit.exercises.load(name)
    tree = ast.parse(exercise.task.cell(exercise.task.solution))
    last = ast.Expression(tree.body.pop().value)
    scope = {"lhkit": lhkit, name: exercise}
    exec(compile(tree, "<cell>", "exec"), scope)
    assert eval(compile(last, "<cell>", "eval"), scope).is_solved


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.rglob("*.ipynb")), ids=lambda p: p.stem)
def test_texts_in_lessons_load(path):
    for text in texts_with_elementwise(path):
        if "named_sequence" in text:
            lhkit.load_schedule(text)
        elif "func.func" in text:
            lhkit.load_payload(text)


def texts_with_elementwise(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            strings = [n.value for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Constant)]
            yield from (s for s in strings if isinstance(s, str) and mentions_elementwise(s))


def test_what_is_bound_is_found_by_its_kind():
    text = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op, %sum: !transform.op<"linalg.add">) {
    transform.annotate %sum "is_sum" : !transform.op<"linalg.add">
    transform.yield
  }
}"""
    schedule = lhkit.load_schedule(text, bind=["linalg.add"])
    printed = lhkit.trace(lhkit.payloads.fc_relu(8, 8, 8), schedule).last_snapshot_text()
    assert [line.split("ins")[0].split("= ")[1] for line in printed.splitlines() if "is_sum" in line] == [
        "linalg.elementwise <add> {is_sum} "
    ]


def test_a_diagnosis_is_at_the_line_of_the_file(tmp_path):
    file = tmp_path / "two.mlir"
    file.write_text("""func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.add ins(%0, %b : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    with pytest.raises(PayloadError) as error:
        lhkit.load_payload(file)
    assert f"{file}:3:" in str(error.value) and "undeclared SSA value name" in str(error.value)
