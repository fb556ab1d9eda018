"""Each warning with a planted mistake and its twin without, and how each is switched off."""

import re
from pathlib import Path

import pytest

import lhkit
from lhkit.model.errors import UsageError
from lhkit.traces.warnings.warning_list import WARNING_KINDS

ROOT = Path(__file__).parents[2]
ANY = "!transform.any_op"
TO_ANY = f"({ANY}) -> {ANY}"
A, B, C = "tensor<8x32xf32>", "tensor<32x16xf32>", "tensor<8x16xf32>"
PAYLOAD = f"""
func.func @f(%a: {A}, %b: {B}, %c: {C}) -> {C} {{
  %product = linalg.matmul ins(%a, %b : {A}, {B}) outs(%c : {C}) -> {C}
  %first = linalg.exp ins(%product : {C}) outs(%c : {C}) -> {C}
  %second = linalg.exp ins(%product : {C}) outs(%c : {C}) -> {C}
  %sum = linalg.add ins(%first, %second : {C}, {C}) outs(%c : {C}) -> {C}
  return %sum : {C}
}}
func.func @g(%a: {C}, %c: {C}) -> {C} {{
  %difference = linalg.sub ins(%a, %a : {C}, {C}) outs(%c : {C}) -> {C}
  return %difference : {C}
}}
"""
FILLED = f"""
func.func @f(%a: {A}, %b: {B}, %c: {C}, %x: f32) -> {C} {{
  %init = linalg.fill ins(%x : f32) outs(%c : {C}) -> {C}
  %product = linalg.matmul ins(%a, %b : {A}, {B}) outs(%init : {C}) -> {C}
  return %product : {C}
}}
"""
QUARTER = "tensor<8x8xf32>"
STRIDES = f"""
func.func @f(%a: tensor<16x16xf32>, %c: tensor<16x16xf32>, %d: {QUARTER}) -> {QUARTER} {{
  %power = linalg.exp ins(%a : tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  %even = tensor.extract_slice %power[0, 0] [8, 8] [2, 2] : tensor<16x16xf32> to {QUARTER}
  %sum = linalg.add ins(%even, %d : {QUARTER}, {QUARTER}) outs(%d : {QUARTER}) -> {QUARTER}
  return %sum : {QUARTER}
}}
"""
WIDE = "tensor<256x256xf32>"
LARGE = f"""
func.func @f(%a: {WIDE}, %b: {WIDE}, %c: {WIDE}) -> {WIDE} {{
  %product = linalg.matmul ins(%a, %b : {WIDE}, {WIDE}) outs(%c : {WIDE}) -> {WIDE}
  return %product : {WIDE}
}}
"""
BROAD = "tensor<32x64xf32>"
ROUGH = f"""
func.func @f(%a: {BROAD}, %c: {BROAD}) -> {BROAD} {{
  %power = linalg.exp ins(%a : {BROAD}) outs(%c : {BROAD}) -> {BROAD}
  return %power : {BROAD}
}}
"""
SPARSE = f"""
func.func @f(%a: tensor<?x16xf32>, %c: tensor<?x16xf32>, %d: {C}) -> (tensor<?x16xf32>, {C}) {{
  %unknown = linalg.exp ins(%a : tensor<?x16xf32>) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  %known = linalg.abs ins(%d : {C}) outs(%d : {C}) -> {C}
  return %unknown, %known : tensor<?x16xf32>, {C}
}}
"""


def match(name, op, within="%root"):
    return f'%{name} = transform.structured.match ops{{["{op}"]}} in {within} : {TO_ANY}'


def tile(name, sizes, loops=1, types=""):
    results = ", ".join([ANY] * (loops + 1))
    return f"%t, %l{f':{loops}' if loops > 1 else ''} = transform.structured.tile_using_for %{name} tile_sizes [{sizes}] : ({ANY}{types}) -> ({results})"


def vectorize(name, how=""):
    return f"transform.structured.vectorize %{name} {how} : {ANY}"


def patterns(*names):
    listed = "\n".join(f"transform.apply_patterns.{n}" for n in names)
    return f"transform.apply_patterns to %f {{\n{listed}\n}} : {ANY}"


