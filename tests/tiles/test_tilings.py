"""Tiles against an interpreter that hands on indices instead of values, and the choice of what is shown."""

import dataclasses
import itertools
import math
from collections import defaultdict, namedtuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lhkit
from lhkit.draw.viewer import View, view_html
from lhkit.model.target import VECTORS
from lhkit.model.tile_picture import TermValues
from lhkit.show.value_views import tiles_pane
from lhkit.tiles import operand_region as tile_sweeps
from lhkit.tiles.operand_region import LoopNest, RegionTracker
from lhkit.tiles.tile_facts import tile_frame, tile_picture
from lhkit.tiles.tile_layout import tiles_text
from lhkit.tiles.tile_requests import read_tilings, tile_picture_of
from lhkit.tiles.tile_svg import tiles_svg
from tests.index_interpreter import touched

MATMUL = """
func.func @f(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>, %c: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
    outs(%c : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}"""

CONV = """
func.func @f(%x: tensor<1x9x12x2xf32>, %w: tensor<3x2x2x3xf32>, %y: tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 3]> : tensor<2xi64>, dilations = dense<[1, 2]> : tensor<2xi64>}
    ins(%x, %w : tensor<1x9x12x2xf32>, tensor<3x2x2x3xf32>) outs(%y : tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  return %r : tensor<1x4x4x3xf32>
}"""

# Transposed, spread out, and along a diagonal.
GENERIC = """
#t = affine_map<(i, j) -> (j, i)>
#s = affine_map<(i, j) -> (2 * i + 1, j)>
#d = affine_map<(i, j) -> (i, i)>
#o = affine_map<(i, j) -> (i, j)>
func.func @f(%t: tensor<5x6xf32>, %s: tensor<13x5xf32>, %d: tensor<6x6xf32>, %o: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %r = linalg.generic {indexing_maps = [#t, #s, #d, #o], iterator_types = ["parallel", "parallel"]}
    ins(%t, %s, %d : tensor<5x6xf32>, tensor<13x5xf32>, tensor<6x6xf32>) outs(%o : tensor<6x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %c : f32
    linalg.yield %q : f32
  } -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}"""

CHAIN = """
func.func @f(%a: tensor<10x7xf32>, %b: tensor<7x9xf32>, %c: tensor<10x9xf32>, %d: tensor<10x9xf32>)
    -> tensor<10x9xf32> {
  %p = linalg.matmul ins(%a, %b : tensor<10x7xf32>, tensor<7x9xf32>) outs(%c : tensor<10x9xf32>) -> tensor<10x9xf32>
  %q = linalg.exp ins(%p : tensor<10x9xf32>) outs(%d : tensor<10x9xf32>) -> tensor<10x9xf32>
  return %q : tensor<10x9xf32>
}"""

OP = "!transform.any_op"

Compared = namedtuple("Compared", "executions inexact")


def tiled(op, *levels, with_forall=False):
    """Return a schedule that tiles an op, and each tile again."""
    lines, at = [], "%op"
    for number, sizes in enumerate(levels):
        loops = 1 if with_forall else sum(map(bool, sizes))
        kind = "forall" if with_forall else "for"
        lines.append(
            f"%t{number}, %l{number}:{loops} = transform.structured.tile_using_{kind} {at} tile_sizes {list(sizes)}"
            f" : ({OP}) -> ({', '.join([OP] * (1 + loops))})"
        )
        at = f"%t{number}"
    return schedule(op, *lines)


def schedule(op, *lines):
    body = "\n    ".join(lines)
    return f"""
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {OP} {{transform.consumed}}) {{
    %op = transform.structured.match ops{{["{op}"]}} in %root : ({OP}) -> {OP}
    {body}
    transform.yield
  }}
}}"""


FUSED = schedule(
    "linalg.exp",
    f"%p = transform.get_producer_of_operand %op[0] : ({OP}) -> {OP}",
    f"%t, %l:2 = transform.structured.tile_using_for %op tile_sizes [4, 5] : ({OP}) -> ({OP}, {OP}, {OP})",
    f"%f, %n = transform.structured.fuse_into_containing_op %p into %l#1 : ({OP}, {OP}) -> ({OP}, {OP})",
    f"%u, %m = transform.structured.tile_using_for %f tile_sizes [0, 0, 3] : ({OP}) -> ({OP}, {OP})",
)
PADDED = schedule(
    "linalg.matmul",
    f"%t, %l:3 = transform.structured.tile_using_for %op tile_sizes [4, 4, 4] : ({OP}) -> ({OP}, {OP}, {OP}, {OP})",
    "%p, %q, %c = transform.structured.pad %t {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32],"
    f' padding_dimensions = [0, 1, 2], copy_back_op = "none"}} : ({OP}) -> ({OP}, {OP}, {OP})',
)
THREADS = schedule(
    "linalg.matmul",
    f"%t, %l = transform.structured.tile_using_forall %op num_threads [3, 2] : ({OP}) -> ({OP}, {OP})",
)


