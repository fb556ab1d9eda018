"""Repairs of wrong operand numbers, sizes, names and kinds: what was meant is the first that is offered."""

import re

import pytest

import lhkit
from lhkit.model.errors import ScheduleError
from lhkit.repairs.repair_trials import find_text_repairs

ANY = "!transform.any_op"
ONE = f"({ANY}) -> {ANY}"
TWO = f"({ANY}, {ANY}) -> ({ANY}, {ANY})"
PAYLOAD = lhkit.payloads.fc_relu(32, 32, 32).text
FUSED = [
    f'%relu = transform.structured.match ops{{["linalg.max"]}} in %root : {ONE}',
    f"%sum = transform.get_producer_of_operand %relu[0] : {ONE}",
    f"%zeros = transform.get_producer_of_operand %relu[1] : {ONE}",
    f"%tile, %l0 = transform.structured.tile_using_forall %relu tile_sizes [8, 16] : ({ANY}) -> ({ANY}, {ANY})",
    f"%sum_t, %l1 = transform.structured.fuse_into_containing_op %sum into %l0 : {TWO}",
    f"%zeros_t, %l2 = transform.structured.fuse_into_containing_op %zeros into %l1 : {TWO}",
]
MATMUL = f'%m = transform.structured.match ops{{["linalg.matmul"]}} in %root : {ONE}'
TILED = f"%t, %k:3 = transform.structured.tile_using_for %m tile_sizes [8, 16, 8] : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})"
CHAIN = [
    FUSED[0],
    f"%sum = transform.get_producer_of_operand %relu[0] : {ONE}",
    f"%product = transform.get_producer_of_operand %sum[0] : {ONE}",
    f"%init = transform.get_producer_of_operand %product[2] : {ONE}",
    f"%tile, %loop = transform.structured.tile_using_for %init tile_sizes [8] : ({ANY}) -> ({ANY}, {ANY})",
]
INTERCHANGED = [
    MATMUL,
    f"%g = transform.structured.generalize %m : {ONE}",
    f"%i = transform.structured.interchange %g iterator_interchange = [2, 0, 1] : {ONE}",
    f'transform.annotate %i "seen" : {ANY}',
]
SUPPRESSED = [
    MATMUL,
    TILED.replace("%k:3", "%k1, %k2, %k3"),
    f"transform.sequence %root : {ANY} failures(suppress) {{",
    f"^bb0(%arg: {ANY}):",
    f"transform.loop.unroll %k3 {{factor = 2}} : {ANY}",
    "}",
]
MERGED = [
    *FUSED,
    f"%both = transform.merge_handles %sum_t, %zeros_t : {ANY}",
    f"transform.structured.vectorize %both : {ANY}",
]
SPLIT = [
    MATMUL,
    f"%f, %z, %p, %c = transform.structured.split_reduction %m {{split_factor = 16, insert_split_dimension = 2}} : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})",
    f'transform.annotate %p "seen" : {ANY}',
]
PEELED = [
    MATMUL,
    f"%t, %k:2 = transform.structured.tile_using_for %m tile_sizes [8, 12] : ({ANY}) -> ({ANY}, {ANY}, {ANY})",
    f'%for = transform.cast %k#1 : {ANY} to !transform.op<"scf.for">',
    f'%main, %rest = transform.loop.peel %for : (!transform.op<"scf.for">) -> ({ANY}, {ANY})',
    f"transform.loop.unroll %main {{factor = 2}} : {ANY}",
]
ALL_GENERIC = [
    f"%named = transform.structured.match interface{{LinalgOp}} in %root : {ONE}",
    f"%generics = transform.structured.generalize %named : {ONE}",
    f'transform.annotate %generics "seen" : {ANY}',
]
LAYER = [
    FUSED[0],
    *(
        f"{name} = transform.get_producer_of_operand {of}[0] : {ONE}"
        for name, of in (("%sum", "%relu"), ("%product", "%sum"))
    ),
    f"%zeros = transform.get_producer_of_operand %relu[1] : {ONE}",
    FUSED[3],
    *(
        f"{name}_t, %l{i} = transform.structured.fuse_into_containing_op {name} into %l{i - 1} : {TWO}"
        for i, name in ((1, "%sum"), (2, "%product"), (3, "%zeros"))
    ),
    f"%step, %k = transform.structured.tile_using_for %product_t tile_sizes [0, 0, 8] : ({ANY}) -> ({ANY}, {ANY})",
]
FILLED = (
    LAYER[-4:-1][1].replace("%product into", "%zeros into"),
    LAYER[-4:-1][2].replace("%zeros into", "%product into"),
)
PARAM = "!transform.param<i64>"
READ = [
    MATMUL,
    f"%t, %k = transform.structured.tile_using_for %m tile_sizes [0, 0, 8] : ({ANY}) -> ({ANY}, {ANY})",
    f"transform.structured.vectorize %t : {ANY}",
    f"transform.apply_licm to %k : {ANY}",
    f"transform.loop.unroll %k {{factor = 2}} : {ANY}",
]
MULTIPLES = [
    MATMUL,
    f"%rows, %rest, %at = transform.structured.multitile_sizes %m {{dimension = 0, target_size = 12, divisor = 8}} : ({ANY}) -> {PARAM}",
    f"%t, %k = transform.structured.tile_using_for %m tile_sizes [%rows, 0] : ({ANY}, {PARAM}) -> ({ANY}, {ANY})",
]
PADDED = [
    MATMUL,
    TILED.replace("[8, 16, 8]", "[8, 16, 12]"),
    f'%t_padded, %t_pads, %t_back = transform.structured.pad %t pad_to_multiple_of [8, 16, 12] {{padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2], copy_back_op = "none"}} : ({ANY}) -> ({ANY}, {ANY}, {ANY})',
    f"%right = transform.get_producer_of_operand %t_padded[1] : {ONE}",
    f"%packed = transform.structured.hoist_pad %right by 1 loops : {ONE}",
]
INITS = [
    f'%fills = transform.structured.match ops{{["linalg.fill"]}} in %root : {ONE}',
    f"%product_init, %zeros = transform.split_handle %fills : ({ANY}) -> ({ANY}, {ANY})",
    FUSED[0],
    FUSED[3],
    f"%zeros_t, %l1 = transform.structured.fuse_into_containing_op %zeros into %l0 : {TWO}",
]
PARENT = [
    MATMUL,
    TILED,
    f'%again = transform.structured.match ops{{["linalg.matmul"]}} in %root : {ONE}',
    f'%inner = transform.get_parent_op %again {{op_name = "scf.for"}} : {ONE}',
    f"transform.loop.unroll %inner {{factor = 2}} : {ANY}",
]
# The right schedule, and what is replaced in it by a mistake.
MISTAKES = {
    "an empty tensor in place of what is fused": (FUSED, "%relu[1]", "%relu[2]"),
    "a fill, two steps before its constant is asked": (CHAIN, "%relu[0]", "%relu[1]"),
    "two that ask for one operand, one called as it is": (
        [*FUSED, f'transform.annotate %sum_t "seen" : {ANY}'],
        "%relu[0]",
        "%relu[1]",
    ),
    "an empty tensor among what is merged": (MERGED, "%relu[1]", "%relu[2]"),
    "the pad of an output, which is not hoisted": (PADDED, "%t_padded[1]", "%t_padded[2]"),
    "two results of a split, called as the other's op": (
        INITS,
        "%product_init, %zeros =",
        "%zeros, %product_init =",
    ),
    "no match of what is split": (INITS, "\n".join(INITS[:2]), INITS[1].replace("%fills", "%root")),
    "no match of what lies in a loop": (PARENT, "\n".join(PARENT[2:4]), PARENT[3].replace("%again", "%root")),
    "the producer of another operand": (FUSED, "%relu[1]", "%relu[0]"),
    "a producer of the wrong operand, whose producer is asked for": (CHAIN, "%sum[0]", "%sum[2]"),
    "an operand that has no producer": (FUSED, "%relu[1]", "%relu[3]"),
    "sizes from the second loop on": ([MATMUL, TILED], "[8, 16, 8]", "[0, 8, 16, 8]"),
    "a named op where a generic one is taken": (INTERCHANGED, INTERCHANGED[1] + "\n", ""),
    "a name that is misspelled, far above the failure": (FUSED, '"linalg.max"', '"linalg.maxx"'),
    "a loop among what is merged": (MERGED, "%sum_t, %zeros_t :", "%sum_t, %l2 :"),
    "a factor that does not divide the reduction": (SPLIT, "split_factor = 16", "split_factor = 24"),
    "the first of two loops that peeling made": (
        PEELED,
        PEELED[-1],
        PEELED[-1].replace("%main", "%for").replace(ANY, '!transform.op<"scf.for">'),
    ),
    "no match before all ops are made generic": (
        ALL_GENERIC,
        "\n".join(ALL_GENERIC[:2]),
        ALL_GENERIC[1].replace("%named", "%root"),
    ),
    "no match of the product, whose init is an op too": (
        [MATMUL, TILED.replace("[8, 16, 8]", "[8, 16]").replace("%k:3", "%k:2").replace(f", {ANY})", ")", 1)],
        MATMUL + "\n",
        "",
    ),
    "what two fusions are given, far from each other": (LAYER, "\n".join(LAYER[-3:-1]), "\n".join(FILLED)),
    "a step that asks for a producer too late": (
        FUSED,
        "\n".join(FUSED[1:4]),
        "\n".join([FUSED[3], *FUSED[1:3]]),
    ),
    "no match of the op that no other reads": (
        [MATMUL, TILED, FUSED[0].replace("%relu ", "%x "), FUSED[3].replace("%relu ", "%x ")],
        FUSED[0].replace("%relu ", "%x ") + "\n",
        "",
    ),
    "an init for the product, by a name that both have": (
        [MATMUL.replace("%m ", "%product "), TILED.replace("%m ", "%product ")],
        '"linalg.matmul"',
        '"linalg.fill"',
    ),
    "a divisor of an extent that it does not divide": (MULTIPLES, "divisor = 8", "divisor = 12"),
    "a loop that peeling leaves no rest of": (PEELED, "%k#1 :", "%k#0 :"),
    "an op that is gone in place of a loop that others read": (READ, "unroll %k ", "unroll %t "),
    "no pad before it is hoisted": (PADDED, "\n".join(PADDED[2:4]), PADDED[3].replace("%t_padded", "%t")),
    "a failure that is suppressed": (SUPPRESSED, "unroll %k3", "unroll %t"),
}


