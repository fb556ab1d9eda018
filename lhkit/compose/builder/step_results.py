"""Arguments of a builder call as the form of a step; results of the step: number, types, names."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lhkit.compose.builder import op_functions
from lhkit.compose.builder.blocks import BuiltHandle, BuiltSequence, error_here
from lhkit.model.op_catalogue import AttributeSpec, CatalogueOp, OperandSpec, ResultSpec
from lhkit.model.step_form import AttributeValue, Form, FormBlock, Items, Scalar, TypedName
from lhkit.text.script import fresh_name, is_handle_name

# Python values as attributes of transform ops.


_TYPES = {"op": "!transform.any_op", "value": "!transform.any_value", "param": "!transform.param<i64>"}
_LISTS = {"ints": "integers", "bools": "True and False", "strings": "strings", "types": "types",
          "symbols": "named sequences", "attributes": "attributes"}  # fmt: skip


def type_text(text: object) -> str:
    """Return a type of a handle: ``op``, ``value``, ``param``, an op's name, or MLIR text."""
    if not isinstance(text, str) or not text:
        raise ValueError(f"{text!r} is not a type: 'op', 'value', 'param', the name of an op, or MLIR text")
    return _TYPES.get(text) or (text if text.startswith("!") else f'!transform.op<"{text}">')


def attribute_data(value: Any, spec: AttributeSpec) -> tuple[AttributeValue, tuple[BuiltHandle, ...]]:
    """Return what a Python value is as an attribute, and the handles in it."""
    if spec.kind == "dictionary":
        return _dictionary(value)
    if spec.kind == "int" and spec.dynamic and isinstance(value, BuiltHandle):
        return None, (value,)
    if spec.kind == "ints" and spec.dynamic:
        entries = _items(value, "integers and handles")
        sizes = tuple(None if isinstance(e, BuiltHandle) else _integer(e) for e in entries)
        return sizes, tuple(e for e in entries if isinstance(e, BuiltHandle))
    if spec.kind == "int-lists":
        lists = _items(value, "lists of integers")
        return tuple(tuple(map(_integer, _items(v, "integers"))) for v in lists), ()
    if spec.kind in _LISTS:
        return tuple(_scalar(v, spec.kind) for v in _items(value, _LISTS[spec.kind])), ()
    if spec.kind == "enum":
        if value not in [c.name for c in spec.cases]:
            raise ValueError(f"{value!r} is none of {', '.join(c.name for c in spec.cases)}")
        return str(value), ()
    return _scalar(value, spec.kind), ()


def _items(value: Any, what: str) -> Sequence[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise ValueError(f"{_shown(value)} is not a list of {what}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{_shown(value)} is not an integer")
    return int(value.__index__())


def _shown(value: Any) -> str:
    return f"the handle {value}" if isinstance(value, BuiltHandle) else repr(value)


def _scalar(value: Any, kind: str) -> Scalar:
    if kind in ("flag", "bool", "bools"):
        if not isinstance(value, bool):
            raise ValueError(f"{_shown(value)} is not a bool")
        return value
    if kind in ("int", "ints"):
        return _integer(value)
    if kind in ("symbol", "symbols"):
        name = value.name if isinstance(value, BuiltSequence) else value
        if not isinstance(name, str):
            raise ValueError(f"{_shown(value)} is neither a named sequence nor a name")
        return f"@{name.removeprefix('@')}"
    if kind in ("any", "attributes") and not isinstance(value, str):
        return mlir_text(value)
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is not a string")
    return value


# NumPy's names of element types → MLIR's.
_ELEMENTS = {"bfloat16": "bf16", **{f"float{n}": f"f{n}" for n in (16, 32, 64)}}
_ELEMENTS |= {f"{sign}int{n}": f"i{n}" for sign in ("", "u") for n in (8, 16, 32, 64)}


def mlir_text(value: Any) -> str:
    """Return a Python value as an attribute in MLIR's syntax; a string is taken as such text.

    A float is one of 64 bits, an int too; a scalar of NumPy or ml_dtypes has its own type.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{_float_text(value)} : f64"
    element = _ELEMENTS.get(str(getattr(value, "dtype", "")))
    if element is not None and getattr(value, "shape", None) == ():
        number = value.item()
        return f"{number if element.startswith('i') else _float_text(float(number))} : {element}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(str(v) if type(v) is int else mlir_text(v) for v in value)}]"
    return f"{_integer(value)} : i64"


def _float_text(value: float) -> str:
    """Return a float as MLIR reads it, with as many digits as it takes to be the same again."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no decimal form: give MLIR's, such as '0x7F800000 : f32' for infinity")
    short = f"{value:e}"
    return short if float(short) == value else f"{value:.16e}"


