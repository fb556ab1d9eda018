"""The cell magics in a shell of IPython: what they load, what they show, and where they point."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from lhkit.model.errors import PayloadError, ScheduleError, UsageError
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace

PAYLOAD = """func.func @mm(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @tile(%root: !transform.any_op {transform.consumed}) {
    %t = transform.tune.knob<"t"> = 4 : i64 from options = [2, 4] -> !transform.param<i64>
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %mm tile_sizes [%t]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence @nothing(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""


@pytest.fixture
def shell():
    made = InteractiveShell()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "lhkit")
    yield made
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


def run(shell, cell):
    """Run a cell and return its value; what it raises is raised."""
    result = shell.run_cell(cell, store_history=False)
    result.raise_error()
    return result.result


def test_a_payload_cell_gives_a_payload(shell):
    assert run(shell, f"%%payload mm --reference ref.py:mm\n{PAYLOAD}") is None
    payload = shell.user_ns["mm"]
    assert isinstance(payload, Payload) and payload.source == "<mm>" and payload.reference == "ref.py:mm"
    assert payload.function().name == "mm"


def test_a_schedule_cell_gives_a_schedule_and_with_a_payload_its_trace(shell):
    run(shell, f"%%payload mm\n{PAYLOAD}")
    assert run(shell, f"%%schedule s --entry nothing\n{SCHEDULE}") is None
    assert isinstance(shell.user_ns["s"], Schedule) and shell.user_ns["s"].entry == "nothing"
    trace = run(shell, f"%%schedule s --entry @tile --set t=2 --payload mm\n{SCHEDULE}")
    assert isinstance(trace, Trace) and trace.outcome.status == "ok"
    assert trace.schedule.knobs == (("t", 2),) and shell.user_ns["s"].values == {"t": 2}
    # Lines are those of the cell, whose first is the magic's.
    assert [s.source.line for s in trace.step_records] == [4, 5, 6]


def test_an_error_points_into_the_cell_without_a_traceback(shell, capsys):
    broken = PAYLOAD.replace("return %0", "return %1")
    with pytest.raises(PayloadError) as caught:
        run(shell, f"%%payload mm\n{broken}")
    assert caught.value.failure.span.line == 4 and "mm" not in shell.user_ns
    out = capsys.readouterr()
    shown = (out.out + out.err).splitlines()
    assert not any("Traceback" in line or ".py" in line for line in shown)
    at = next(i for i, line in enumerate(shown) if "return %1" in line)
    assert "<mm>:4:" in "\n".join(shown) and shown[at + 1].index("^") == shown[at].index("%1")


@pytest.mark.parametrize(
    ("cell", "error", "words"),
    [
        (f"%%schedule s --set t=3\n{SCHEDULE.replace('@nothing', '@__transform_main')}", UsageError, "may be one of 2, 4"),
        (f"%%schedule s --entry tile --set t\n{SCHEDULE}", UsageError, "expected KNOB=VALUE"),
        (f"%%schedule s --entry tile --set u=3\n{SCHEDULE}", UsageError, "no knob 'u'"),
        (f"%%schedule s --entry x\n{SCHEDULE}", UsageError, "no named sequence @x"),
        (f"%%schedule s --payload mm\n{SCHEDULE}", UsageError, "mm is not defined"),
        (f"%%schedule s --payload shell\n{SCHEDULE}", UsageError, "type str, not a payload"),
        (f"%%schedule s.t\n{SCHEDULE}", UsageError, "cannot be the name"),
        ("%%schedule s\nmodule {", ScheduleError, "<s>:2:"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_its_reason(shell, cell, error, words):
    shell.user_ns["shell"] = "no payload"
    with pytest.raises(error) as caught:
        run(shell, cell)
    assert words in str(caught.value) and "s" not in shell.user_ns
