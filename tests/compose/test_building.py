"""The builder: the text it writes, what it refuses and where it points, and that edits write the same."""

import functools
import inspect
import linecache
import math
import re

import ml_dtypes
import numpy as np
import pytest
from tutorial_cases import LAYER

import lhkit
from lhkit.compose.builder.op_functions import RESERVED, members, parameters_of
from lhkit.compose.builder.schedule_builder import Builder
from lhkit.compose.builder.step_results import mlir_text
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.user_code import known_own_ops
from lhkit.load.verified_edits import edit_schedule
from lhkit.model.errors import UsageError
from lhkit.text.step_edits import insert_step
from lhkit.traces.record.trace_run import trace_schedule

ANY = "!transform.any_op"
ONE, TWO = f"({ANY}) -> {ANY}", f"({ANY}) -> ({ANY}, {ANY})"
FUSE = f"({ANY}, {ANY}) -> ({ANY}, {ANY})"


@pytest.fixture
def s(catalogue, worker):
    return lhkit.build(catalogue=catalogue, worker=worker)


def steps_of(builder):
    """Return the lines of the entry's steps."""
    return [line[4:] for line in builder.text.split("\n\n")[0].splitlines()[2:] if line.startswith("    ")][:-1]


def test_the_first_steps_of_anyone(s):
    matmul = s.match(ops=["linalg.matmul"])
    tiled, *loops = s.structured.tile_using_for(matmul, tile_sizes=[8, 0, 32])
    assert (tiled.name, [h.name for h in loops]) == ("%tiled", ["%loops#0", "%loops#1"])
    assert (matmul.kind, str(loops[0])) == ("op", "%loops#0")
    assert steps_of(s) == [
        f'%matmul = transform.structured.match ops{{["linalg.matmul"]}} in %root : {ONE}',
        "%tiled, %loops:2 = transform.structured.tile_using_for %matmul tile_sizes [8, 0, 32]"
        f" : ({ANY}) -> ({ANY}, {ANY}, {ANY})",
    ]
    assert s.schedule().entry == "__transform_main"


def test_everything_with_a_body_and_knobs(s):
    size = s.knob("tile_m", 8, options=[4, 8, 16])
    s.knob("factor", 4, options={"divides": 16, "lower_bound": 2}, names="by")
    tiled, loop = s.structured.tile_using_for(s.match(interface="TilingInterface"), tile_sizes=[size])
    with s.named_sequence("clean", ["func"]) as clean:
        (func,) = clean
        contraction = s.apply_patterns.vector.lower_contraction(lowering_strategy="outerproduct")
        s.apply_patterns(func, ["canonicalization", contraction], max_iterations=3)
        s.yield_(s.match(ops=["scf.for"], names="inner"))
    with s.foreach(loop, tiled) as body:
        outer, each = body
        s.print(outer, name="outer")
        s.yield_(each)
    with s.sequence(s.root, failures="suppress") as (scope,):
        s.apply_cse(scope)
    with s.alternatives(body.results[0]) as choice:
        with choice.region() as (scope,):
            s.structured.vectorize(scope)
        with choice.region():
            pass
    inner = s.include(clean, s.root)
    assert inner[0].name == "%include"
    schedule = s.schedule()
    assert [(k.name, k.default, k.options) for k in schedule.knobs] == [
        ("tile_m", 8, (4, 8, 16)),
        ("factor", 4, (2, 4, 8, 16)),
    ]
    assert "lowering_strategy = outerproduct" in s.text and "{max_iterations = 3 : i64}" in s.text
    assert "@clean(%func: !transform.any_op {transform.readonly}) -> !transform.any_op {" in s.text
    assert "%foreach = transform.foreach %loop, %tiled" in s.text
    assert "[%tile_m] : (!transform.any_op, !transform.param<i64>)" in s.text


def test_arguments_are_marked_by_what_is_done_to_them(s):
    with s.named_sequence("eat", ["loop"]) as eat:
        s.loop.unroll(*eat, factor=2)
    with (
        s.named_sequence("feed", {"loops": "op", "count": "param"}) as feed,
        s.foreach(next(iter(feed))) as (each,),
    ):
        s.include(eat, each)
    assert "@eat(%loop: !transform.any_op {transform.consumed})" in s.text
    assert (
        "@feed(%loops: !transform.any_op {transform.consumed}, %count: !transform.param<i64> {transform.readonly})"
        in s.text
    )
    assert "@__transform_main(%root: !transform.any_op {transform.readonly})" in s.text
    s.schedule()