def _dictionary(value: Any) -> tuple[AttributeValue, tuple[BuiltHandle, ...]]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{_shown(value)} is not a dictionary")
    entries: list[Items] = []
    handles: list[BuiltHandle] = []
    for name, entry in value.items():
        if isinstance(entry, BuiltHandle):
            entries.append((str(name), f"#transform.param_operand<index = {len(handles)} : i64>"))
            handles.append(entry)
        else:
            entries.append((str(name), mlir_text(entry)))
    return tuple(entries), tuple(handles)


def handle_name(name: object) -> str:
    """Return the name of a handle with ``%``."""
    text = f"%{str(name).removeprefix('%')}"
    if not is_handle_name(text):
        raise ValueError(f"{name!r} cannot be a handle's name: letters, digits and _, no digit first")
    return text


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


def default_type(form: Form, spec: ResultSpec) -> str:
    """Return the type of a result: where it may be of any kind, that of the first handle that is given."""
    operands = form.operand_values
    return operands[0].type if len(spec.kinds) > 1 and operands else spec.type


def _types_of(
    form: Form, op: CatalogueOp, spec: ResultSpec, sequences: Mapping[str, BuiltSequence]
) -> tuple[str, ...] | None:
    if spec.count != "many":
        return (default_type(form, spec),)
    if op.name == "transform.replicate":
        return tuple(v.type for v in dict(form.operands).get("handles", ()))
    given = dict(form.attributes)
    if op.name in _CALLS:
        callee = sequences.get(str(given.get(_CALLS[op.name])).removeprefix("@"))
        return None if callee is None else callee.result_types
    if op.name == "transform.foreach_match":
        actions = given.get("actions")
        names = [str(a).removeprefix("@") for a in actions] if isinstance(actions, tuple) else []
        found = {sequences[n].result_types if n in sequences else None for n in names}
        return found.pop() if len(found) == 1 else None
    if op.name not in _TILING:
        return None
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
    elif stem.rstrip("0123456789") in _GENERIC:
        stem = op.name.rpartition(".")[2]
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending) or stem
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
    stem = re.sub(r"[^a-z0-9_]", "_", stem)
    if spec.count == "many" and count == 1 and stem.endswith("s") and not stem.endswith("ss"):
        stem = stem[:-1]
    return f"%{stem}" if stem[:1].isalpha() else f"%handle_{stem}"


def automatic_names(form: Form, op: CatalogueOp, counts: Sequence[int], taken: Collection[str]) -> list[str]:
    """Return an unused name for each handle result of an op."""
    names: list[str] = []
    for spec, count in zip(op.results, counts, strict=True):
        if count:
            names.append(fresh_name(automatic_name(form, op, spec, count), {*taken, *names}))
    return names


def named_results(
    op: CatalogueOp, names: Sequence[str], types: Sequence[Sequence[str]]
) -> tuple[tuple[str, tuple[TypedName, ...]], ...]:
    """Return results as forms hold them; ``names`` has one per value, or one per result."""
    left = iter(names)
    for_values = len(names) == sum(map(len, types))
    groups = []
    for spec, group in zip(op.results, types, strict=True):
        if not group:
            continue
        if for_values:
            listed = [next(left) for _ in group]
        else:
            name = next(left)
            listed = [name] if len(group) == 1 else [f"{name}#{i}" for i in range(len(group))]
        groups.append((spec.name, tuple(map(TypedName, listed, group))))
    return tuple(groups)


def asked_types(
    op: CatalogueOp, form: Form, named: Mapping[str, Any], known: Mapping[str, tuple[str, ...] | None]
) -> list[tuple[str, ...]]:
    """Return the types of each result of a step, as they are known and as the call sets them."""
    asked = named.get("results") if op.results else None
    wanted = named.get("types") if op.results else None
    variadic = [r.name for r in op.results if r.count != "one"]
    counts = asked if isinstance(asked, Mapping) else dict.fromkeys(variadic[:1], asked)
    types: list[tuple[str, ...]] = []
    for spec in op.results:
        found, count, default = known[spec.name], counts.get(spec.name), default_type(form, spec)
        if count is not None:
            found = ((found or (default,))[0],) * int(count)
        for listed in (wanted, named.get("names")):
            if found is None and isinstance(listed, list | tuple) and len(variadic) == 1:
                found = (default,) * (len(listed) - len(op.results) + 1)
        if found is None:
            message = f"how many {spec.name!r} {op.name} gives cannot be told from its arguments"
            example = f"{{{spec.name!r}: 2}}" if len(variadic) > 1 else "2"
            raise error_here(message, f"Say how many: results={example}.")
        types.append(found)
    return types if wanted is None else _with_types(op, types, wanted)