def module(lines):
    body = "\n".join(lines)
    head = f"module attributes {{transform.with_named_sequence}} {{\ntransform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n"
    return f"{head}{body}\ntransform.yield\n}}\n}}\n"


@pytest.mark.parametrize("name", MISTAKES)
def test_the_first_repair_is_what_was_meant(name, worker):
    lines, right, wrong = MISTAKES[name]
    text = module(lines)
    broken = text.replace(right, wrong)
    if not wrong:  # what was left out is not read: what comes before it is
        broken = (
            broken.replace("%g ", "%m ")
            if "%g" in text
            else broken.replace("%m " if "%x " not in text else "%x ", "%root ")
        )
    assert broken != text
    payload = lhkit.load_payload(PAYLOAD, worker=worker)

    def traced(text):
        return lhkit.trace(payload, lhkit.load_schedule(text, worker=worker), worker=worker)

    meant, repairs = traced(text), traced(broken).repairs()
    assert repairs, traced(broken).why()
    repaired = traced(repairs[0].text)
    assert repaired.outcome.status == "ok", repairs[0]
    assert repaired.last_snapshot_text() == meant.last_snapshot_text(), repairs[0]


# The extents of a layer, its right schedule, and what is replaced in it by a mistake.
BY_EXTENTS = {
    "sizes that divide in another order": (
        (48, 16, 32),
        [MATMUL, PEELED[1].replace("[8, 12]", "[12, 8]"), f"transform.structured.vectorize %t : {ANY}"],
        "[12, 8]",
        "[8, 12]",
    ),
    "a loop without a rest, by sizes from the second one on": (
        (20, 22, 16),
        [line.replace("[8, 12]", "[4, 4]") for line in PEELED],
        "[4, 4]",
        "[0, 4, 4]",
    ),
}