def test_matchers_and_alternatives_with_results(s):
    with s.named_sequence("is_big", ["candidate"]) as is_big:
        (candidate,) = is_big
        with s.match.structured(candidate, arguments=["op"]) as matched:
            (op,) = matched
            s.match.structured.rank(op)
            s.yield_(op)
        s.yield_(*matched.results)
    with s.named_sequence("show", ["found"]) as show:
        s.print(*show)
    updated = s.foreach_match(s.root, matchers=[is_big], actions=[show])
    found = s.collect_matching(updated[0], matcher=is_big)
    with s.tune.alternatives(name="order", selected_region_attr=1) as choice:
        for _ in range(2):
            with choice.region():
                s.yield_(*found)
    s.print(*choice.results)
    assert [k.name for k in s.schedule().knobs] == ["order"]


@pytest.mark.parametrize(
    ("call", "message", "at"),
    [
        ("s.structured.tile_using_fro(mm)", "has no op 'tile_using_fro'", "s.structured"),
        ("s.structured.tile_using_for(mm, tile_size=[2])", "no argument 'tile_size'", "[2]"),
        ("s.structured.tile_using_for(k, tile_sizes=[2])", "%k is a param handle", "k, tile"),
        ("s.structured.tile_using_for(mm, tile_sizes=[2, 'x'])", "'x' is not an integer", "[2"),
        ("s.structured.tile_using_for(mm, tile_sizes=8)", "8 is not a list of integers and handles", "8)"),
        ("s.loop.unroll(mm)", "needs 'factor'", "s.loop"),
        ("s.loop.unroll(mm, factor=True)", "True is not an integer", "True"),
        ("s.loop.unroll(mm, factor=k)", "the handle %k is not an integer", "k)"),
        ("s.structured.match(s.root, interface='Loops')", "'Loops' is none of LinalgOp", "'Loops'"),
        ("s.split_handle(mm)", "how many 'results' transform.split_handle gives", "s.split"),
        ("s.split_handle((mm, mm), results=2)", "2 results of a step are given; unpack them", "(mm, mm)"),
        ("s.match(['linalg.matmul'])", "['linalg.matmul'] is not a handle", "['linalg"),
        ("s.match(ops='linalg.matmul')", "'linalg.matmul' is not a list of strings", "'linalg"),
        ("s.apply_patterns(mm, ['canonicalisation'])", "near it: canonicalization", "['canon"),
        ("s.print(other)", "%matmul is not defined here", "other"),
        ("s.match(ops=['x.y'], names='matmul')", "the name %matmul is taken", "'matmul'"),
        ("s.match(ops=['x.y'], names=['a', 'b'])", "has 1 results to name", "['a'"),
        ("s.knob('k2', 3, options=[1, 2])", "3, the default of the knob 'k2'", "3"),
        ("s.knob('k2', 3, options={'divides': 8})", "3, the default of the knob 'k2'", "3"),
        ("s.knob('k2', 2, options={'divide': 8})", "a knob's options keep to lower_bound", "{'divide"),
        ("s.foo", "the builder has no op 'foo'", "s.foo"),
        ("s.structured(mm)", "transform.structured is not an op", "s.structured"),
        ("s.apply_cse(mm, mm)", "takes target without a name, and 2 arguments", "mm)"),
    ],
)  # fmt: skip
def test_a_mistake_is_shown_in_the_callers_python(call, message, at, s, catalogue):
    other = lhkit.build(catalogue=catalogue)
    names = {"s": s, "mm": s.match(ops=["linalg.matmul"]), "k": s.knob("k", 8, options=[8])}
    names["other"] = other.match(ops=["linalg.matmul"])
    before, source = s.text, f"# é\nresult = {call}\n"
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        exec(compile(source, "<cell>", "exec"), names)
    span = caught.value.failure.span
    column = source.splitlines()[1].index(at, len("result = ")) + 1
    assert (span.file, span.line, span.column) == ("<cell>", 2, column)
    lines = str(caught.value).splitlines()
    caret = next(i for i, line in enumerate(lines) if line.strip() == "^")
    assert call in lines[caret - 1] and lines[caret - 1][lines[caret].index("^") :].startswith(at)
    assert s.text == before


def test_scalars_of_numpy_have_their_type(s, worker):
    third = np.float32(1 / 3)
    values = [third, 1 / 3, np.float16(0.5), ml_dtypes.bfloat16(-2), np.int8(-1), np.uint16(7), 3]
    texts = [mlir_text(value).split(" : ") for value in values]
    assert [kind for _, kind in texts] == ["f32", "f64", "f16", "bf16", "i8", "i16", "i64"]
    assert np.float32(float(texts[0][0])) == third and float(texts[1][0]) == 1 / 3
    matmul = s.match(ops=["linalg.matmul"])
    s.structured.pad(matmul, padding_dimensions=[0], pad_to_multiple_of=[48], padding_values=[third] * 3)
    trace = trace_schedule(lhkit.payloads.matmul(32, 32, 32), s.schedule(), worker=worker)
    assert trace.outcome.status == "ok", trace.outcome.message
    assert "tensor<48x32xf32>" in trace.last_snapshot_text()
    with pytest.raises(ValueError, match="inf has no decimal form"):
        mlir_text(math.inf)


