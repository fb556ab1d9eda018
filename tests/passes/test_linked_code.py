"""Machine code linked to payload ops and steps: every instruction of the hottest loop is followed back."""

import pytest

import lhkit
from lhkit.kernels.kernel import compile_kernel
from lhkit.model.errors import UsageError
from lhkit.pipelines.linked_code import link_code
from lhkit.traces.record.placed_ops import place_ops


@pytest.fixture(scope="module")
def linked(worker):
    payload = lhkit.load_payload("fc_relu.mlir", worker=worker)
    schedule = lhkit.load_schedule("fc_relu_handles.mlir", worker=worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    return trace, link_code(compile_kernel(payload, schedule, worker=worker), trace, worker=worker)


def test_the_hottest_loop_is_that_of_a_matmul_that_the_last_steps_made(linked):
    trace, code = linked
    (line,) = code.listing.loops[0].lines
    link = code.links[line]
    assert trace.op(link.op).name == "linalg.matmul"
    # Which of the two copies comes first is up to the compiler.
    assert trace.step_records[link.step].op in ("transform.loop.unroll", "transform.structured.tile_using_for")
    assert [trace.op(op).name for op in link.around][:2] == ["scf.for", "scf.forall"]
    text = trace.snapshot_text(trace.snapshots[-1].step).split("\n")
    assert text[link.line - 1] == link.text and "linalg.matmul" in link.text


def test_every_link_is_an_op_of_the_last_payload_at_its_line(linked):
    trace, code = linked
    placed = place_ops(trace, trace.snapshots[-1].step)
    known = {each.line for loop in code.listing.loops for each in loop.instructions if each.line}
    assert len(code.links) == len(known) > 3
    for link in code.links.values():
        assert placed.id_at(link.line - 1) == link.op and trace.op(link.op).born == link.step
    names = {trace.op(link.op).name for link in code.links.values()}
    assert {"linalg.matmul", "linalg.add", "linalg.max"} <= names


def test_without_a_schedule_there_is_nothing_to_link_to(linked, worker):
    trace, _ = linked
    with pytest.raises(UsageError, match="no payload to link"):
        link_code(compile_kernel(lhkit.load_payload("fc_relu.mlir", worker=worker), worker=worker), trace)