@pytest.mark.parametrize("name", BY_EXTENTS)
def test_the_first_repair_has_the_sizes_that_were_meant(name, worker):
    extents, lines, right, wrong = BY_EXTENTS[name]
    payload = lhkit.payloads.fc_relu(*extents)
    broken = lhkit.load_schedule(module(lines).replace(right, wrong), worker=worker)
    repairs = lhkit.trace(payload, broken, worker=worker).repairs()
    assert repairs[0].text == module(lines)


LOOPS = f"    %loops = transform.structured.match interface{{LoopLikeInterface}} in %function : {ONE}"
SEQUENCES = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: ANY {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : ONE
    %sum = transform.get_producer_of_operand %relu[0] : ONE
    %zeros = transform.get_producer_of_operand %relu[1] : ONE
    %tile, %l0 = transform.structured.tile_using_forall %relu tile_sizes [8, 16] : (ANY) -> (ANY, ANY)
    %sum_t, %l1 = transform.include @fuse_it failures(propagate) (%sum, %l0) : TWO
    %zeros_t, %l2 = transform.include @fuse_it failures(propagate) (%zeros, %l1) : TWO
    transform.include @hoist failures(propagate) (%root) : (ANY) -> ()
    transform.yield
  }
  transform.named_sequence @hoist(%function: ANY {transform.readonly}) {
    %loops = transform.structured.match interface{LoopLikeInterface} in %function : ONE
    transform.apply_licm to %loops : ANY
    transform.yield
  }
  transform.named_sequence @fuse_it(%op: ANY {transform.consumed}, %loop: ANY {transform.readonly}) -> (ANY, ANY) {
    %t, %l = transform.structured.fuse_into_containing_op %op into %loop : TWO
    transform.yield %t, %l : ANY, ANY
  }
}
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("yield %t, %l", "yield %t, %t"),
        ("(%zeros, %l1)", "(%zeros, %sum)"),
        (f"{LOOPS}\n    transform.apply_licm to %loops", "    transform.apply_licm to %function"),
    ],
    ids=["what one yields", "what one takes", "loops in one"],
)
def test_the_first_repair_in_included_sequences_is_what_was_meant(right, wrong, worker):
    text = SEQUENCES.replace("ANY", ANY).replace("ONE", ONE).replace("TWO", TWO)
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    broken = lhkit.load_schedule(text.replace(right, wrong), worker=worker)
    first, *_ = lhkit.trace(payload, broken, worker=worker).repairs()
    assert first.text == text and first.doubt == 0