def applied(worker, payload, text):
    trace = lhkit.trace(
        lhkit.load_payload(payload, worker=worker), lhkit.load_schedule(text, worker=worker), worker=worker
    )
    assert trace.outcome.status == "ok", trace.outcome.message
    return trace.last_snapshot_text()


def indices(found, shape):
    """Return the elements of a footprint as linear indices."""
    strides = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    return {sum(i * s for i, s in zip(point, strides, strict=True)) for point in itertools.product(*found.axes)}


def compare(worker, text, shapes=None):
    """Compare every execution of every op with the interpreter; return how many there were, and how many inexact."""
    tilings = read_tilings("payload", text.encode(), worker)
    function = tilings.functions[0]
    given = [a.shape for a in function.arguments] if shapes is None else shapes
    executed = touched(text, function.name, given)
    compared = inexact = 0
    for op in tilings.ops:
        runs = [(loops, sets) for number, loops, sets in executed if number == op.number]
        values = TermValues(tilings.terms, given)
        nest = LoopNest(op.loops, tilings.loops, values)
        assert nest.count() == len(runs)
        for n, operand in enumerate(op.operands):
            sweeper = RegionTracker(operand, op, nest, values)
            whole = [values.value(t) for t in operand.base_shape]
            before, together = set(), defaultdict(set)
            for loops, sets in runs:
                for depth in range(len(loops)):
                    together[loops[:depth]] |= sets[n]
            for number, (loops, sets) in enumerate(runs):
                iteration = nest.iteration(number)
                assert tuple(iteration.values()) == loops
                found = sweeper.at(iteration)
                tile = indices(found, whole)
                assert sets[n] == tile if found.is_exact else sets[n] <= tile
                visited = sweeper.visited(iteration)
                reached = set().union(*(indices(p, whole) for p in visited))
                assert before <= reached
                assert before == reached or not all(p.is_exact for p in visited)
                for depth, part in enumerate(sweeper.passes(iteration)):
                    passed = indices(part, whole)
                    assert together[loops[:depth]] <= passed
                    assert together[loops[:depth]] == passed or not part.is_exact
                before |= sets[n]
                compared += 1
                inexact += not found.is_exact
    assert compared
    return Compared(compared, inexact)


CASES = {
    "edges": (MATMUL.format(m=10, n=9, k=7), tiled("linalg.matmul", (4, 3, 2)), 0),
    "tiles of tiles": (MATMUL.format(m=11, n=6, k=4), tiled("linalg.matmul", (5, 4, 0), (2, 2, 3)), 0),
    "threads": (MATMUL.format(m=10, n=9, k=7), THREADS, 0),
    "forall": (MATMUL.format(m=10, n=9, k=7), tiled("linalg.matmul", (4, 4), with_forall=True), 0),
    "padded": (MATMUL.format(m=6, n=9, k=7), PADDED, 0),
    "fused producer": (CHAIN, FUSED, 0),
    "spread-out convolution": (CONV, tiled("linalg.conv_2d_nhwc_hwcf", (1, 3, 2, 2)), 0),
    # The diagonal is less than its square, and tiles of it are no grid.
    "transposed, spread out, diagonal": (GENERIC, tiled("linalg.generic", (4, 3)), 4),
}


@pytest.mark.parametrize("joined", [48, 0], ids=["tile by tile", "by the steps of the loops"])
@pytest.mark.parametrize("case", CASES)
def test_tiles_are_what_an_interpreter_touches(worker, monkeypatch, case, joined):
    monkeypatch.setattr(tile_sweeps, "_MOST_JOINED", joined)
    payload, text, inexact = CASES[case]
    assert compare(worker, applied(worker, payload, text)).inexact == inexact


