"""Upgraded texts, before the compiler: they parse, and schedules apply to their payloads."""

from pathlib import Path

import pytest

from lhkit.load.file_upgrade import upgrade_file
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import LhkitError, PayloadError, ScheduleError, UsageError
from lhkit.traces.record.trace_run import trace_schedule

FOLDER = Path(__file__).parents[1] / "text" / "old_spellings"
STEPS = [line for line in (FOLDER / "steps.txt").read_text().splitlines() if not line.startswith("#")]
LAYER = (FOLDER / "layer_llvm17.mlir").read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mlir")), ids=lambda p: p.name)
def test_old_texts_parse_once_they_are_upgraded(path, worker):
    done = upgrade_file(path, worker=worker)
    assert done.upgrade.changes and done.diff
    assert done.remaining is None, done.remaining.describe()
    # What parses is not touched again.
    again = upgrade_file(done.upgrade.text, worker=worker)
    assert again.upgrade.text == done.upgrade.text and not again.upgrade.changes


@pytest.mark.parametrize("line", STEPS)
def test_old_steps_parse_once_they_are_upgraded(line, worker):
    text = (
        "transform.sequence failures(propagate) {\n^bb0(%arg0: !pdl.operation):\n"
        f"  %x = merge_handles %arg0 : !pdl.operation\n  {line}\n}}\n"
    )
    done = upgrade_file(text, worker=worker)
    assert done.remaining is None, done.remaining.describe()


@pytest.mark.parametrize("kind", ["schedules", "data"])
def test_shipped_files_give_no_diff(kind, worker):
    for path in sorted(shipped_folder(kind).glob("*.mlir")):
        done = upgrade_file(path, worker=worker)
        assert done.diff == "" and done.remaining is None


def layer(worker, dead=""):
    new = upgrade_file(LAYER.replace("//DEAD", dead), worker=worker).upgrade.text
    schedule = load_schedule(new, bind=["linalg.matmul", "linalg.elementwise"], worker=worker)
    return trace_schedule(load_payload(new, worker=worker), schedule, worker=worker)


def test_the_upgraded_layer_applies(worker):
    trace = layer(worker)
    assert trace.outcome.status == "ok", trace.outcome.message
    assert "func.func @kernel" in trace.snapshot_text(trace.snapshots[-1].step)


@pytest.mark.parametrize(("handle", "type_"), [("target", "any_op"), ("loop_1", "any_op")])
def test_what_was_a_use_after_death_still_is(worker, handle, type_):
    dead = f'transform.test_print_remark_at_operand %{handle}, "dead" : !transform.{type_}'
    trace = layer(worker, dead)
    assert trace.outcome.kind == ("invalidated-handle" if handle == "target" else None)


def test_what_is_left_is_the_first_error_with_its_place(worker):
    text = "func @f(%a: f32) -> f32 {\n  %0 = addf %a, %b : f32\n  return %0 : f32\n}\n"
    done = upgrade_file(text, worker=worker)
    assert "arith.addf %a, %b" in done.upgrade.text
    failure = done.left(written=False)
    assert failure.span.line == 2 and "%b" in failure.describe()


def test_the_results_of_a_sequence_stay(worker):
    new = upgrade_file(FOLDER / "sequence_with_results.mlir", worker=worker).upgrade.text
    head = "transform.named_sequence @__transform_main(%root: !transform.any_op) -> (!transform.any_op, !transform.any_op) {"
    assert head in new and "transform.yield %products, %inner : !transform.any_op, !transform.any_op" in new
    payload = load_payload((FOLDER.parents[2] / "data" / "fc_relu.mlir"), worker=worker)
    assert trace_schedule(payload, load_schedule(new, worker=worker), worker=worker).outcome.status == "ok"


def in_a_sequence(line):
    return (
        "module attributes {transform.with_named_sequence} {\n"
        "transform.named_sequence @__transform_main(%a: !transform.any_op) {\n"
        f"  {line}\n  transform.yield\n}}\n}}\n"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("transform.structured.frobnicate %a : !transform.any_op", "the text is newer than they are"),
        (
            "transform.structured.vectorise %a : !transform.any_op",
            "did you mean transform.structured.vectorize",
        ),
        ("linalg.yeld %a : !transform.any_op", "did you mean linalg.yield?"),
        ("brandnew.op", "have no dialect brandnew: the text is newer"),
    ],
)
def test_what_the_bindings_do_not_know_is_newer_or_misspelled(line, said, worker):
    failure = upgrade_file(in_a_sequence(line), worker=worker).left(written=False)
    assert failure.advice.startswith("The bindings (") and said in failure.advice
    with pytest.raises(LhkitError) as caught:
        load_schedule(in_a_sequence(line), worker=worker)
    assert said in str(caught.value)


def test_a_part_of_a_step_that_is_not_known_is_shown_beside_what_is(worker):
    line = "%t, %l = transform.structured.tile_using_for %a tile_sizes [4] anew : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"
    failure = upgrade_file(in_a_sequence(line), worker=worker).left(written=False)
    assert "write it in this form:\n  %tiled" in failure.advice and "newer than they are" in failure.advice


def test_loading_names_the_old_spelling(worker, tmp_path):
    path = tmp_path / "old.mlir"
    path.write_text(LAYER)
    for load, error in ((load_payload, PayloadError), (load_schedule, ScheduleError)):
        with pytest.raises(error, match=r"lhkit upgrade .*old\.mlir rewrites it") as caught:
            load(path, worker=worker)
        assert "line 6: linalg.elemwise_binary {add} is" in str(caught.value)
    with pytest.raises(LhkitError, match="lhkit upgrade FILE"):
        load_schedule(LAYER, worker=worker)


def test_loading_a_sequence_that_is_no_longer_applied_says_so(worker):
    text = "transform.sequence failures(propagate) {\n^bb0(%a: !transform.any_op):\n}\n"
    with pytest.raises(UsageError, match="top level, which is not applied today"):
        load_schedule(text, worker=worker)


def test_errors_of_today_are_left_alone(worker):
    with pytest.raises(PayloadError) as caught:
        load_payload("func.func @f( {\n}\n", worker=worker)
    assert "upgrade" not in str(caught.value)