MATMUL, ADD, EXPS, FUNCTION = (
    match("m", "linalg.matmul"),
    match("add", "linalg.add"),
    match("exps", "linalg.exp"),
    match("f", "func.func"),
)
USE = f'transform.debug.emit_remark_at %x, "seen" : {ANY}'
GENERALIZE = f"%g = transform.structured.generalize %m : {TO_ANY}"
CSE = f"transform.apply_cse to %f : {ANY}"
CHILDREN = f"%v = transform.structured.vectorize_children_and_apply_patterns %f : {TO_ANY}"
USE_EXPS = USE.replace("%x", "%exps")
FUSE_EXPS = f"%fused, %fl = transform.structured.fuse_into_containing_op %exps into %loop : ({ANY}, {ANY}) -> ({ANY}, {ANY})"
# Behind the entry.
SEEN = f"transform.yield\n}}\ntransform.named_sequence @seen(%op: {ANY} {{transform.readonly}}) -> {ANY} {{\ntransform.yield %op : {ANY}\n}}\ntransform.named_sequence @rest(%op: {ANY} {{transform.readonly}}) {{"
TILE_ADD = (
    f"%tile, %loop = transform.structured.tile_using_forall %add tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})"
)


def knob(name, options):
    return f'%{name} = transform.tune.knob<"{name}"> = {options[0]} : i64 from options = {options} -> !transform.param<i64>'


def suppressed(*lines):
    """Return a sequence that goes on when a step in it fails."""
    head = [
        f"transform.sequence %root : {ANY} failures(suppress) {{",
        f"^bb0(%arg: {ANY}):",
        match("inner", "linalg.add", "%arg"),
    ]
    return [*head, *lines, "}"]


def producer(name, of, operand):
    return f"%{name} = transform.get_producer_of_operand %{of}[{operand}] : {TO_ANY}"


def fuse(name, loop):
    both = f"({ANY}, {ANY}) -> ({ANY}, {ANY})"
    return f"%{name}_tile, %{name}_loop = transform.structured.fuse_into_containing_op %{name} into %{loop} : {both}"


def fused_rows(sizes):
    """Return steps that tile an addition and fuse the sums of rows into its loop."""
    tiles = TILE_ADD.replace("[4]", sizes)
    return [
        producer("wide", "add", 1),
        producer("row", "wide", 0),
        tiles,
        fuse("wide", "loop"),
        fuse("row", "wide_loop"),
    ]