@settings(
    max_examples=6, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    extents=st.tuples(*[st.integers(1, 7)] * 3),
    outer=st.tuples(*[st.sampled_from([0, 2, 3, 4, 5])] * 3).filter(any),
    inner=st.tuples(*[st.sampled_from([0, 2, 3])] * 3).filter(any),
)
def test_tiles_of_any_sizes(worker, extents, outer, inner):
    m, n, k = extents
    text = applied(worker, MATMUL.format(m=m, n=n, k=k), tiled("linalg.matmul", outer, inner))
    assert compare(worker, text).inexact == 0


def test_dynamic_sizes_are_given(worker):
    payload = MATMUL.format(m="?", n="?", k="?")
    text = applied(worker, payload, tiled("linalg.matmul", (4, 3, 2)))
    assert compare(worker, text, [(10, 7), (7, 9), (10, 9)]) == Compared(3 * 36, 0)
    with pytest.raises(lhkit.LhkitError, match=r"argument 0, argument 1, argument 2 of dynamic shape"):
        tile_picture_of(lhkit.load_payload(text, worker=worker), worker=worker)
    with pytest.raises(lhkit.LhkitError, match=r"shape \(10,\) does not fit argument 0"):
        tile_picture_of(lhkit.load_payload(text, worker=worker), shapes=((10,), (7, 9), (10, 9)), worker=worker)


def test_many_tiles_are_joined_by_the_steps_of_the_loops(worker):
    """More tiles than are listed: what is reached has to be the same as for few, at edges too."""
    text = applied(worker, MATMUL.format(m=301, n=9, k=203), tiled("linalg.matmul", (2, 4, 3)))
    picture = tile_picture_of(lhkit.load_payload(text, worker=worker), worker=worker)
    frame = tile_frame(picture, picture.iterations - 1)
    a, b, c = frame.tiles
    assert (a.tile.box, b.tile.box, c.tile.box) == (
        ((300, 301), (201, 203)),
        ((201, 203), (8, 9)),
        ((300, 301), (8, 9)),
    )
    assert a.passes[0].box == ((0, 301), (0, 203)) and a.passes[0].is_exact
    assert [p.box for p in b.visited] == [((0, 203), (0, 9))]
    assert a.passes[2].box == ((300, 301), (0, 203)) and a.passes[2].counts == (1, 203)


def test_the_facts_of_a_tiled_product(worker):
    trace = lhkit.trace(
        lhkit.payloads.fc_relu(64, 32, 48),
        lhkit.load_schedule("fc_relu_tile.mlir", knobs={"tile_m": 16, "tile_n": 8, "tile_k": 8}),
        worker=worker,
    )
    picture = tile_picture_of(trace, iteration=7, worker=worker)
    assert [(x.label, x.count, x.step) for x in picture.loops] == [("i", 4, 16), ("j", 4, 8), ("k", 6, 8)]
    facts = [(o.letter, o.name, o.axes, o.shape, o.stays, o.returns) for o in picture.operands]
    assert facts == [
        ("A", "%lhs", ("i", "k"), (64, 48), 1, 4),
        ("B", "%rhs", ("k", "j"), (48, 32), 1, 4),
        ("C", "result", ("i", "j"), (64, 32), 6, 1),
    ]
    frame = tile_frame(picture)
    assert frame.values == (0, 8, 8)
    assert [w.label for w in frame.working_sets] == ["tile", "k", "j", "i"]
    assert [w.total_bytes for w in frame.working_sets][:2] == [
        4 * (16 * 8 + 8 * 8 + 16 * 8),
        4 * (16 * 48 + 48 * 8 + 128),
    ]
    (op_id,) = picture.op_ids
    assert trace.op(op_id).name == "linalg.matmul" and trace.op(op_id).died is None
    assert [trace.handle(h).name for h in picture.handles] == ["%tiled"]


def test_a_picture_starts_where_others_were_visited_before(worker):
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir", worker=worker)
    picture = tile_picture_of(trace, worker=worker)
    assert picture.first == 21 and all(t.visited for t in tile_frame(picture).tiles)
    for most in (8, 32):
        pane = tiles_pane(picture, most)
        assert 0 < pane.start < most == len(pane.frames)
        shown = view_html(View("", (pane,)))
        assert pane.frames[pane.start].html in shown and pane.frames[0].html not in shown
    assert "visited before" in tiles_svg(picture)
    given = tile_picture_of(trace, step=-1, worker=worker)
    # Without a loop there is no tile before, and no pass, for a legend to explain.
    assert given.first == 0 and "this tile" in tiles_svg(given) and "visited before" not in tiles_svg(given)