def test_a_body_wants_with_and_alternatives_want_regions(s):
    s.foreach(s.root)
    with pytest.raises(UsageError, match=r"transform\.foreach has a body"):
        _ = s.text
    fresh = lhkit.build(catalogue=s.catalogue)
    with pytest.raises(UsageError, match=r"belong in its regions"), fresh.alternatives(fresh.root):
        fresh.print()
    with fresh.foreach(fresh.root) as (each,):
        fresh.yield_(each)
        with pytest.raises(UsageError, match="nothing can follow a yield"):
            fresh.print(each)


def test_help_and_completion_need_no_compiler(catalogue):
    s = Builder(catalogue)
    assert {"match", "structured", "loop", "knob", "foreach", "include", "apply_patterns"} <= set(dir(s))
    assert {"tile_using_for", "vectorize"} <= set(dir(s.structured))
    tile = s.structured.tile_using_for
    assert tile.__doc__.startswith("Cuts an op into tiles") and "tile_sizes: a list of integers" in tile.__doc__
    assert list(inspect.signature(tile).parameters)[:3] == ["target", "tile_sizes", "interchange"]
    assert not hasattr(s.structured, "tile") and not hasattr(s, "_repr_html_")
    assert "rank" in dir(s.match.structured)
    for op in catalogue.ops:
        names = [p.name for p in parameters_of(op)]
        assert len(names) == len(set(names)) and all(n.isidentifier() for n in names)
        assert not set(names) & set(RESERVED), op.name
    own = {n for n in dir(type(lhkit.build(catalogue=catalogue))) if not n.startswith("_")}
    assert own & set(members(s, "")) == {"match", "include"}


def example_call(s, op, example):
    """Call an op's function with what an example of the catalogue gives it."""
    given, attributes = dict(example.form.operands), dict(example.form.attributes)
    named = {}
    for p in parameters_of(op):
        values = given.get(p.operand.name, ()) if p.operand else ()
        handles = iter([HANDLES[v.type](s) for v in values])
        if p.attribute is not None:
            value = attributes.get(p.attribute.name)
            if isinstance(value, tuple) and p.attribute.kind == "ints":
                value = [next(handles) if v is None else v for v in value]
            elif p.attribute.kind == "dictionary" and value is not None:
                value = dict(value)
            named[p.name] = next(handles) if value is None and values else value
        elif p.region is not None:
            i = next(i for i, r in enumerate(op.regions) if r.name == p.region.name)
            named[p.name] = example.form.regions[i] if i < len(example.form.regions) else None
        else:
            named[p.name] = list(handles) if p.takes_rest else next(handles, None)
    counts = {r.name: len(dict(example.form.results).get(r.name, ())) for r in op.results if r.count != "one"}
    if op.results:
        types = [v.type for v in example.form.result_values]
        named |= {"results": counts, "types": types}
    function = functools.reduce(getattr, op.short_name.split("."), s)
    return function(**named)


class _Handles(dict):
    def __missing__(self, type_):
        return lambda s: next(h for h in s.block.handles if h.type == type_)


HANDLES = _Handles()


def test_every_step_of_the_catalogue_can_be_called(catalogue):
    """The smallest example of each op, called with what it has, gives the example's form."""
    called = 0
    for op in catalogue.with_role("step"):
        if any(r.kind in ("body", "alternatives", "payload") for r in op.regions) or not op.examples:
            continue
        if op.name == "transform.apply_registered_pass":  # its options are told apart by their order
            continue
        form = op.examples[0].form
        types = {f"a{i}": t for i, t in enumerate(dict.fromkeys(v.type for v in form.operand_values))}
        s = Builder(catalogue, arguments=types or ("root",))
        if op.name == "transform.include":
            s.include(str(dict(form.attributes)["target"]), *s.arguments, results=1)
        else:
            example_call(s, op, op.examples[0])
        made = s.block.nodes[-1].form
        assert (made.op, made.attributes, made.regions) == (form.op, form.attributes, form.regions)
        assert [v.type for v in made.operand_values] == [v.type for v in form.operand_values]
        assert [(n, [v.type for v in vs]) for n, vs in made.results] == [
            (n, [v.type for v in vs]) for n, vs in form.results
        ], op.name
        called += 1
    assert called >= 110


