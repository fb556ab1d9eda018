"""Candidate steps for a handle, with arguments that fit its payload."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.compose.form_text import form_text, kind_of_type
from lhkit.compose.recipes import Recipe
from lhkit.model.explanation import Subject
from lhkit.model.op_catalogue import Catalogue, CatalogueOp
from lhkit.model.step_form import AttributeValue, Form, FormBlock, TypedName, left_side

ANY_OP = "!transform.any_op"
_NARROWED = "%narrowed"
Settings = tuple[tuple[str, AttributeValue], ...]

# What one tries first, in this order; the rest of the catalogue follows.
USUAL = (
    "structured.tile_using_for", "structured.tile_using_forall", "structured.fuse", "get_parent_op",
    "structured.generalize", "structured.interchange", "get_producer_of_operand", "get_consumers_of_result",
    "structured.pad", "structured.pack", "structured.pack_greedily", "structured.split",
    "structured.split_reduction", "structured.tile_reduction_using_for", "structured.specialize",
    "loop.unroll", "loop.peel", "loop.outline", "apply_licm", "apply_cse", "apply_patterns",
    "structured.convert_to_loops", "structured.multitile_sizes", "structured.match",
)  # fmt: skip
# Known to take the compiler down or to run for minutes on payloads that are not tiled; tried last.
_RISKY = (
    "loop.pipeline", "structured.scalarize", "structured.hoist_pad", "apply_registered_pass",
    "bufferization.one_shot_bufferize", "structured.vectorize_children_and_apply_patterns",
    "structured.vectorize",
)  # fmt: skip
_NEEDS: Mapping[str, str] = {
    "collect_matching": "a named sequence that matches",
    "foreach_match": "named sequences that match and act",
    "include": "a named sequence",
    "pdl_match": "a pattern",
    "func.cast_and_call": "a function to call",
    "func.deduplicate_func_args": "the name of a function",
    "func.replace_func_signature": "the name of a function",
    "sequence": "steps to put inside",
    "foreach": "steps to put inside",
    "alternatives": "steps to put inside",
    "tune.alternatives": "steps to put inside",
    "apply_conversion_patterns": "patterns and a type converter to choose",
    "structured.replace": "an op to put in place",
}
# They give a handle for each tensor that is written to; one is what most ops write.
_FILLS = ("structured.tile_reduction_using_for", "structured.tile_reduction_using_forall")
_UNUSUAL_GROUPS = ("Ask in a matcher",)


# So many of the handles in sight are tried where an op takes another one, the nearest.
_MOST_OTHERS = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step to try.

    Attributes:
        text: Custom syntax, with a cast before it where the op takes a narrower handle; empty if untriable.
        needs: What it needs that the schedule does not give; empty if it can be tried.
        is_risky: Whether similar steps are known to crash the compiler.
        sequences: Named sequences to add to the schedule.
    """

    name: str
    sentence: str
    text: str
    needs: str = ""
    is_risky: bool = False
    sequences: str = ""


def candidates_for(
    handle: TypedName, subject: Subject, catalogue: Catalogue, others: Sequence[TypedName] = ()
) -> tuple[Candidate, ...]:
    """Return the steps to try on a handle, the usual ones first and the risky ones last."""
    kind = kind_of_type(handle.type)
    steps = (op for op in catalogue.with_role("step") if op.group not in _UNUSUAL_GROUPS)
    fitting = [op for op in steps if op.operands and kind in op.operands[0].kinds]
    places = {name: i for i, name in enumerate(USUAL)}
    fitting.sort(key=lambda op: (op.short_name in _RISKY, places.get(op.short_name, len(places)), op.name))
    others = [o for o in others if o.name != handle.name]
    return tuple(c for op in fitting for c in _candidates(op, handle, subject, catalogue, others))


def recipe_candidates(
    handle: TypedName, recipes: Sequence[Recipe], others: Sequence[TypedName] = ()
) -> Iterator[Candidate]:
    """Yield the includes to try of recipes that take a handle first."""
    if kind_of_type(handle.type) != "op":
        return
    near = [o for o in others if o.name != handle.name and kind_of_type(o.type) == "op"][:_MOST_OTHERS]
    for recipe in recipes:
        more = len(recipe.arguments) - 1
        lacking = "another handle" if more == 1 else f"{more} other handles"
        needs = lacking if more > len(near) else ""
        if needs or recipe.clash:
            needs = needs or f"the name {recipe.clash}, which is taken by another sequence"
            yield Candidate(recipe.name, recipe.sentence, "", needs)
            continue
        for chosen in itertools.islice(itertools.permutations(near, more), _MOST_OTHERS):
            text = include_text(recipe, (handle, *chosen))
            yield Candidate(recipe.name, recipe.sentence, text, sequences=recipe.sequences)