@pytest.mark.parametrize("target", sorted(VECTORS))
def test_after_vectorization_the_last_step_with_the_op_is_shown(target, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    tile_m, tile_n = schedule.values["tile_m"], schedule.values["tile_n"]
    if tile_n == 24:
        # These tiles are cut into vectors; the narrow ones beside them are larger.
        tile_m, tile_n = schedule.values["narrow_tile_m"], schedule.values["lanes"]
    trace = lhkit.trace(lhkit.payloads.fc_relu(64, 64, 520), schedule, worker=worker)
    picture = tile_picture_of(trace, worker=worker)
    following = next(s for s in trace.step_records if s.index > picture.step)
    assert following.op == "transform.structured.vectorize"
    assert picture.notes == (
        f"At the end no structured op is left: shown is the payload after step {picture.step},"
        f" before step {following.index} (transform.structured.vectorize).",
    )
    panel = picture.operands[1]
    # A panel for every strip of columns, where there are several.
    new_in = "j" if tile_n < 64 else None
    assert (panel.name, panel.shape, panel.new_in) == ("temporary", (520, tile_n), new_in)
    assert picture.extents == (tile_m, tile_n, 1)


def test_ops_are_chosen_by_handle_id_name_and_number(worker):
    trace = lhkit.trace(
        lhkit.payloads.fc_relu(64, 64, 64), lhkit.load_schedule("fc_relu_tile_fuse.mlir"), worker=worker
    )
    by_name = tile_picture_of(trace, op="linalg.max", worker=worker)
    (op_id,) = by_name.op_ids
    assert by_name.op == "linalg.max" and tile_picture_of(trace, op=op_id, worker=worker) == by_name
    handle = next(h for h in trace.handle_records if h.id == by_name.handles[0])
    assert tile_picture_of(trace, op=handle.name, worker=worker).op_ids == (op_id,)
    assert tile_picture_of(trace, op=by_name.structured_op.number, worker=worker) == by_name
    assert tile_picture_of(trace, step=-1, worker=worker).loops == ()
    with pytest.raises(lhkit.LhkitError, match=r"no handle 'nobody'"):
        tile_picture_of(trace, op="nobody", worker=worker)
    with pytest.raises(lhkit.LhkitError, match=r"there is no structured op 99"):
        tile_picture_of(trace, op=99, worker=worker)
    with pytest.raises(lhkit.LhkitError, match=r"there is no linalg.matvec"):
        tile_picture_of(trace, op="linalg.matvec", worker=worker)
    with pytest.raises(lhkit.LhkitError, match=r"there is no iteration 1000000: the loops have"):
        tile_picture_of(trace, iteration=1_000_000, worker=worker)


def test_knobs_change_the_picture(worker):
    payload, loaded = lhkit.payloads.matmul(32, 32, 32), lhkit.load_schedule("matmul_tile.mlir")
    pictures = [
        tile_picture_of(lhkit.trace(payload, loaded, {"tile_m": size}, worker=worker), worker=worker)
        for size in (8, 16)
    ]
    assert [p.loops[0].count for p in pictures] == [4, 2]
    assert [tile_frame(p).tiles[0].tile.counts[0] for p in pictures] == [8, 16]


def test_a_payload_without_structured_ops_says_so(worker):
    payload = lhkit.load_payload("func.func @f(%x: f32) -> f32 { return %x : f32 }", worker=worker)
    with pytest.raises(lhkit.LhkitError, match=r"there is no structured op in <payload>"):
        tile_picture_of(payload, worker=worker)


NEW_IN_THE_LOOP = """
func.func @f(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %whole = tensor.empty() : tensor<64xf32>
  %r = scf.for %i = %c0 to %c64 step %c16 iter_args(%to = %whole) -> (tensor<64xf32>) {
    %x = tensor.extract_slice %a[%i] [16] [1] : tensor<64xf32> to tensor<16xf32>
    %new = tensor.empty() : tensor<16xf32>
    %y = linalg.exp ins(%x : tensor<16xf32>) outs(%new : tensor<16xf32>) -> tensor<16xf32>
    %unused = linalg.log ins(%x : tensor<16xf32>) outs(%new : tensor<16xf32>) -> tensor<16xf32>
    %next = tensor.insert_slice %y into %to[%i] [16] [1] : tensor<16xf32> into tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}"""


def test_a_result_that_is_new_in_the_loop_is_drawn_where_it_goes(worker):
    tilings = read_tilings("payload", NEW_IN_THE_LOOP.encode(), worker)
    assert [(o.name, o.is_live) for o in tilings.ops] == [("linalg.exp", True), ("linalg.log", False)]
    picture = tile_picture(tilings, tilings.ops[0])
    assert picture.operands[-1].shape == (64,)
    assert tile_frame(picture, 2).tiles[-1].tile.box == ((32, 48),)
    assert [p.box for p in tile_frame(picture, 2).tiles[-1].visited] == [((0, 32),)]


def test_what_is_read_twice_counts_once_and_strides_leave_gaps(worker):
    picture = tile_picture_of(lhkit.payloads.strided_window(8, 8), op="linalg.add", worker=worker)
    frame = tile_frame(picture)
    assert [t.tile.box for t in frame.tiles] == [((1, 16), (0, 15)), ((1, 16), (0, 15)), ((0, 8), (0, 8))]
    assert frame.tiles[0].tile.steps == (2, 2) and frame.tiles[0].tile.elements == 64
    assert frame.working_sets[0].bytes == (256, 256, 256) and frame.working_sets[0].total_bytes == 512
    assert "tile of A: 8x8 of 16x16, 256 B  %source[1:16:2, 0:15:2]" in tiles_text(picture)


def test_a_trace_without_a_payload_says_so(worker):
    trace = lhkit.trace(lhkit.payloads.matmul(8, 8, 8), lhkit.load_schedule("matmul_tile.mlir"), worker=worker)
    with pytest.raises(lhkit.LhkitError, match="the trace has no payload"):
        tile_picture_of(dataclasses.replace(trace, snapshots=()), worker=worker)


def test_a_trace_from_elsewhere_has_its_pictures(worker):
    """Without what it was made from, and without records of payload ops, as some hosts give it."""
    trace = lhkit.trace(
        lhkit.payloads.matmul(64, 64, 64), lhkit.load_schedule("matmul_tile.mlir"), worker=worker
    )
    bare = dataclasses.replace(trace, provenance=None, op_records=())
    picture = tile_picture_of(bare, worker=worker)
    assert picture.step == tile_picture_of(trace, worker=worker).step and picture.op_ids == ()
    assert [o.name for o in picture.operands][:2] == ["%arg0", "%arg1"]


def test_copies_of_an_unrolled_loop_are_counted_and_the_moment_is_said(worker):
    trace = lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule("fc_relu_handles.mlir"))
    unrolled = trace.step_records[-1]
    assert unrolled.op == "transform.loop.unroll"
    made = [o for o in trace.op_records if o.name == "linalg.matmul" and o.born == unrolled.index]
    written = 1 + sum(trace.op(o.parent).name == "scf.for" for o in made)  # the rest of the loop is apart
    at_end = tile_picture_of(trace)
    assert at_end.where == f"at the end, after step {unrolled.index} (loop.unroll)"
    assert written > 1 and at_end.notes == (
        f"Shown is 1 of {written} linalg.matmul in the same loops: the others are not in the picture.",
    )
    assert at_end.where in tiles_text(at_end) and at_end.notes[0] in tiles_text(at_end)
    picture = tiles_svg(at_end)
    assert at_end.where in picture and "Shown is 1 of" in picture
    before = tile_picture_of(trace, step=unrolled.index - 1)
    name = trace.step_records[unrolled.index - 1].op.removeprefix("transform.")
    assert before.where == f"after step {unrolled.index - 1} ({name})" and before.notes == ()
    assert tile_picture_of(trace, step=-1).where == "the payload as given"
    assert tile_picture_of(lhkit.load_payload("fc_relu.mlir")).where == ""


def test_every_copy_says_which_it_is(worker):
    trace = lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule("fc_relu_handles.mlir"))
    step = trace.step_records[-1].index
    tilings = read_tilings("p", trace.snapshot_text(step).encode(), worker)
    numbers = [o.number for o in tilings.ops if o.name == "linalg.matmul"]
    notes = [note for n in numbers for note in tile_picture_of(trace, op=n, step=step).notes]
    said = [note.split(" linalg")[0] for note in notes]
    assert len(said) > 1 and said == [f"Shown is {i} of {len(said)}" for i in range(1, len(said) + 1)]
