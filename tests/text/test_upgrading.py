"""Old spellings as rules on tokens: nothing of today's is touched, and what is rewritten stays rewritten."""

import re
from pathlib import Path

import pytest

from lhkit.load.shipped_files import shipped_folder
from lhkit.text import parser as syntax
from lhkit.text.upgrades import text_upgrade as upgrade
from lhkit.text.upgrades.payload_rules import QUALIFIED, STANDARD
from lhkit.text.upgrades.text_upgrade import upgrade_text
from lhkit.text.upgrades.transform_rules import RENAMED

FOLDER = Path(__file__).parent / "old_spellings"
SHIPPED = sorted([*shipped_folder("schedules").glob("*.mlir"), *shipped_folder("data").glob("*.mlir")])
OLD = sorted(FOLDER.glob("*.mlir"))


def upgraded(body):
    """The rewritten body of a top-level sequence, without what stands around it."""
    text = upgrade_text(
        f"transform.sequence failures(propagate) {{\n^bb0(%a: !transform.any_op):\n{body}\n}}\n"
    ).text
    lines = text.split("\n")
    assert lines[:2] == [
        "module attributes {transform.with_named_sequence} {",
        "transform.named_sequence @__transform_main(%a: !transform.any_op) {",
    ]
    assert lines[-4:] == ["  transform.yield", "}", "}", ""]
    return "\n".join(lines[2:-4])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.name)
def test_what_is_written_as_today_stays_as_it_is(path):
    text = path.read_text()
    done = upgrade_text(text)
    assert done.text == text
    assert not done.changes and not done.hints


@pytest.mark.parametrize("path", OLD, ids=lambda p: p.name)
def test_upgrading_twice_changes_nothing_more(path):
    once = upgrade_text(path.read_text())
    assert once.changes
    again = upgrade_text(once.text)
    assert again.text == once.text and not again.changes


@pytest.mark.parametrize(
    "path", [p for p in (*OLD, *SHIPPED) if p.stat().st_size < 20_000], ids=lambda p: p.name
)
def test_every_prefix_of_a_text_is_taken(path):
    text = path.read_text()
    for end in range(0, len(text), max(1, len(text) // 20)):
        done = upgrade_text(text[:end])
        assert upgrade_text(done.text).text == done.text


@pytest.mark.parametrize("path", OLD, ids=lambda p: p.name)
def test_comments_stay_and_lines_are_known(path):
    text = path.read_text()
    done = upgrade_text(text)
    comments = [line.partition("//")[2] for line in text.splitlines() if "//" in line]
    kept = [line.partition("//")[2] for line in done.text.splitlines() if "//" in line]
    assert kept == comments
    assert len(done.lines) == done.text.count("\n") + 1
    old, new = text.split("\n"), done.text.split("\n")
    for line, given in zip(new, done.lines, strict=True):
        if "//" in line:
            assert old[given - 1].partition("//")[2] == line.partition("//")[2]


def test_the_loop_comes_last_today_and_names_follow():
    types = '(!transform.any_op) -> (!transform.op<"scf.forall">, !transform.any_op)'
    done = upgraded(f"  %loop, %piece = transform.structured.tile_to_forall_op %a tile_sizes [4] : {types}")
    assert done == (
        "  %piece, %loop = transform.structured.tile_using_forall %a tile_sizes [4] : "
        '(!transform.any_op) -> (!transform.any_op, !transform.op<"scf.forall">)'
    )
    numbered = upgraded(
        "  %r:2 = transform.structured.tile_to_forall_op %a num_threads [4]\n"
        '  transform.debug.emit_remark_at %r#0, "loop" : !transform.any_op'
    )
    assert '%r#1, "loop"' in numbered
    # What is called as today has today's order already.
    today = f"  %piece, %loop = transform.structured.tile_using_forall %a tile_sizes [4] : {types}"
    assert upgraded(today) == today


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "  %v = transform.structured.vectorize %a {vectorize_padding}",
            "  %v = transform.structured.vectorize_children_and_apply_patterns %a {vectorize_padding} : "
            "(!transform.any_op) -> !transform.any_op",
        ),
        (
            "  transform.structured.vectorize %a vector_sizes [4] : !transform.any_op",
            "  transform.structured.vectorize %a vector_sizes [4] : !transform.any_op",
        ),
        (
            "  transform.structured.masked_vectorize %a vector_sizes [4]",
            "  transform.structured.vectorize %a vector_sizes [4] : !transform.any_op",
        ),
        (
            "  %p = transform.loop.get_parent_for %a {num_loops = 2 : i64, affine = true} : (!pdl.operation) -> !pdl.operation",
            '  %p = transform.get_parent_op %a {op_name = "affine.for", nth_parent = 2} : '
            "(!transform.any_op) -> !transform.any_op",
        ),
        (
            "  %low, %high = transform.structured.split %a after 42 { dimension = 0 } : !pdl.operation",
            "  %low_high = transform.structured.split %a after 42 { dimension = 0 } : !transform.any_op\n"
            "  %low, %high = transform.split_handle %low_high : "
            "(!transform.any_op) -> (!transform.any_op, !transform.any_op)",
        ),
        (
            "  %f = transform.structured.fuse_into_containing_op %a into %a",
            "  %f, %f_loop = transform.structured.fuse_into_containing_op %a into %a : "
            "(!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)",
        ),
        (
            "  %s:2 = transform.structured.split %a after 42 { dimension = 0 } : !transform.any_op",
            "  %s_parts = transform.structured.split %a after 42 { dimension = 0 } : !transform.any_op\n"
            "  %s:2 = transform.split_handle %s_parts : "
            "(!transform.any_op) -> (!transform.any_op, !transform.any_op)",
        ),
        (
            "  %p = transform.structured.pack_greedily %a gemm_packed_sizes = [8, 16, 32] gemm_inner_dims_order = [1, 2, 0] : "
            "(!transform.any_op) -> !transform.any_op",
            "  %p = transform.structured.pack_greedily %a matmul_packed_sizes = [8, 16, 32] matmul_inner_dims_order = [1, 2, 0] : "
            "(!transform.any_op) -> !transform.any_op",
        ),
        (
            "  transform.affine.simplify_bounded_affine_ops %a with [%a, %a] within [0, 0] and [8, 8]",
            "  transform.affine.simplify_bounded_affine_ops %a with [%a, %a : !transform.any_op, !transform.any_op]"
            " within [0, 0] and [8, 8] : !transform.any_op",
        ),
        (
            "  %b = transform.structured.bufferize_to_allocation %a {memory_space = 3} : (!pdl.operation) -> !transform.any_value",
            "  %b, %b_new_ops = transform.structured.bufferize_to_allocation %a {memory_space = 3} : !transform.any_op",
        ),
        (
            "  %h = transform.structured.hoist_redundant_tensor_subsets %a : (!transform.any_op) -> !transform.any_op",
            "  %a_loops = transform.structured.match interface{LoopLikeInterface} in %a : "
            "(!transform.any_op) -> !transform.any_op\n"
            "  transform.loop.hoist_loop_invariant_subsets %a_loops : !transform.any_op\n"
            "  %h = transform.merge_handles %a : !transform.any_op",
        ),
        (
            "  transform.structured.hoist_redundant_vector_transfers %a : !pdl.operation",
            "  transform.structured.hoist_redundant_vector_transfers %a : (!transform.any_op) -> !transform.any_op",
        ),
        (
            '  transform.test_print_remark_at_operand %a, "here" : !pdl.operation',
            '  transform.debug.emit_remark_at %a, "here" : !transform.any_op',
        ),
        (
            '  %m = transform.structured.match ops{["linalg.elemwise_binary", "scf.foreach_thread"]} in %a',
            '  %m = transform.structured.match ops{["linalg.elementwise", "scf.forall"]} in %a : '
            "(!transform.any_op) -> !transform.any_op",
        ),
    ],
)
def test_a_step_is_written_as_today(old, new):
    assert upgraded(old) == new


