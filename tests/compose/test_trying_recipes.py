"""What can be done with a handle by recipes of several steps, with other handles in sight, and inside of steps."""

import pytest

from lhkit.compose import recipes
from lhkit.compose.recipes import insert_recipe
from lhkit.compose.step_candidates import recipe_candidates
from lhkit.compose.trial_steps import try_ops
from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import verify
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.verified_edits import edit_schedule
from lhkit.model.errors import UsageError
from lhkit.model.step_form import TypedName
from lhkit.text.script import Script
from lhkit.text.step_edits import insert_step
from lhkit.traces.record.trace_run import trace_schedule

OP = "!transform.any_op"
HEAD = "module attributes {transform.with_named_sequence} {\n"
MAIN = f"  transform.named_sequence @__transform_main(%root: {OP} {{transform.readonly}}) {{\n"
MATCH = f'    %mm = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({OP}) -> {OP}\n'
END = "    transform.yield\n  }\n"
TILE = f"    %tiled, %loops:2 = transform.structured.tile_using_for %mm tile_sizes [4, 4] : ({OP}) -> ({OP}, {OP}, {OP})\n"
FILL = f'    %fill = transform.structured.match ops{{["linalg.fill"]}} in %root : ({OP}) -> {OP}\n'
LIBRARY = f"""{HEAD}
  // Marks an op. And more.
  transform.named_sequence @mark(%op: {OP} {{transform.readonly}}) -> {OP} {{
    transform.include @really failures(propagate) (%op) : ({OP}) -> ()
    transform.yield %op : {OP}
  }}
  transform.named_sequence private @really(%op: {OP} {{transform.readonly}}) {{
    transform.annotate %op "marked" : {OP}
{END}  transform.named_sequence @with_size(%op: {OP} {{transform.readonly}}, %n: !transform.param<i64>) {{
{END}}}
"""
OWN = f"""
  transform.named_sequence @tile(%op: !transform.op<"linalg.matmul"> {{transform.consumed}}, %other: {OP} {{transform.readonly}}) {{
    %t, %l = transform.structured.tile_using_for %op tile_sizes [4] : (!transform.op<"linalg.matmul">) -> ({OP}, {OP})
    transform.annotate %other "mine.beside" : {OP}
{END}"""


@pytest.fixture(scope="module")
def payload(worker):
    return load_payload("fc_relu.mlir", worker=worker)


@pytest.fixture(scope="module")
def few(catalogue):
    """A catalogue of a few ops."""
    names = ("get_parent_op", "generalize", "include", "fuse_into_containing_op")
    kept = tuple(op for op in catalogue.ops if op.short_name.endswith(names))
    return type(catalogue)(catalogue.toolchain, kept)


def loaded(worker, body, more="", **given):
    return load_schedule(f"{HEAD}{MAIN}{body}{END}{more}}}\n", worker=worker, **given)


def named(tried, name):
    return [t for t in tried if t.op.removeprefix("transform.") == name]


def test_the_other_handle_is_one_in_sight_nearest_first(payload, few, worker):
    schedule = loaded(worker, FILL + MATCH + TILE)
    tried = list(try_ops(payload, schedule, "%fill", "%tiled", catalogue=few, worker=worker))
    fused = named(tried, "structured.fuse_into_containing_op")
    texts = [t.text.partition(" into ")[2].partition(" :")[0] for t in fused]
    assert texts == ["%loops#0", "%loops#1", "%tiled", "%root"]  # %mm was consumed
    assert all(t.status != "not-tried" for t in fused)


def test_an_op_that_finds_no_other_handle_says_so(payload, few, worker):
    schedule = loaded(worker, "")
    tried = list(try_ops(payload, schedule, "%root", catalogue=few, worker=worker))
    (fused,) = named(tried, "structured.fuse_into_containing_op")
    assert fused.status == "not-tried" and fused.reason == "it needs another handle: containing_op"


@pytest.mark.parametrize("name", ["@tile_and_vectorize", "@tile_twice", "@tile_with_init"])
def test_shipped_recipes_apply_to_a_matmul_and_keep_its_numbers(payload, few, worker, host_worker, name):
    schedule = loaded(worker, MATCH)
    tried = list(try_ops(payload, schedule, "%mm", catalogue=few, worker=worker))
    (recipe,) = named(tried, name)
    assert (
        recipe.status == "effect"
        and recipe.sentence
        and f"transform.named_sequence {name}(" in recipe.sequences
    )
    done = edit_schedule(
        schedule, lambda s: insert_recipe(s, recipe.text, recipe.sequences, after="%mm"), worker=worker
    ).after
    assert verify(compile_kernel(payload, done, worker=host_worker)).ok
    trace = trace_schedule(payload, done, worker=worker)
    assert trace.outcome.status == "ok"
    if name == "@tile_and_vectorize":
        assert dict(recipe.counts)["linalg.matmul"] == -1 and "vector.contract" not in dict(recipe.counts)
        assert dict(recipe.counts)["vector.fma"] == 8
    else:
        assert all(points_to for _, points_to in recipe.gives)


def test_a_recipe_that_was_copied_is_the_schedule_s_own(payload, few, worker):
    schedule = loaded(worker, MATCH)
    first = named(try_ops(payload, schedule, "%mm", catalogue=few, worker=worker), "@tile_and_vectorize")[0]
    has_it = edit_schedule(
        schedule, lambda s: insert_recipe(s, first.text, first.sequences, after="%mm"), worker=worker
    ).after
    again = list(try_ops(payload, has_it, "%mm", "%mm", catalogue=few, worker=worker))
    (own,) = named(again, "@tile_and_vectorize")
    assert (own.status, own.text, own.sequences, own.counts) == ("effect", first.text, "", first.counts)
    assert len(named(again, "@contractions_to_fma")) == 1