def _with_types(op: CatalogueOp, types: list[tuple[str, ...]], wanted: Any) -> list[tuple[str, ...]]:
    count = sum(map(len, types))
    listed = [wanted] * count if isinstance(wanted, str) else list(wanted)
    if len(listed) != count:
        raise error_here(f"{op.name} has {count} results, and {len(listed)} types are given", argument="types")
    try:
        texts = iter([type_text(t) for t in listed])
    except ValueError as error:
        raise error_here(str(error), argument="types") from None
    return [tuple(next(texts) for _ in group) for group in types]


def asked_names(
    op: CatalogueOp, form: Form, types: Sequence[Sequence[str]], wanted: Any, taken: Collection[str]
) -> list[str]:
    """Return the names of the results of a step: those that the call sets, or automatic ones."""
    counts = [len(group) for group in types]
    if wanted is None:
        return automatic_names(form, op, counts, taken)
    given = [wanted] if isinstance(wanted, str) else list(wanted)
    expected = [r.name for r, count in zip(op.results, counts, strict=True) if count]
    if len(given) not in (len(expected), sum(counts)):
        listed = ", ".join(expected) or "none"
        message = f"{op.name} has {sum(counts)} results to name ({listed}), and {len(given)} names are given"
        raise error_here(message, argument="names")
    return _checked_names(given, taken, "names")


def asked_argument_names(asked: Sequence[str], count: int, taken: Collection[str]) -> list[str]:
    """Return the names that a call sets for the arguments of a body."""
    if len(asked) != count:
        message = f"the body has {count} arguments, and {len(asked)} names are given"
        raise error_here(message, argument="arguments")
    return _checked_names(list(asked), taken, "arguments")


def _checked_names(given: Sequence[str], taken: Collection[str], place: str) -> list[str]:
    found: list[str] = []
    for name in given:
        try:
            found.append(handle_name(name))
        except ValueError as error:
            raise error_here(str(error), argument=place) from None
        if found[-1] in taken or found[-1] in found[:-1]:
            raise error_here(f"the name {found[-1]} is taken", argument=place)
    return found


Place = str | int | None


def read_call(
    builder: op_functions.Caller, op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]
) -> Form:
    """Return the form of a step without results and without the regions that are built."""
    operands: dict[str, tuple[TypedName, ...]] = {}
    attributes: dict[str, AttributeValue] = {}
    regions: dict[str, FormBlock] = {}

    def take(parameter: op_functions.Parameter, value: Any) -> None:
        operand, spec, region = parameter.operand, parameter.attribute, parameter.region
        if spec is not None:
            data, handles = attribute_data(value, spec)
            if data is not None and not (data is False and spec.kind == "flag"):
                attributes[spec.name] = data
            if handles:
                operand = operand or next((o for o in op.operands if o.name == "dynamic_options"), None)
                if operand is None:
                    raise ValueError("a handle is not allowed there")
                operands[operand.name] = _handles(builder, handles, operand)
        elif operand is not None:
            many = operand.count == "many"
            given = value if many and isinstance(value, tuple | list) else (value,)
            operands[operand.name] = _handles(builder, given, operand)
        elif region is not None:
            regions[region.name] = _region(builder, region.kind, value)

    for parameter, value, place in _assigned(op, arguments, named):
        try:
            take(parameter, value)
        except ValueError as error:
            message = f"{op.name}: {parameter.name!r} takes {parameter.describe()}; {error}"
            raise error_here(message, argument=place) from None
    failures = op.attribute(op_functions.FAILURES)
    if failures is not None and failures.is_required:
        attributes.setdefault(op_functions.FAILURES, failures.cases[0].name)
    # Groups are in the catalogue's order; regions that are built are added later.
    is_built = any(r.kind in op_functions.BUILT_REGIONS for r in op.regions)
    given = [r for r in op.regions if not is_built and (r.name in regions or r.count == "one")]
    return Form(
        op.name,
        tuple((o.name, operands[o.name]) for o in op.operands if operands.get(o.name)),
        tuple((a.name, attributes[a.name]) for a in op.attributes if a.name in attributes),
        regions=tuple(regions.get(r.name, FormBlock()) for r in given),
    )