ROWS = f"""
func.func @f(%a: {C}, %r: tensor<8xf32>, %c: {C}) -> {C} {{
  %row = linalg.reduce {{ arith.addf }} ins(%a : {C}) outs(%r : tensor<8xf32>) dimensions = [1]
  %wide = linalg.broadcast ins(%row : tensor<8xf32>) outs(%c : {C}) dimensions = [1]
  %sum = linalg.add ins(%a, %wide : {C}, {C}) outs(%c : {C}) -> {C}
  return %sum : {C}
}}
"""
UNROLL = f"transform.loop.unroll %inner {{factor = 2}} : {ANY}"
PARAM = ", !transform.param<i64>"
CASES = {
    # kind: (schedule with the mistake, what is said, twin without it, payload)
    "zero-match": (
        [match("x", "linalg.div"), USE],
        "finds nothing: %x is empty, and what uses it will do nothing: no linalg.div here; there are",
        [match("x", "linalg.sub"), USE],
        PAYLOAD,
    ),
    "no-effect": (
        [match("m", "linalg.div"), GENERALIZE],
        "does nothing: %m is empty",
        [MATMUL, GENERALIZE],
        PAYLOAD,
    ),
    "tile-size-zero": (
        [MATMUL, f"%t = transform.structured.tile_using_for %m tile_sizes [0, 0, 0] : {TO_ANY}"],
        "every tile size is zero",
        [MATMUL, tile("m", "0, 4, 0")],
        PAYLOAD,
    ),
    "tile-size-negative": (
        [MATMUL, tile("m", "-4")],
        "tile size -4 of dimension 0 is negative",
        [MATMUL, tile("m", "4")],
        PAYLOAD,
    ),
    "tile-size-too-large": (
        [MATMUL, tile("m", "8, 0, 64", loops=2)],
        "tile size 64 is larger than dimension 2 of the linalg.matmul, which has extent 32",
        [MATMUL, tile("m", "8, 0, 32", loops=2)],
        PAYLOAD,
    ),
    "repeated-payload": (
        [EXPS, FUNCTION, CSE, USE_EXPS],
        "%exps lists one op twice (linalg.exp of p.mlir:4:12)",
        [EXPS, FUNCTION, USE_EXPS, CSE],
        PAYLOAD,
    ),
    "strided-fusion": (
        [ADD, TILE_ADD, FUNCTION, patterns("tensor.merge_consecutive_insert_extract_slice"), EXPS, FUSE_EXPS],
        "the linalg.exp of p.mlir:3:12 is read by a slice with strides, which the step leaves out of account",
        [ADD, TILE_ADD, FUNCTION, EXPS, USE_EXPS],
        STRIDES,
    ),
    "unused-handle": (
        [MATMUL, f"%same = transform.merge_handles %m : {ANY}", GENERALIZE],
        "nothing uses %same",
        [MATMUL, f"%same = transform.merge_handles %m : {ANY}", GENERALIZE.replace("%m", "%same")],
        PAYLOAD,
    ),
    "lost-contraction": (
        [MATMUL, vectorize("m")],
        "the linalg.matmul of p.mlir:3:14 became vector.multi_reduction of a product",
        [MATMUL, vectorize("m"), FUNCTION, patterns("vector.reduction_to_contract")],
        PAYLOAD,
    ),
    "scalar-code-left": (
        [FUNCTION, CHILDREN],
        "in its target are left, and will run element by element: linalg.exp of p.mlir:3:14",
        [match("known", "linalg.abs"), vectorize("known")],
        SPARSE,
    ),
    "vector-too-large": (
        [MATMUL, vectorize("m", "{create_named_contraction}")],
        "makes vectors of 65536 elements from the linalg.matmul",
        [MATMUL, tile("m", "8, 64, 64", loops=3), vectorize("t", "{create_named_contraction}")],
        LARGE,
    ),
    "tile-size-whole": (
        [MATMUL, tile("m", "8")],
        "tile size 8 is all of dimension 0 of the linalg.matmul: that loop runs once; it fits dimension 1, of extent 16",
        [MATMUL, tile("m", "4")],
        PAYLOAD,
    ),
    "tile-size-unused": (
        [ADD, TILE_ADD.replace("[4]", "[0, 4, 8]")],
        "3 tile sizes, and the linalg.add has 2 dimensions: the rest tile nothing",
        [ADD, TILE_ADD.replace("[4]", "[4, 8]")],
        PAYLOAD,
    ),
    "reduction-shared": (
        [MATMUL, TILE_ADD.replace("%add", "%m").replace("[4]", "[4, 8, 16]")],
        "dimension 2 is a reduction: iterations of the scf.forall write to the same tile",
        [MATMUL, TILE_ADD.replace("%add", "%m").replace("[4]", "[4, 8]")],
        PAYLOAD,
    ),
    "suppressed-failure": (
        [MATMUL, USE.replace("%x", "%m"), *suppressed(UNROLL)],
        "failed, and step 2 (transform.sequence) went on as if nothing had happened",
        [MATMUL, USE.replace("%x", "%m"), *suppressed(USE.replace("%x", "%inner"))],
        PAYLOAD,
    ),
    "recomputed": (
        [ADD, *fused_rows("[4, 8]")],
        "computes the same of the linalg.reduce of p.mlir:3:10 2 times over, in iterations of the scf.forall of step 3",
        [ADD, *fused_rows("[4]")],
        ROWS,
    ),
    "computed-twice": (
        [ADD, producer("e", "add", 0), producer("p", "e", 0), TILE_ADD, fuse("e", "loop"), fuse("p", "e_loop")],
        "the linalg.matmul of p.mlir:3:14 is computed in the loop and again outside of it, for linalg.exp of p.mlir:5:13",
        [ADD, producer("e", "add", 0), TILE_ADD, fuse("e", "loop")],
        PAYLOAD,
    ),
    "left-outside": (
        [ADD, producer("e", "add", 0), producer("s", "add", 1), TILE_ADD, fuse("e", "loop")],
        "the linalg.exp of p.mlir:5:13 is left outside of the scf.forall of step 3, which alone reads it",
        [
            ADD,
            producer("e", "add", 0),
            producer("s", "add", 1),
            TILE_ADD,
            fuse("e", "loop"),
            fuse("s", "e_loop"),
        ],
        PAYLOAD,
    ),
    "tiles-crossed": (
        [EXPS, tile("exps", "2, 4", loops=2), ADD, TILE_ADD.replace("[4]", "[4, 2]")],
        "the linalg.add of p.mlir:6:10 is tiled 4x2 and the linalg.exp of p.mlir:4:12, which it reads, 2x4",
        [EXPS, tile("exps", "2, 4", loops=2), ADD, TILE_ADD.replace("[4]", "[2, 4]")],
        PAYLOAD,
    ),
    "empty-sequence": (
        [
            ADD,
            f"%both = transform.include @seen failures(propagate) (%add) : {TO_ANY}",
            USE.replace("%x", "%both"),
            SEEN,
        ],
        "does nothing: the sequence that it includes has no step",
        [
            ADD,
            f"%both = transform.include @seen failures(propagate) (%add) : {TO_ANY}",
            USE.replace("%x", "%both"),
            SEEN.replace("{\n", "{\n" + USE.replace("%x", "%op") + "\n"),
        ],
        PAYLOAD,
    ),
    "outer-unrolled": (
        [ADD, tile("add", "4, 8", loops=2), UNROLL.replace("%inner", "%l#0")],
        "unrolls an outer loop: each copy has the loop inside of it whole, %l#1, which no step is given",
        [ADD, tile("add", "4, 8", loops=2), UNROLL.replace("%inner", "%l#1"), UNROLL.replace("%inner", "%l#0")],
        PAYLOAD,
    ),
    "other-loop-named": (
        [MATMUL, tile("m", "4").replace("%l ", "%reduction ")],
        "%reduction is no loop over a reduction: it makes tiles of 4x16 of the linalg.matmul of p.mlir:3:14, whose result is 8x16",
        [MATMUL, tile("m", "0, 0, 4").replace("%l ", "%reduction ")],
        PAYLOAD,
    ),
    "whole-op-vectorized": (
        [match("s", "linalg.exp"), vectorize("s")],
        "makes one vector of 8192 bytes of a whole op, outside of all loops; all registers of the widest CPU hold 2048",
        [match("s", "linalg.exp"), tile("s", "4"), vectorize("t")],
        ROUGH,
    ),
    "other-op-named": (
        [match("product", "linalg.fill"), tile("product", "4")],
        "%product holds the linalg.fill of p.mlir:3:11, and the linalg.matmul of p.mlir:4:14, which is called so",
        [
            match("product", "linalg.fill"),
            tile("product", "4"),
            MATMUL,
            tile("m", "4").replace("%t, %l", "%u, %k"),
        ],
        FILLED,
    ),
    "leftover-matched": (
        [ADD, producer("e", "add", 0), TILE_ADD, fuse("e", "loop"), EXPS, USE_EXPS],
        "finds also what fusing left outside of the loop and nothing reads (linalg.exp of p.mlir:4:12)",
        [
            ADD,
            producer("e", "add", 0),
            TILE_ADD,
            fuse("e", "loop"),
            match("exps", "linalg.exp", "%e_loop"),
            USE_EXPS,
        ],
        PAYLOAD,
    ),
    "knob-without-effect": (
        [knob("size", [2, 4]), MATMUL, tile("m", "4")],
        "each of its options 2, 4 gives the same payload",
        [knob("size", [2, 4]), MATMUL, tile("m", "%size", types=PARAM)],
        PAYLOAD,
    ),
}
SECOND = {
    "an op that only its function's vectorization changed": (
        "other-op-named",
        [
            match("sum", "linalg.sub"),
            tile("sum", "4"),
            match("f", "func.func"),
            f"%v = transform.structured.vectorize_children_and_apply_patterns %f : {TO_ANY}",
        ],
    ),
    "two kinds of sizes": ("tile-size-too-large", [knob("n", [64, 4]), MATMUL, tile("m", "%n", types=PARAM)]),
    "sizes of a forall": (
        "tile-size-too-large",
        [
            MATMUL,
            f"%t, %l = transform.structured.tile_using_forall %m tile_sizes [4, 17] : ({ANY}) -> ({ANY}, {ANY})",
        ],
    ),
    "no threads": (
        "tile-size-zero",
        [
            knob("n", [0, 4]),
            MATMUL,
            f"%t, %l = transform.structured.tile_using_forall %m num_threads [%n] : ({ANY}{PARAM}) -> ({ANY}, {ANY})",
        ],
    ),
    "a pass that finds nothing to do": (
        "no-effect",
        [FUNCTION, f'%h = transform.apply_registered_pass "loop-invariant-code-motion" to %f : {TO_ANY}'],
    ),
    "an op in the same loop": (
        "scalar-code-left",
        [
            ADD,
            EXPS,
            f"%e, %e2 = transform.split_handle %exps : ({ANY}) -> ({ANY}, {ANY})",
            TILE_ADD,
            FUSE_EXPS.replace("%exps", "%e"),
            vectorize("tile"),
        ],
    ),
    "a vector that patterns made": ("vector-too-large", [FUNCTION, CHILDREN]),
}
ONE_STEP = [MATMUL, tile("m", "0, 0, 1"), vectorize("t"), FUNCTION]
SECOND["a reduction of length one that is canonicalized too early"] = (
    "lost-contraction",
    [*ONE_STEP, patterns("canonicalization"), patterns("vector.reduction_to_contract")],
)
NO_TROUBLE = {
    "the same in the right order": [
        *ONE_STEP,
        patterns("vector.reduction_to_contract"),
        patterns("canonicalization"),
    ],
    "threads are no tile sizes": [
        MATMUL,
        f"%t, %l = transform.structured.tile_using_forall %m num_threads [64] : ({ANY}) -> ({ANY}, {ANY})",
    ],
    "interchange is for loops": [
        MATMUL,
        f"%t, %l:3 = transform.structured.tile_using_for %m tile_sizes [4, 8, 16] interchange = [2, 0, 1] : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})",
    ],
    "loops that tiling returns may go unused": [MATMUL, tile("m", "4")],
    "everything in the loop is vectorized": [
        *SECOND["an op in the same loop"][1],
        vectorize("fused"),
    ],
}


