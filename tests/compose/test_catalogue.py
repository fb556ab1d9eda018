"""The catalogue of transform ops: complete, and what it says is what the compiler says."""

import json
import re
import typing
from pathlib import Path

import pytest
from form_modules import scratch_module

from lhkit.compiler.catalogue.op_classes import skeletons
from lhkit.compiler.ir.bindings import host_module, new_context
from lhkit.compose.form_text import form_problems, form_text, generic_form_text, read_forms
from lhkit.load import catalogue_cache as catalogues
from lhkit.load import user_code
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.model.op_catalogue import Catalogue, Role
from lhkit.worker.folders import kept_path

STRUCTURAL = {"match.structured.yield", "named_sequence", "payload", "with_pdl_patterns", "yield"}


def examples_of(catalogue):
    return [(op, example) for op in catalogue.ops for example in op.examples]


def test_every_op_of_the_bindings_is_there(catalogue):
    names = {op.name for op in catalogue.ops}
    with_class = [s.name for s in skeletons()]
    assert set(with_class) <= names and len(with_class) == 209
    assert len(names) == len(catalogue.ops) == 233
    roles = {role: len(catalogue.with_role(role)) for role in typing.get_args(Role)}
    assert roles == {
        "step": 126,
        "pattern": 79,
        "conversion-pattern": 10,
        "type-converter": 2,
        "structure-matcher": 11,
        "structural": 5,
    }


def test_registered_ops_that_are_missing_are_known(catalogue):
    """The names of ops stand in the libraries; the context says which of them are registered."""
    libraries = Path(host_module("_mlir_libs").__path__[0]).glob("*.so")
    words = {
        w.decode() for file in libraries for w in re.findall(rb"transform\.[a-z_0-9.]+", file.read_bytes())
    }
    with new_context() as context:
        registered = {w for w in words if context.is_registered_operation(w)}
    assert registered - {op.name for op in catalogue.ops} == {
        "transform.affine.super_vectorize",  # what it takes is not known: it has no Python class
        "transform.irdl.collect_matching",  # its body is IRDL
    }


def test_every_op_has_words_and_a_place(catalogue):
    for op in catalogue.ops:
        assert op.sentence and op.group and op.extension, op.name
        assert op.documentation or op.name == "transform.cast", op.name
        assert op.sentence.endswith(".") and "TODO" not in op.sentence, (op.name, op.sentence)
    assert sum(len(ops) for ops in catalogue.groups.values()) == len(catalogue.ops)
    assert all(len(ops) < 20 for group, ops in catalogue.groups.items() if group != "Patterns to apply")


def test_every_op_that_can_be_inserted_has_a_valid_example(catalogue):
    without = {op.short_name for op in catalogue.ops if not op.examples}
    assert without == STRUCTURAL


def test_nearly_every_argument_is_set_in_an_example(catalogue):
    """What no example sets cannot be shown to be right; this list says so."""
    unset = {
        f"{op.short_name}.{argument.name}"
        for op in catalogue.ops
        if op.examples
        for argument in (*op.operands, *op.attributes)
        if argument.name not in {n for e in op.examples for n, _ in (*e.form.operands, *e.form.attributes)}
    }
    assert unset == {
        "foreach_match.forwarded_inputs",  # matchers and actions that take them would be needed
        "include.arg_attrs",  # attributes of arguments have no use in an include
        "include.res_attrs",
        "structured.fuse.packed_tile_sizes",  # without tile_sizes, which are set
        "structured.fuse.tile_interchange",  # the printed form does not show the values' types
        "tune.alternatives.selected_region_attr",  # MLIR does not read what it prints of it beside the parameter
    }


def test_forms_come_back_unchanged_from_text(catalogue, worker):
    """Form → generic text → parse → form, for every example of every op, in one request."""
    examples = [e for _, e in examples_of(catalogue)]
    steps = read_forms(scratch_module([e.form for e in examples], catalogue), worker=worker)
    changed = {e.form.op for e, s in zip(examples, steps, strict=True) if inner(s.form, e.form.op) != e.form}
    assert changed == set()
    assert len(examples) > 300