def include_text(recipe: Recipe, handles: Sequence[TypedName]) -> str:
    """Return the step that includes a recipe on handles, with casts before it where it takes narrower ones."""
    given: list[str] = []
    casts: list[str] = []
    for handle, wanted in zip(handles, recipe.arguments, strict=True):
        value, cast = _narrowed(handle, wanted, len(casts))
        given.append(value.name)
        casts += cast
    results = [f"%made#{i}" for i in range(len(recipe.results))] if len(recipe.results) > 1 else ["%made"]
    left = f"{left_side(results)} = " if recipe.results else ""
    types = f"({', '.join(recipe.arguments)}) -> ({', '.join(recipe.results)})"
    include = f"{left}transform.include {recipe.name} failures(propagate) ({', '.join(given)}) : {types}"
    return "\n".join([*casts, include])


def _candidates(
    op: CatalogueOp, handle: TypedName, subject: Subject, catalogue: Catalogue, others: Sequence[TypedName]
) -> Iterator[Candidate]:
    """Yield the steps of an op: one, or one for each handle that its other operand may be."""
    written = dict(_smallest(op).operands)
    slots = [o for o in op.operands[1:] if o.count == "one" or written.get(o.name)]
    near = [[h for h in others if kind_of_type(h.type) in o.kinds][:_MOST_OTHERS] for o in slots]
    missing = [o.name for o, found in zip(slots, near, strict=True) if not found]
    needs = _NEEDS.get(op.short_name) or (f"another handle: {', '.join(missing)}" if missing else "")
    unknown = [a.name for a in op.attributes if a.is_required and not op.examples]
    needs = needs or (f"a value: {', '.join(unknown)}" if unknown else "")
    if needs:
        yield Candidate(op.name, op.sentence, "", needs)
        return
    for chosen in itertools.islice(itertools.product([handle], *near), _MOST_OTHERS):
        values: dict[str, tuple[TypedName, ...]] = {}
        casts: list[str] = []
        for spec, value in zip([op.operands[0], *slots], chosen, strict=True):
            # A type that is narrower than any op's is one that the operand insists on.
            wanted = spec.type if spec.type.startswith("!transform.op<") else value.type
            given, cast = _narrowed(value, wanted, len(casts))
            count = 1 if value is handle else len(written.get(spec.name, ())) or 1
            values[spec.name] = (given,) * count
            casts += cast
        form = _with_arguments(op, subject)
        by_name = {**dict(form.operands), **values}
        operands = tuple((o.name, by_name[o.name]) for o in op.operands if o.name in by_name)
        text = "\n".join([*casts, form_text(dataclasses.replace(form, operands=operands), catalogue)])
        yield Candidate(op.name, op.sentence, text, is_risky=op.short_name in _RISKY)


def _narrowed(handle: TypedName, wanted: str, number: int) -> tuple[TypedName, list[str]]:
    """Return a handle of another type, and the cast that makes it, if it takes one."""
    if wanted == handle.type:
        return handle, []
    given = TypedName(f"{_NARROWED}_{number}" if number else _NARROWED, wanted)
    return given, [f"{given.name} = transform.cast {handle.name} : {handle.type} to {wanted}"]


def _smallest(op: CatalogueOp) -> Form:
    """Return the smallest valid instance of an op; ops that users define have no examples."""
    if op.examples:
        return op.examples[0].form
    results = tuple((r.name, (TypedName(f"%{r.name}", r.type),)) for r in op.results)
    return Form(op.name, results=results)


def _with_arguments(op: CatalogueOp, subject: Subject) -> Form:
    form = _smallest(op)
    settings = _SETTINGS.get(op.short_name)
    if settings is not None:
        chosen = dict(settings(subject))
        form = dataclasses.replace(form, attributes=tuple({**dict(form.attributes), **chosen}.items()))
        sizes = chosen.get("static_sizes", chosen.get("static_tile_sizes"))
        if any(r.name == "loops" for r in op.results) and isinstance(sizes, tuple):
            form = _with_results(form, op, "loops", sum(size != 0 for size in sizes))
    if op.short_name in _FILLS:
        form = _with_results(form, op, "fill_op", 1)
    if op.short_name == "split_handle":
        form = _with_results(form, op, op.results[0].name, len(subject.names))
    if op.short_name == "apply_patterns":
        steps = (Form("transform.apply_patterns.canonicalization"),)
        form = dataclasses.replace(form, regions=(FormBlock(steps=steps),))
    return form