def test_recipes_of_the_schedule_take_casts_and_handles_in_sight(payload, few, worker):
    schedule = loaded(worker, FILL + MATCH, OWN)
    tiles = named(try_ops(payload, schedule, "%mm", catalogue=few, worker=worker), "@tile")
    assert [t.text.splitlines()[-1].partition("(propagate) ")[2].partition(" :")[0] for t in tiles] == [
        "(%narrowed, %fill)",
        "(%narrowed, %root)",
    ]
    assert [(t.status, dict(t.counts).get("scf.for"), t.sequences) for t in tiles] == [("effect", 1, "")] * 2, (
        tiles
    )
    alone = loaded(worker, "", OWN)
    (tile,) = named(try_ops(payload, alone, "%root", catalogue=few, worker=worker), "@tile")
    assert tile.reason == "it needs another handle"


def test_recipes_of_a_library_come_with_a_declaration(payload, few, worker, tmp_path):
    (tmp_path / "mine.mlir").write_text(LIBRARY)
    schedule = loaded(worker, MATCH, libraries=[tmp_path / "mine.mlir"])
    tried = list(try_ops(payload, schedule, "%mm", catalogue=few, worker=worker))
    (mark,) = named(tried, "@mark")
    assert mark.status == "effect" and mark.gives == (("%made", "1 linalg.matmul"),)
    assert mark.sentence == "Marks an op. And more."
    assert mark.sequences == (f"transform.named_sequence private @mark({OP} {{transform.readonly}}) -> {OP}")
    assert not named(tried, "@really") and not named(tried, "@with_size")
    edited = edit_schedule(
        schedule, lambda s: insert_recipe(s, mark.text, mark.sequences, after="%mm"), worker=worker
    ).after
    assert trace_schedule(payload, edited, worker=worker).outcome.status == "ok"


def test_a_name_that_is_taken_by_another_sequence_is_said():
    source = Script(LIBRARY)
    script = Script(f"{HEAD}{MAIN}{END}  transform.named_sequence @really(%x: {OP}) {{\n{END}}}\n")
    (recipe,) = recipes.recipes_to_copy(script, source)
    (candidate,) = recipe_candidates(TypedName("%x", OP), [recipe])
    assert candidate.needs == "the name @really, which is taken by another sequence" and not candidate.text
    (free,) = recipes.recipes_to_copy(Script(f"{HEAD}{MAIN}{END}}}\n"), source)
    assert free.sequences.count("named_sequence") == 2 and not free.clash


@pytest.mark.parametrize("handle", ["%inner", "%each", "%marked"])
def test_ops_are_tried_inside_of_sequences_and_foreach(payload, few, worker, handle):
    body = f"""    transform.include @inside failures(propagate) (%mm) : ({OP}) -> ()
    transform.include @inside failures(propagate) (%mm) : ({OP}) -> ()
"""
    more = f"""  transform.named_sequence @inside(%inner: {OP} {{transform.readonly}}) {{
    transform.foreach %inner : {OP} {{
    ^bb0(%each: {OP}):
      %marked = transform.get_parent_op %each : ({OP}) -> {OP}
      transform.annotate %marked "marked" : {OP}
    }}
    transform.debug.emit_remark_at %inner, "behind" : {OP}
{END}"""
    schedule = loaded(worker, MATCH + body, more)
    tried = list(try_ops(payload, schedule, handle, catalogue=few, worker=worker))
    (generalized,) = named(tried, "structured.generalize")
    (parent,) = named(tried, "get_parent_op")
    if handle == "%marked":
        assert generalized.status == "fails"
        assert parent.gives == (("%parent", "1 builtin.module"),)
    else:
        assert generalized.reason == "+1 linalg.generic, −1 linalg.matmul"
        assert generalized.gives[0][1] == "1 linalg.generic"
        assert parent.gives == (("%parent", "1 func.func"),)
    assert not named(tried, "@inside")  # it would include itself


def test_a_place_before_what_a_sequence_hands_on_is_refused(payload, few, worker):
    body = f"    %got = transform.include @inside failures(propagate) (%mm) : ({OP}) -> {OP}\n"
    more = f"""  transform.named_sequence @inside(%inner: {OP} {{transform.readonly}}) -> {OP} {{
    %up = transform.get_parent_op %inner : ({OP}) -> {OP}
    transform.yield %up : {OP}
  }}
"""
    schedule = loaded(worker, MATCH + body, more)
    with pytest.raises(UsageError, match=r"%up is handed on at the end of transform.named_sequence"):
        next(try_ops(payload, schedule, "%inner", catalogue=few, worker=worker))
    tried = list(try_ops(payload, schedule, "%up", catalogue=few, worker=worker))
    assert named(tried, "get_parent_op")[0].gives == (("%parent", "1 builtin.module"),)


def test_inserting_without_sequences_is_inserting_steps():
    script = Script(f"{HEAD}{MAIN}{MATCH}{END}}}\n")
    step = f'transform.annotate %mm "x" : {OP}'
    assert insert_recipe(script, step, "", after="%mm") == insert_step(script, step, after="%mm")


def test_every_shipped_recipe_says_what_it_is_for():
    empty = Script(f"{HEAD}{MAIN}{END}}}\n")
    for path in (shipped_folder("schedules") / "recipes").glob("*.mlir"):
        found = list(recipes.recipes_to_copy(empty, Script(path.read_text())))
        assert found and all(r.sentence.endswith(".") for r in found)