EMPTY = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    transform.yield
  }}
}}
"""
CHAPTER_1 = f"""%matmul = transform.structured.match ops{{["linalg.matmul"]}} in %root : {ONE}
%elementwise = transform.structured.match ops{{["linalg.elementwise"]}} in %root : {ONE}
%add, %max = transform.split_handle %elementwise : {TWO}
%tiled, %loop = transform.structured.tile_using_forall %max tile_sizes [8, 32] : {TWO}
%add_fused, %loop_1 = transform.structured.fuse_into_containing_op %add into %loop : {FUSE}
%matmul_fused, %loop_2 = transform.structured.fuse_into_containing_op %matmul into %loop_1 : {FUSE}
%tiled_2, %loop_3 = transform.structured.tile_using_forall %add_fused tile_sizes [4, 4] : {TWO}
%matmul_fused_2, %loop_4 = transform.structured.fuse_into_containing_op %matmul_fused into %loop_3 : {FUSE}
%inner, %target = transform.structured.tile_using_forall %tiled_2 tile_sizes [1] : {TWO}
%matmul_fused_3, %target_1 = transform.structured.fuse_into_containing_op %matmul_fused_2 into %target : {FUSE}
%function, %call = transform.loop.outline %target {{func_name = "outlined"}} : {TWO}
"""


def test_edits_and_builder_write_chapter_1_alike(s, worker):
    schedule, script = load_schedule(EMPTY, worker=worker), None
    for line in CHAPTER_1.splitlines():
        made = edit_schedule(
            schedule,
            lambda t, line=line: insert_step(t, line, inside="@__transform_main"),
            script=script,
            worker=worker,
        )
        schedule, script = made.after, made.script

    assert s.text == EMPTY
    fuse, tile = s.structured.fuse_into_containing_op, s.structured.tile_using_forall
    matmul, elementwise = s.match(ops=["linalg.matmul"]), s.match(ops=["linalg.elementwise"])
    add, last = s.split_handle(elementwise, names=["add", "max"])
    _, loop = tile(last, tile_sizes=[8, 32], names=["tiled", "loop"])
    add_fused, loop = fuse(add, loop, names=["add_fused", "loop_1"])
    matmul_fused, loop = fuse(matmul, loop, names=["matmul_fused", "loop_2"])
    tiled, loop = tile(add_fused, tile_sizes=[4, 4], names=["tiled_2", "loop_3"])
    matmul_fused, _ = fuse(matmul_fused, loop, names=["matmul_fused_2", "loop_4"])
    _, target = tile(tiled, tile_sizes=[1], names=["inner", "target"])
    fuse(matmul_fused, target, names=["matmul_fused_3", "target_1"])
    s.loop.outline(target, func_name="outlined")

    assert schedule.text == s.text
    trace = trace_schedule(load_payload(LAYER, worker=worker), s.schedule(), worker=worker)
    assert trace.outcome.status == "ok", trace.outcome
    assert (
        "func.func private @outlined" in trace.last_snapshot_text() or "@outlined" in trace.last_snapshot_text()
    )


def test_ops_that_are_defined_in_python_are_called_like_the_others(own_worker):
    payload = lhkit.load_payload("fc_relu.mlir", worker=own_worker)
    s = lhkit.build(payload, worker=own_worker)
    call = s.match(ops=["func.call"])
    assert s.lhkit.replace_with_call(call, microkernel="tile").name == "%replace_with_call"
    assert '= "lhkit.replace_with_call"(%call) {microkernel = "tile"} : (' in s.text
    with pytest.raises(UsageError, match="the builder has no op 'my'"):
        s.my.count(call)

    lhkit.load_ops(shipped_folder("schedules") / "ops" / "my_ops.py", worker=own_worker)
    s = lhkit.build(payload, worker=own_worker)
    assert {"my", "lhkit"} <= set(dir(s)) and {"count", "mark"} <= set(dir(s.my))
    fills = s.match(ops=["linalg.fill"])
    assert s.my.count(fills).kind == "param"
    s.my.mark(fills, number=7)
    assert s.trace().last_snapshot_text().count("my.mark = 7 : i64") == 2


class _NoCompiler:
    """A worker that may not be asked."""

    preparation = ()

    def request(self, name, *_, **__):
        raise AssertionError(f"asked for {name}")


def test_building_and_its_errors_need_no_compiler(catalogue, worker):
    known_own_ops(worker)  # once for the toolchain, as the catalogue
    with lhkit.build(worker=_NoCompiler()) as s:
        matmul = s.match(ops=["linalg.matmul"])
        s.structured.tile_using_for(matmul, tile_sizes=[8, 32])
        s.lhkit.replace_with_call(matmul, microkernel="tile")
    assert "tile_sizes [8, 32]" in s.text and '"lhkit.replace_with_call"' in s.text
    with pytest.raises(UsageError, match="tile_sizs"):
        s.structured.tile_using_for(matmul, tile_sizs=[8])