def _with_results(form: Form, op: CatalogueOp, result: str, count: int) -> Form:
    """Return a form in which a result that may be any number of handles is a number of them."""
    names = (f"%{result}",) if count == 1 else tuple(f"%{result}#{i}" for i in range(count))
    made = {**dict(form.results), result: tuple(TypedName(n, ANY_OP) for n in names)}
    results = tuple((r.name, made[r.name]) for r in op.results if r.name in made)
    return dataclasses.replace(form, results=results)


def _sizes(subject: Subject) -> tuple[int, ...]:
    """Return a tile size for each loop, one that divides it; 8 where nothing is known."""
    return tuple(_tidy(subject.extents)) or (8,)


def _tidy(extents: tuple[int | None, ...]) -> Iterator[int]:
    for i, extent in enumerate(extents):
        wanted = (8, 32)[i % 2] if i < 2 else 4
        while extent is not None and wanted > 1 and (extent % wanted or wanted >= extent):
            wanted //= 2
        yield wanted if wanted > 1 else 0


def _last(subject: Subject) -> int:
    return max(len(subject.extents) - 1, 0)


def _zeros(subject: Subject) -> tuple[str, ...]:
    return tuple(f"0.000000e+00 : {e}" if "f" in e else f"0 : {e}" for e in subject.elements)


def _unit_tile(subject: Subject) -> tuple[int, ...]:
    sizes = _sizes(subject)
    return (*[0] * (len(sizes) - 1), sizes[-1] or 1)


_SETTINGS: Mapping[str, Callable[[Subject], Settings]] = {
    "structured.tile_using_for": lambda s: (("static_sizes", _sizes(s)),),
    "structured.tile_using_forall": lambda s: (("static_tile_sizes", (*_sizes(s)[:2],)),),
    "structured.fuse": lambda s: (("static_tile_sizes", (*_sizes(s)[:2],)),),
    "structured.tile_reduction_using_for": lambda s: (
        ("reduction_dims", (_last(s),)),
        ("tile_sizes", _unit_tile(s)),
    ),
    "structured.tile_reduction_using_forall": lambda s: (
        ("reduction_dims", (_last(s),)),
        ("num_threads", (*[0] * _last(s), 4)),
    ),
    "structured.split": lambda s: (("dimension", 0), ("static_chunk_sizes", _sizes(s)[0] or 1)),
    "structured.split_reduction": lambda _: (("split_factor", 4), ("insert_split_dimension", 0)),
    "structured.interchange": lambda s: (("iterator_interchange", (1, 0, *range(2, max(len(s.extents), 2)))),),
    "structured.pack": lambda s: (("static_packed_sizes", _sizes(s)),),
    "structured.pack_greedily": lambda _: (("static_matmul_packed_sizes", (8, 16, 4)),),
    "structured.pad": lambda s: (
        ("padding_values", _zeros(s)),
        ("padding_dimensions", tuple(range(max(len(s.extents), 1)))),
        ("static_pad_to_multiple_of", tuple(16 for _ in s.extents) or (16,)),
    ),
    "structured.pad_tiling_interface": lambda s: (
        ("padding_values", _zeros(s)),
        ("static_padding_sizes", tuple(16 for _ in s.extents) or (16,)),
        ("pad_to_multiple_of", True),
    ),
    "structured.multitile_sizes": lambda _: (("dimension", 0), ("target_size", 8)),
    "structured.continuous_tile_sizes": lambda _: (("dimension", 0), ("target_size", 8)),
    "structured.match": lambda _: (("interface", "LinalgOp"),),
    "loop.unroll": lambda _: (("factor", 2),),
    "loop.unroll_and_jam": lambda _: (("factor", 2),),
    "get_producer_of_operand": lambda _: (("operand_number", 0),),
    "get_consumers_of_result": lambda _: (("result_number", 0),),
    "get_operand": lambda _: (("raw_position_list", (0,)),),
    "get_result": lambda _: (("raw_position_list", (0,)),),
    "memref.multibuffer": lambda _: (("factor", 2),),
}