def module(lines, head=""):
    body = "\n".join(lines)
    return (
        f"{head}module attributes {{transform.with_named_sequence}} {{\n"
        f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n{body}\ntransform.yield\n}}\n}}\n"
    )


@pytest.fixture
def traced(worker):
    def trace(lines, payload=PAYLOAD, head="", **options):
        schedule = lhkit.load_schedule(module(lines, head), name="s.mlir", worker=worker)
        loaded = lhkit.load_payload(payload, name="p.mlir", worker=worker)
        return lhkit.trace(loaded, schedule, worker=worker, **options)

    return trace


def said(trace):
    return [(w.kind, w.message) for s in trace.step_records for w in s.warnings]


def kinds(trace):
    return {kind for kind, _ in said(trace)}


def test_every_kind_has_a_case():
    assert CASES.keys() == WARNING_KINDS.keys()


@pytest.mark.parametrize("kind", CASES)
def test_a_planted_mistake_is_warned_of_and_its_twin_is_not(kind, traced):
    planted, message, twin, payload = CASES[kind]
    options = {"check_knobs": kind == "knob-without-effect"}
    (found,) = [m for k, m in said(traced(planted, payload, **options)) if k == kind]
    assert message in found
    assert kind not in kinds(traced(twin, payload, **options))


@pytest.mark.parametrize("name", SECOND)
def test_more_mistakes(name, traced):
    kind, lines = SECOND[name]
    payload = LARGE if kind == "vector-too-large" else PAYLOAD
    assert kind in kinds(traced(lines, payload))


