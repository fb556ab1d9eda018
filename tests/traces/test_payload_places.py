"""Where payload ops come from."""

import dataclasses

from test_trace_frames import TRACE

from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadOp
from lhkit.traces.record.placed_ops import source_places

PLACE, OTHER = Span("p.mlir", 2, 3), Span("p.mlir", 4, 5)


def test_a_derived_op_has_the_place_of_the_first_op_in_its_chain():
    ops = (
        PayloadOp("o0", "linalg.add", None, (), -1, 1, PLACE),
        PayloadOp("o1", "linalg.mul", None, (), -1, 1, OTHER),
        PayloadOp("o2", "linalg.generic", None, ("o1", "o0"), 1, 2, None),
        PayloadOp("o3", "linalg.generic", None, ("o2",), 2, None, None),
        PayloadOp("o4", "arith.constant", None, (), 2, None, None),
    )
    assert source_places(dataclasses.replace(TRACE, op_records=ops)) == [PLACE, OTHER, OTHER, OTHER, None]
