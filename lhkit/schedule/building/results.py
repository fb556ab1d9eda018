"""The results of a step that is being built: how many, of which types, under which names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from lhkit.model.catalogue import CatalogueOp, ResultSpec
from lhkit.model.forms import Form, TypedName
from lhkit.schedule.building.blocks import BuiltSequence
from lhkit.schedule.naming import fresh_name

_GENERIC = ("result", "results", "transformed", "output", "outputs", "updated", "matched", "replicated")
_ENDINGS = ("_linalg_op", "_op", "_list")
_TILING = {
    "transform.structured.tile_using_for": "static_sizes",
    "transform.structured.fuse": "static_tile_sizes",
}
_CALLS = {"transform.include": "target", "transform.collect_matching": "matcher"}


def known_types(
    form: Form, op: CatalogueOp, sequences: Mapping[str, BuiltSequence]
) -> dict[str, tuple[str, ...] | None]:
    """Return the types of each result, None for one whose number the arguments do not tell."""
    return {r.name: _types_of(form, op, r, sequences) for r in op.results}


def _types_of(
    form: Form, op: CatalogueOp, spec: ResultSpec, sequences: Mapping[str, BuiltSequence]
) -> tuple[str, ...] | None:
    operands = form.operand_values
    # What may be of any kind is of the kind of what is given.
    type_ = operands[0].type if len(spec.kinds) > 1 and operands else spec.type
    if spec.count != "many":
        return (type_,)
    if op.name == "transform.replicate":
        return tuple(v.type for v in dict(form.operands).get("handles", ()))
    if op.name in _CALLS:
        callee = sequences.get(str(dict(form.attributes).get(_CALLS[op.name])).removeprefix("@"))
        return None if callee is None else callee.result_types
    if op.name == "transform.foreach_match":
        actions = dict(form.attributes).get("actions")
        names = [str(a).removeprefix("@") for a in actions] if isinstance(actions, tuple) else []
        found = {sequences[n].result_types if n in sequences else None for n in names}
        return found.pop() if len(found) == 1 else None
    if op.name not in _TILING:
        return None
    given = dict(form.attributes)
    sizes = given.get(_TILING[op.name], ())
    if "packed_tile_sizes" in dict(form.operands) or not isinstance(sizes, tuple):
        return None
    count = 1 if given.get("use_forall") else sum(size != 0 for size in sizes)
    return (spec.type,) * count


def automatic_name(form: Form, op: CatalogueOp, spec: ResultSpec, count: int) -> str:
    """Return a readable name for a result: of what is matched, of the result in the dialect, or of the op."""
    given = dict(form.attributes)
    stem = spec.name
    if op.name == "transform.structured.match":
        ops, interface = given.get("ops"), given.get("interface")
        words = str(ops[0]) if isinstance(ops, tuple) and ops else str(interface or "matched")
        stem = words.rpartition(".")[2]
    elif op.name in ("transform.tune.knob", "transform.tune.alternatives"):
        stem = str(given.get("name", stem))
    elif stem in _GENERIC:
        stem = op.name.rpartition(".")[2]
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending) or stem
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
    stem = re.sub(r"[^a-z0-9_]", "_", stem)
    if spec.count == "many" and count == 1 and stem.endswith("s") and not stem.endswith("ss"):
        stem = stem[:-1]
    return f"%{stem}" if stem[:1].isalpha() else f"%handle_{stem}"


def automatic_names(form: Form, op: CatalogueOp, counts: Sequence[int], taken: Collection[str]) -> list[str]:
    """Return a free name for each result of an op; nothing (``""``) for one that stands for no handle."""
    names: list[str] = []
    for spec, count in zip(op.results, counts, strict=True):
        wanted = automatic_name(form, op, spec, count)
        names.append(fresh_name(wanted, {*taken, *names}) if count else "")
    return names


def named_results(
    op: CatalogueOp, names: Sequence[str], types: Sequence[Sequence[str]]
) -> tuple[tuple[str, tuple[TypedName, ...]], ...]:
    """Return results as forms hold them: ``%x``, or ``%loops#0``, ``%loops#1`` for several of one."""
    groups = []
    for spec, name, group in zip(op.results, names, types, strict=True):
        single = len(group) == 1
        values = tuple(TypedName(name if single else f"{name}#{i}", t) for i, t in enumerate(group))
        if values:
            groups.append((spec.name, values))
    return tuple(groups)