@pytest.mark.parametrize(("sizes", "loops"), [("[4, 8]", "%rows, %loop"), ("[4]", "%loop")])
def test_what_an_op_only_writes_to_is_not_read(sizes, loops, traced):
    """A loop hands on what the op in it writes to; the sums of rows are the same in each iteration of columns."""
    absolute = f"  %e = linalg.abs ins(%a : {C}) outs(%c : {C}) -> {C}\n  %row ="
    payload = ROWS.replace("  %row =", absolute).replace("addf } ins(%a", "addf } ins(%e")
    results = ", ".join([ANY] * (2 + loops.count(",")))
    lines = [ADD, producer("wide", "add", 1), producer("row", "wide", 0), producer("e", "row", 0)]
    lines += [
        f"%tile, {loops} = transform.structured.tile_using_for %add tile_sizes {sizes} : ({ANY}) -> ({results})"
    ]
    lines += [fuse("wide", "loop"), fuse("row", "wide_loop"), fuse("e", "row_loop")]
    assert ("recomputed" in kinds(traced(lines, payload))) == ("rows" in loops)


@pytest.mark.parametrize("name", NO_TROUBLE)
def test_no_false_alarm(name, traced):
    assert said(traced(NO_TROUBLE[name])) == []


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([MATMUL, GENERALIZE, match("x", "linalg.matmul"), USE], "no linalg.matmul here; step 1 (transform.structured.generalize) turned the one there was into linalg.generic"),
        ([EXPS, f"%g = transform.structured.generalize %exps : {TO_ANY}", match("x", "linalg.exp"), USE], "turned the 2 there were into linalg.generic"),
        ([FUNCTION, f"%ff, %gg = transform.split_handle %f : ({ANY}) -> ({ANY}, {ANY})", match("x", "linalg.sub", "%ff"), USE], "there is 1 in @g, outside of what it looks into"),
        ([match("x", "linalg.matmull"), USE], "did you mean linalg.matmul (there is 1)?"),
        ([match("x", "exp"), USE], "did you mean linalg.exp (there are 2) or math.exp (there are 2)?"),
        ([f'%x = transform.structured.match ops{{["linalg.exp"]}} attributes{{none}} in %root : {TO_ANY}', USE], "2 linalg.exp are there, and none has the attribute none: leave that condition out"),
        (["%n = transform.param.constant 8 : i64 -> !transform.param<i64>", MATMUL, f'transform.annotate %m "size" = %n : {ANY}, !transform.param<i64>', f'%x = transform.structured.match ops{{["linalg.matmul"]}} attributes{{size = 4 : i64}} in %root : {TO_ANY}', USE], "1 linalg.matmul is there, and the match asks for size = 4 : i64, where the op has 8 : i64: write size = 8 : i64"),
        (["%n = transform.param.constant 8 : i64 -> !transform.param<i64>", MATMUL, f'transform.annotate %m "size" = %n : {ANY}, !transform.param<i64>', f'%x = transform.structured.match interface{{LinalgOp}} attributes{{size = 8 : i32}} in %root : {TO_ANY}', USE], "nothing: the match asks for size = 8 : i32, where the op has 8 : i64: write size = 8 : i64"),
        ([f'%x = transform.structured.match ops{{["linalg.matmul"]}} filter_result_type = tensor<16x8xf32> in %root : {TO_ANY}', USE], "1 linalg.matmul is there, and the result is tensor<8x16xf32>, not tensor<16x8xf32>: write filter_result_type = tensor<8x16xf32>"),
        ([f'%x = transform.structured.match interface{{LoopLikeInterface}} in %root : {TO_ANY}', USE], "what uses it will do nothing"),
    ],
)  # fmt: skip
def test_the_nearest_misses_of_a_match(lines, why, traced):
    (message,) = [m for k, m in said(traced(lines)) if k == "zero-match"]
    assert message.endswith(why)