def test_forms_come_back_unchanged_from_custom_syntax(catalogue, worker):
    """Form → the text people write → parse → form; and that text is the one MLIR prints, but for a few."""
    examples = [e for _, e in examples_of(catalogue)]
    steps = read_forms(scratch_module([e.form for e in examples], catalogue, write=form_text), worker=worker)
    changed = {e.form.op for e, s in zip(examples, steps, strict=True) if inner(s.form, e.form.op) != e.form}
    assert changed == set()
    written = [form_text(e.form, catalogue) for e in examples]
    otherwise = {e.form.op for e, text in zip(examples, written, strict=True) if text != e.text}
    assert {name.removeprefix("transform.") for name in otherwise} == {
        "sequence",  # its steps print without the dialect's name
        "smt.constrain_params",  # ops of other dialects stand in generic syntax
        "structured.replace",  # likewise
        "structured.fuse",  # inner_tile_alignments are numbers that print as words: generic with them
        "structured.fuse_into_containing_op",  # likewise
        "structured.tile_using_for",  # likewise
        "affine.simplify_bounded_affine_ops",  # types stand in two places: generic
        "func.cast_and_call",  # as above
        "match.structured",  # its yield of nothing is not printed
    }


def test_forms_with_one_thing_less_come_back_unchanged_too(catalogue, worker):
    """What the compiler takes in generic syntax it takes, and reads as the same, in custom syntax."""
    for op in catalogue.with_role("step"):
        forms = {without(e.form, name) for e in op.examples for name, _ in e.form.attributes}
        valid = sorted((f for f in forms if not form_problems(f, catalogue)), key=repr)
        taken = [f for f in valid if are_taken([f], catalogue, worker, generic_form_text)]
        # MLIR takes a prefetch of neither a number nor a parameter in generic syntax, and cannot print it.
        expected = op.short_name != "xegpu.insert_prefetch"
        assert are_taken(taken, catalogue, worker, form_text) is expected, op.name


def without(form, name):
    return form_with(form, tuple(pair for pair in form.attributes if pair[0] != name))


def are_taken(forms, catalogue, worker, write):
    """Return whether the compiler takes forms; what it takes must be those forms."""
    try:
        steps = read_forms(scratch_module(forms, catalogue, write=write), worker=worker)
    except ScheduleError:
        return False
    assert [s.form for s in steps] == forms
    return True


def inner(form, name):
    """Return the form itself, or the pattern of that name in it."""
    return form if form.op == name else next(s for block in form.regions for s in block.steps if s.op == name)


@pytest.mark.parametrize(
    ("op", "operand", "is_consumed"),
    [
        ("structured.tile_using_for", "target", True),
        ("structured.match", "target", False),
        ("structured.fuse_into_containing_op", "producer_op", True),
        ("structured.fuse_into_containing_op", "containing_op", False),
        ("loop.unroll", "target", True),
        ("get_parent_op", "target", False),
        ("apply_patterns", "target", False),
        ("apply_registered_pass", "target", True),
        ("annotate", "target", False),
        ("cast", "input", False),
        ("foreach", "targets", None),
        ("structured.tile_using_for", "dynamic_sizes", False),
        ("merge_handles", "handles", False),
    ],
)
def test_effects_are_the_compilers(catalogue, op, operand, is_consumed):
    effects = {o.name: o.is_consumed for o in catalogue.op(op).operands}
    assert effects[operand] is is_consumed


def test_operands_ask_for_what_the_compiler_asks_for(catalogue):
    peel = catalogue.op("loop.peel").operands[0]
    assert (peel.type, peel.kinds) == ('!transform.op<"scf.for">', ("op",))
    assert catalogue.op("get_defining_op").operands[0].kinds == ("value",)
    assert catalogue.op("num_associations").operands[0].kinds == ("op", "value", "param")
    sizes = {o.name: o for o in catalogue.op("structured.tile_using_for").operands}["dynamic_sizes"]
    assert (sizes.kinds, sizes.count) == (("op", "param"), "many")


