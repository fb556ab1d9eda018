"""What composing costs, run by hand: ``make heavy``. Each prints its figures; the limits hold on a quiet machine."""

import statistics
import time

import pytest

from lhkit.compose.session import Session
from lhkit.compose.trial_steps import try_ops
from lhkit.load.loader import load_payload, load_schedule
from lhkit.text.step_arguments import set_argument

pytestmark = pytest.mark.heavy
ROUNDS = 41
FUSED = ("%sum", "%matmul", "%init", "%zeros")


def twenty_steps():
    """Return a schedule of 20 steps for fc_relu, the last of which tiles a reduction."""
    op = "!transform.any_op"
    lines = [f'%relu = transform.structured.match ops{{["linalg.max"]}} in %root : ({op}) -> {op}']
    lines += [
        f"{name} = transform.get_producer_of_operand {of}[{i}] : ({op}) -> {op}"
        for name, of, i in (
            ("%sum", "%relu", 0),
            ("%matmul", "%sum", 0),
            ("%init", "%matmul", 2),
            ("%zeros", "%relu", 1),
        )
    ]
    strip, within = "%relu", dict(zip(FUSED, FUSED, strict=True))
    for level, sizes in enumerate(("[0, 64]", "[4, 0]")):
        tile, loop = f"%relu_{level}", f"%loop_{level}_0"
        lines.append(
            f"{tile}, {loop} = transform.structured.tile_using_for {strip} tile_sizes {sizes} : ({op}) -> ({op}, {op})"
        )
        strip = tile
        for number, name in enumerate(FUSED):
            made, after = f"{name}_{level}", f"%loop_{level}_{number + 1}"
            lines.append(
                f"{made}, {after} = transform.structured.fuse_into_containing_op {within[name]} into {loop} : ({op}, {op}) -> ({op}, {op})"
            )
            within[name], loop = made, after
    lines.append(f'%function = transform.structured.match ops{{["func.func"]}} in %root : ({op}) -> {op}')
    lines.append(f"transform.apply_cse to %function : {op}")
    lines.append(f'%loops = transform.structured.match ops{{["scf.for"]}} in %function : ({op}) -> {op}')
    lines.append(f"transform.apply_licm to %loops : {op}")
    lines.append(
        f"%step, %steps = transform.structured.tile_using_for {within['%matmul']} tile_sizes [0, 0, 1] : ({op}) -> ({op}, {op})"
    )
    assert len(lines) == 20
    body = "\n".join(f"    {line}" for line in lines)
    return (
        "module attributes {transform.with_named_sequence} {\n"
        "  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {\n"
        f"{body}\n    transform.yield\n  }}\n}}\n"
    )


def test_an_edit_of_the_last_of_twenty_steps_retraces_quickly(worker):
    schedule = load_schedule(twenty_steps(), worker=worker)
    session = Session(load_payload("fc_relu.mlir", worker=worker), schedule, worker=worker)
    assert session.trace.outcome.status == "ok" and len(session.trace.step_records) == 20
    last = 20  # behind the sequence itself, which is number 0
    taken = []
    for number in range(ROUNDS):
        size = 2 + number  # every round another schedule: none is kept from before
        started = time.perf_counter()
        session.edit(lambda script, n=size: set_argument(script, last, "tile_sizes", f"[0, 0, {n}]"))
        trace = session.trace
        taken.append(1e3 * (time.perf_counter() - started))
        assert not session.is_stale and trace.outcome.status == "ok"
    session.close()
    median = statistics.median(taken)
    print(f"\nedit of the last of 20 steps to the new trace: median {median:.1f} ms, least {min(taken):.1f} ms")
    assert median < 60


MATMUL = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


def test_what_can_be_done_with_a_matmul_is_known_soon(own_worker, catalogue):
    payload = load_payload("fc_relu.mlir", worker=own_worker)
    schedule = load_schedule(MATMUL, worker=own_worker)
    started = time.perf_counter()
    taken = [
        time.perf_counter() - started
        for _ in try_ops(payload, schedule, "%matmul", catalogue=catalogue, worker=own_worker)
    ]
    print(
        f"\nops and recipes tried on the matmul of fc_relu: {len(taken)}, the first after {taken[0]:.2f} s, all after {taken[-1]:.2f} s"
    )
    assert taken[0] < 0.5 and taken[-1] < 15