def test_a_match_of_the_ops_of_several_functions_looks_in_one(worker):
    one = PAYLOAD.replace("module {", "").rstrip().rstrip("}") if "module {" in PAYLOAD else PAYLOAD
    name = re.search(r"func.func @(\w+)", one)[1]
    payload = lhkit.load_payload(one + one.replace(f"@{name}(", "@other("), worker=worker)
    each = [
        f'%functions = transform.structured.match ops{{["func.func"]}} in %root : {ONE}',
        f"transform.foreach %functions : {ANY} {{",
        f"^bb0(%function: {ANY}):",
        *(line.replace("%root", "%function") for line in FUSED[:5]),
        "}",
    ]
    text = module(each)
    broken = text.replace(each[4], f'%sum = transform.structured.match ops{{["linalg.add"]}} in %root : {ONE}')
    repairs = lhkit.trace(payload, lhkit.load_schedule(broken, worker=worker), worker=worker).repairs()
    assert repairs[0].title == "Look in %function instead of %root"


def test_a_step_that_is_written_too_early_is_moved(worker):
    tile = TILED.replace("%k:3", "%k1, %k2, %k3")
    unroll = f"transform.loop.unroll %k3 {{factor = 2}} : {ANY}"
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    with pytest.raises(ScheduleError) as refused:
        lhkit.load_schedule(module([MATMUL, unroll, tile]), worker=worker)
    first, *_ = find_text_repairs(payload, refused.value, worker=worker)
    texts = [
        lhkit.trace(payload, lhkit.load_schedule(text, worker=worker), worker=worker).last_snapshot_text()
        for text in (first.text, module([MATMUL, tile, unroll]))
    ]
    assert first.passes_whole and texts[0] == texts[1]


def test_what_is_in_the_loop_already_is_not_fused_into_it_again(worker):
    text = module(FUSED).replace("%zeros into %l1", "%sum into %l1")
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(text, worker=worker), worker=worker)
    assert trace.outcome.status == "failed"
    assert not any("%sum_t, which" in repair.title for repair in trace.repairs(limit=10))


def test_sizes_are_not_shortened_until_nothing_is_tiled(worker):
    add = f'%a = transform.structured.match ops{{["linalg.add"]}} in %root : {ONE}'
    text = module(
        [
            add,
            TILED.replace("%m", "%a")
            .replace("[8, 16, 8]", "[0, 0, 8]")
            .replace("%k:3", "%k")
            .replace(f"-> ({ANY}, {ANY}, {ANY}, {ANY})", f"-> ({ANY}, {ANY})"),
        ]
    )
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(text, worker=worker), worker=worker)
    assert trace.outcome.status == "failed" and not any("[0, 0]" in r.title for r in trace.repairs(limit=10))