def test_attributes_say_kind_default_and_whether_they_are_required(catalogue):
    unroll = catalogue.op("loop.unroll").attribute("factor")
    assert (unroll.kind, unroll.is_required, unroll.constraint) == (
        "int",
        True,
        "64-bit signless integer attribute whose value is positive",
    )
    sizes = catalogue.op("structured.tile_using_for").attribute("static_sizes")
    assert (sizes.kind, sizes.dynamic, sizes.default) == ("ints", "dynamic_sizes", ())
    assert (
        catalogue.op("structured.pad").attribute("copy_back_op").default
        == "bufferization.materialize_in_destination"
    )
    assert catalogue.op("structured.match").attribute("ops").kind == "strings"
    assert catalogue.op("apply_patterns").attribute("apply_cse").kind == "flag"


def test_enumerations_allow_what_the_parser_takes_and_nothing_else(catalogue, worker):
    enums = [
        (op, e, a) for op in catalogue.ops for a in op.attributes if a.kind == "enum" for e in op.examples[:1]
    ]
    assert len(enums) == 15
    for op, example, spec in enums:
        form = example.form
        others = tuple(pair for pair in form.attributes if pair[0] != spec.name)
        written = scratch_module(
            [form_with(form, (*others, (spec.name, c.name))) for c in spec.cases], catalogue
        )
        steps = read_forms(written, worker=worker)
        read = [dict(inner(s.form, op.name).attributes).get(spec.name, spec.default) for s in steps]
        assert read == [c.name for c in spec.cases], op.name
        used = {c.text for c in spec.cases}
        wrong = next(f"{i} : i32" for i in range(20, 0, -1) if f"{i} : i32" not in used)
        refused = scratch_module([form_with(form, (*others, (spec.name, spec.cases[-1].name)))], catalogue)
        with pytest.raises(ScheduleError):
            read_forms(
                refused.replace(f"{spec.name} = {spec.cases[-1].text}", f"{spec.name} = {wrong}"), worker=worker
            )


def form_with(form, attributes):
    return type(form)(form.op, form.operands, attributes, form.results, form.regions)


def test_json_and_back(catalogue):
    assert Catalogue.from_json(json.loads(json.dumps(catalogue.to_json()))) == catalogue


@pytest.mark.parametrize("pattern", [*catalogues.MAKERS, *user_code._MAKERS])
def test_every_pattern_of_the_cache_key_names_files(pattern):
    package = Path(catalogues.__file__).parent.parent
    assert [file for file in package.glob(pattern) if file.is_file()], pattern


def test_the_second_time_no_worker_is_asked(catalogue, monkeypatch, catalogue_folder):
    assert len(list(catalogue_folder.glob("torch_mlir*.json"))) == 1
    catalogues._load.cache_clear()
    monkeypatch.setattr(catalogues, "shared_worker", lambda: pytest.fail("a worker was asked"))
    assert catalogues.load_catalogue() == catalogue


def test_a_damaged_cache_is_made_again(worker, catalogue, monkeypatch, tmp_path):
    monkeypatch.setenv("LHKIT_CATALOGUE_DIR", str(tmp_path))
    path = kept_path(catalogue.toolchain[0], catalogues.MAKERS)
    path.write_text('{"ops": 3}')
    catalogues._load.cache_clear()
    assert catalogues.load_catalogue(worker) == catalogue
    assert json.loads(path.read_text())["toolchain"] == list(catalogue.toolchain)
    catalogues._load.cache_clear()


def test_an_unknown_op_is_answered_with_the_nearest(catalogue):
    with pytest.raises(UsageError, match=r"structured\.tile_using_for\b"):
        catalogue.op("structured.tile_using_fro")
    with pytest.raises(UsageError, match=r"transform\.loop\.peel"):
        catalogue.op("peel")