def test_who_reads_the_copy_outside_is_the_op_behind_its_slice(traced):
    steps = [producer("e", "add", 0), producer("s", "add", 1), producer("p", "e", 0), TILE_ADD]
    steps += [fuse("e", "loop"), fuse("p", "e_loop"), fuse("s", "p_loop")]
    (message,) = [m for k, m in said(traced([ADD, *steps])) if k == "computed-twice"]
    assert message.endswith("and again outside of it, for linalg.exp of p.mlir:5:13")


@pytest.mark.parametrize("kind", CASES)
def test_each_is_switched_off_by_name_and_in_the_text(kind, traced):
    planted, _, _, payload = CASES[kind]
    options = {"check_knobs": kind == "knob-without-effect"}
    before = said(traced(planted, payload, **options))
    others = sorted(k for k, _ in before if k != kind)
    assert sorted(k for k, _ in said(traced(planted, payload, no_warnings=[kind], **options))) == others
    head = f"// A schedule.\n// lhkit: allow {kind}, defect\n"
    assert sorted(k for k, _ in said(traced(planted, payload, head=head, **options))) == others


def test_a_comment_is_for_its_line_and_the_next(traced):
    miss = match("x", "linalg.div")
    plain = [
        miss,
        match("y", "linalg.div"),
        match("z", "linalg.div"),
        USE,
        USE.replace("%x", "%y"),
        USE.replace("%x", "%z"),
    ]

    def missing(lines):
        trace = traced(lines)
        return [
            trace.handle(s.results[0]).name
            for s in trace.step_records
            for w in s.warnings
            if w.kind == "zero-match"
        ]

    assert missing(plain) == ["%x", "%y", "%z"]
    assert missing([f"{plain[0]} // lhkit: allow zero-match", *plain[1:]]) == ["%y", "%z"]
    assert missing(["// lhkit: allow no-effect, zero-match", *plain]) == ["%y", "%z"]
    assert missing(["// lhkit: allow no-effect", *plain]) == ["%x", "%y", "%z"]