def _assigned(
    op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]
) -> list[tuple[op_functions.Parameter, Any, Place]]:
    """Return each given parameter, with its value and its position in the call."""
    parameters = op_functions.parameters_of(op)
    positional = [p for p in parameters if p.is_positional] or [p for p in parameters if p.is_required]
    found: list[tuple[op_functions.Parameter, Any, Place]] = []
    takes_rest = False
    for i, (parameter, value) in enumerate(zip(positional, arguments, strict=False)):
        is_last = parameter is positional[-1]
        takes_rest = parameter.takes_rest and is_last and isinstance(value, BuiltHandle)
        found.append((parameter, arguments[i:] if takes_rest else value, i))
    if len(arguments) > len(positional) and not takes_rest:
        listed = ", ".join(p.name for p in positional) or "none"
        message = f"{op.name} takes {listed} without a name, and {len(arguments)} arguments are given so"
        advice = _call_with_names(op, parameters, arguments, len(positional), named)
        raise error_here(message, advice, argument=len(positional))
    known = {p.name: p for p in parameters}
    for name, value in named.items():
        is_body = name == op_functions.BODY_ARGUMENTS and any(r.kind == "body" for r in op.regions)
        if name not in known and ((name in op_functions.RESERVED and op.results) or is_body):
            continue
        if name not in known:
            near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
            advice = f"It takes {', '.join(known) or 'none'}."
            advice += f" Near it: {', '.join(near)}." if near else ""
            raise error_here(f"{op.name} has no argument {name!r}", advice, argument=name)
        if any(p.name == name for p, _, _ in found):
            raise error_here(f"{op.name} is given {name!r} twice", argument=name)
        found.append((known[name], value, name))
    given = [(p, v, place) for p, v, place in found if v is not None]
    for parameter in parameters:
        if parameter.is_required and not any(p.name == parameter.name for p, _, _ in given):
            raise error_here(f"{op.name} needs {parameter.name!r}: {parameter.describe()}")
    return given


def _call_with_names(
    op: CatalogueOp,
    parameters: Sequence[op_functions.Parameter],
    arguments: Sequence[Any],
    positional: int,
    named: Mapping[str, Any],
) -> str:
    """Return a call as it should be, as advice: arguments beyond the positional ones under names that fit."""
    written = [_in_python(value) for value in arguments[:positional]]
    free = [p for p in parameters if not p.is_positional and p.name not in named]
    free.sort(key=lambda p: not p.is_required)  # stable: those that the op needs come first
    for value in arguments[positional:]:
        choices = ((p, given) for given in (value, [value]) for p in free if _takes(p, given))
        fits, given = next(choices, (None, value))
        if fits is None:
            names = ", ".join(f"{p.name}=" for p in free)
            also = f"by name it takes {names}" if names else "it takes nothing else"
            call = f"{op.name.removeprefix('transform.')}({', '.join(written)})"
            return f"Write {call}; {also}."
        free.remove(fits)
        written.append(f"{fits.name}={_in_python(given)}")
    written += [f"{name}={_in_python(value)}" for name, value in named.items()]
    return f"Write {op.name.removeprefix('transform.')}({', '.join(written)})."


def _takes(parameter: op_functions.Parameter, value: Any) -> bool:
    try:
        return parameter.attribute is not None and attribute_data(value, parameter.attribute)[0] is not None
    except ValueError:
        return False


def _in_python(value: Any) -> str:
    """Return a value as it is written in a call; a handle by its name, as the variable is likely to be."""
    if isinstance(value, BuiltHandle):
        return value.name.removeprefix("%")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_python, value))}]"
    return _shown(value)


def _region(builder: op_functions.Caller, kind: str, value: Any) -> FormBlock:
    if isinstance(value, FormBlock):
        return value
    if kind == "payload":
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a string")
        return FormBlock(text=value)
    listed = value if isinstance(value, list | tuple) else (value,)
    return FormBlock(steps=tuple(op_functions.pattern_form(builder, kind, v) for v in listed))


def _handles(builder: op_functions.Caller, given: Sequence[Any], spec: OperandSpec) -> tuple[TypedName, ...]:
    for value in given:
        if isinstance(value, tuple | list) and all(isinstance(v, BuiltHandle) for v in value):
            raise ValueError(f"{len(value)} results of a step are given; unpack them: a, b = …")
        if not isinstance(value, BuiltHandle):
            raise ValueError(f"{value!r} is not a handle")
        if value.kind is not None and value.kind not in spec.kinds:
            raise ValueError(f"{value} is a {value.kind} handle ({value.type})")
        if value.block not in builder.block.enclosing():
            raise ValueError(f"{value} is not defined here: it belongs to another block or another schedule")
    return tuple(value.typed for value in given)