def test_what_is_bound_is_named_as_today():
    text = (FOLDER / "layer_llvm17.mlir").read_text()
    assert upgrade_text(text).bind == ("linalg.matmul", "linalg.elementwise")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("  transform.iree.apply_patterns %a {cse}", "transform.apply_cse"),
        ("  transform.iree.bufferize %a", "one_shot_bufferize"),
        ("  transform.test_consume_operand %a : !transform.any_op", "leave the step out"),
        ('  "transform.structured.tile_to_forall_op"(%a) : (!transform.any_op) -> ()', "without quotes"),
    ],
)
def test_what_has_no_rewriting_is_said_with_its_place(line, words):
    done = upgrade_text(
        f"module {{\n  transform.named_sequence @main(%a: !transform.any_op) {{\n{line}\n  }}\n}}\n"
    )
    (hint,) = done.hints
    assert (hint.line, hint.column) == (3, 3)
    assert words in hint.instead


@pytest.mark.parametrize(
    "payload",
    [
        "%0 = linalg.elemwise_binary {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>",
        "%0 = tensor.expand_shape %a [[0, 1]] : tensor<?xf32> into tensor<?x4xf32>",
        "%0 = linalg.tiled_loop (%i) = (%a) to (%b) step (%c) ins (%d : T) outs (%e : T) { linalg.yield }",
    ],
)
def test_payload_ops_without_a_rewriting_say_what_to_write(payload):
    (hint,) = upgrade_text(payload + "\n").hints
    assert hint.line == 1 and hint.instead


def test_deep_nesting_is_taken():
    assert upgrade_text("module {\n" * 5000).text == "module {\n" * 5000


def test_a_comment_inside_is_not_lost_to_a_rewriting():
    text = "%2 = linalg.init_tensor [4, // rows\n  8] : tensor<4x8xf32>\n"
    assert "// rows" in upgrade_text(text).text


def test_rules_never_lead_back():
    following = {old: new for old, (new, _) in (RENAMED | STANDARD | QUALIFIED).items()}
    for name in list(following):
        seen = {name}
        while (name := following.get(name)) is not None:
            assert name not in seen
            seen.add(name)


@pytest.mark.parametrize("between", ["\n", ""])
def test_the_number_of_passes_does_not_follow_the_number_of_sequences(monkeypatch, between):
    """Each pass reads the whole text: one for each sequence would take quadratic time."""
    sequence = (
        "transform.sequence failures(propagate) {\n^bb0(%root: !pdl.operation):\n"
        '  %0 = transform.structured.match ops{["linalg.matmul"]} in %root\n}'
    )
    read = []
    lex = syntax.lex
    monkeypatch.setattr(syntax, "lex", lambda text: read.append(1) or lex(text))
    reads, made = [], []
    for count in (3, 60):
        read.clear()
        made.append(upgrade.upgrade_text(between.join([sequence] * count)).text)
        reads.append(len(read))
    assert reads[0] == reads[1] <= 6
    names = re.findall(r"named_sequence @(\w+)", made[1])
    assert len(names) == len(set(names)) == 60 and "__transform_main" in names
    assert "transform.sequence" not in made[1]