def test_an_unknown_kind_is_refused(traced):
    with pytest.raises(UsageError, match="no warning is called 'zero-matches'"):
        traced([MATMUL], no_warnings=["zero-matches"])


def test_a_knob_with_an_effect_in_one_option_is_not_listed(traced):
    lines = [knob("a", [64, 8, 4]), knob("b", [1, 2]), MATMUL, tile("m", "%a", types=PARAM)]
    (found,) = [m for k, m in said(traced(lines, check_knobs=True)) if k == "knob-without-effect"]
    assert found.startswith("knob 'b'")


@pytest.mark.parametrize("path", sorted((ROOT / "schedules").glob("*.mlir")), ids=lambda p: p.stem)
def test_a_shipped_schedule_gives_no_warning(path, worker):
    name = re.match(r"// Payload: data/(\w+)", path.read_text())[1]
    payload = lhkit.load_payload(ROOT / "data" / f"{name}.mlir", worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(path, worker=worker), worker=worker)
    assert trace.outcome.status == "ok" and said(trace) == []


def test_panels_that_a_loop_fills_are_other_ones_in_each_iteration(worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", worker=worker)
    # 24 columns, as for AVX2, leave 8 of 512.
    schedule = schedule.with_knobs({"tile_m": 4, "tile_n": 24, "narrow_tile_m": 8, "lanes": 8})
    payload = lhkit.load_payload(ROOT / "data" / "fc_relu.mlir", worker=worker)
    assert said(lhkit.trace(payload, schedule, worker=worker)) == []


def test_what_is_said_of_strides_is_so(traced, worker):
    planted, _, twin, text = CASES["strided-fusion"]
    payload = lhkit.load_payload(text, worker=worker)
    for lines, is_right in ((planted, False), (twin, True)):
        schedule = lhkit.load_schedule(module(lines), worker=worker)
        assert lhkit.verify(lhkit.compile(payload, schedule, worker=worker)).ok == is_right
