"""Transform ops as the generated Python classes of the bindings declare them, and those without a class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lhkit.compiler.ir.bindings import host_module, ir

Count = Literal["one", "optional", "many"]
_OPS_MODULE = re.compile(r"_(\w*?)_?transform(?:_(\w+?)_extension)?_ops_gen")


@dataclass(frozen=True, slots=True)
class Argument:
    """An operand, result or region of a skeleton."""

    name: str
    count: Count


@dataclass(frozen=True, slots=True)
class Skeleton:
    """An op as its Python class describes it.

    Attributes:
        extension: The extension of the transform dialect that brings it.
        attributes: Pairs of a name and the class of attribute, such as ``IntegerAttr``; ``flag`` for those
            that are there or not.
        segments: Whether the op keeps the sizes of its groups of operands, and of results.
    """

    name: str
    extension: str
    documentation: str
    operands: tuple[Argument, ...] = ()
    results: tuple[Argument, ...] = ()
    regions: tuple[Argument, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    segments: tuple[bool, bool] = (False, False)


def skeletons() -> list[Skeleton]:
    """Return all transform ops that have a Python class, sorted by name."""
    return sorted((_skeleton(cls, extension) for extension, cls in _op_classes()), key=lambda s: s.name)


def enum_classes() -> dict[str, Any]:
    """Return the enumerations that the bindings define, by name."""
    dialects = host_module("dialects")
    classes = {}
    for module in pkgutil.iter_modules(dialects.__path__):
        if re.fullmatch(r"_(\w+_)?(transform|bufferization)_enum_gen", module.name):
            members = vars(importlib.import_module(f"{dialects.__name__}.{module.name}"))
            classes.update(
                {n: c for n, c in members.items() if isinstance(c, type) and c.__module__.endswith(module.name)}
            )
    return classes


def _op_classes() -> Iterator[tuple[str, Any]]:
    dialects = host_module("dialects")
    for module in pkgutil.iter_modules(dialects.__path__):
        match = _OPS_MODULE.fullmatch(module.name)
        if match is None:
            continue
        loaded = importlib.import_module(f"{dialects.__name__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, ir.OpView) and value.__module__ == loaded.__name__:
                yield match[1] or match[2] or "transform", value


# Which arguments a property gives, by the class of what it returns; True for any number of them.
_ARGUMENT_KINDS = {
    "Value": ("operands", False),
    "OpOperandList": ("operands", True),
    "OpResult": ("results", False),
    "OpResultList": ("results", True),
    "Region": ("regions", False),
    "RegionSequence": ("regions", True),
}


def _skeleton(cls: Any, extension: str) -> Skeleton:
    """Return what a class says; the properties of generated classes stand in the dialect's order."""
    found: dict[str, list[Argument]] = {"operands": [], "results": [], "regions": []}
    attributes = []
    for name, member in vars(cls).items():
        if not isinstance(member, property):
            continue
        hint: Any = getattr(member.fget, "__annotations__", {}).get("return")
        inner: Any = next((t for t in get_args(hint) if t is not type(None)), None)
        kind = (inner or hint).__name__
        count: Count = "optional" if inner else "one"
        plain = name.removesuffix("_")
        if kind in _ARGUMENT_KINDS:
            side, is_many = _ARGUMENT_KINDS[kind]
            found[side].append(Argument(plain, "many" if is_many else count))
        else:
            attributes.append((plain, "flag" if kind == "bool" else kind))
    return Skeleton(
        name=cls.OPERATION_NAME,
        extension=extension,
        documentation=(inspect.getdoc(cls) or "") if cls.__doc__ else "",
        operands=tuple(found["operands"]),
        results=tuple(found["results"]),
        regions=tuple(found["regions"]),
        attributes=tuple(attributes),
        segments=(cls._ODS_OPERAND_SEGMENTS is not None, cls._ODS_RESULT_SEGMENTS is not None),
    )


# Families of ops whose names begin with the family, then the extension.
_FAMILIES = ("apply_conversion_patterns", "apply_patterns", "match")


def _op(
    name: str,
    documentation: str,
    operands: str = "",
    results: str = "",
    attributes: str = "",
    regions: str = "",
) -> Skeleton:
    """Return an op without a Python class.

    Operands, results and regions are ``name``, ``name?`` (optional) or ``name*`` (any number); attributes are
    ``name:class``, or ``name`` for flags.
    """
    split = (word.partition(":") for word in attributes.split())
    return Skeleton(
        name=f"transform.{name}",
        extension=next(part for part in name.split(".") if part not in _FAMILIES),
        documentation=documentation,
        operands=_arguments(operands),
        results=_arguments(results),
        regions=_arguments(regions),
        attributes=tuple((attribute, cls or "flag") for attribute, _, cls in split),
        segments=("?" in operands, False),
    )


def _arguments(names: str) -> tuple[Argument, ...]:
    counts: dict[str, Count] = {"?": "optional", "*": "many"}
    return tuple(Argument(name.rstrip("?*"), counts.get(name[-1], "one")) for name in names.split())


def _neon(name: str, instructions: str, extension: str) -> Skeleton:
    what = f"Collects patterns that turn vector.contract into Arm's {instructions} instructions ({extension})."
    return _op(f"apply_patterns.{name}", what)


def _match(name: str, documentation: str, results: str, attributes: str = "") -> Skeleton:
    return _op(f"match.structured.{name}", documentation, "operand_handle", results, attributes)


_SIGNATURE = "transformed_module transformed_function"
_POSITIONS = "raw_position_list:DenseI64ArrayAttr is_inverted is_all permutation projected_permutation"
# Transform ops that are registered and have no Python class in the bindings.
_CLASSLESS = (
    _op(
        "affine.simplify_bounded_affine_ops",
        "Simplifies affine.min and affine.max with bounds that are given for some of their operands.",
        operands="target bounded_values*",
        attributes="lower_bounds:DenseI64ArrayAttr upper_bounds:DenseI64ArrayAttr",
    ),
    _op(
        "affine.simplify_min_max_affine_ops",
        "Simplifies affine.min and affine.max with the bounds of values that the compiler can find out.",
        operands="target",
    ),
    _op(
        "apply_conversion_patterns.func.func_to_llvm",
        "Collects patterns that convert func ops to the LLVM dialect; they need the type converter to LLVM.",
    ),
    _neon("arm_neon.vector_contract_to_bfmmla", "BFMMLA", "NEON, bf16"),
    _neon("arm_neon.vector_contract_to_i8mm", "I8MM", "NEON, i8"),
    _neon("arm_sve.vector_contract_to_bfmmla", "BFMMLA", "SVE, bf16"),
    _neon("arm_sve.vector_contract_to_i8mm", "I8MM", "SVE, i8"),
    _op(
        "dlti.query",
        "Gives what the data layout or target description at an op says under some keys, as a parameter.",
        operands="target",
        results="associated_attr",
        attributes="keys:ArrayAttr",
    ),
    _op(
        "func.cast_and_call",
        "Puts a call of a function before or after an op: values go in as arguments, with casts as a type "
        "converter in its body makes them, and other values are replaced by its results.",
        operands="insertion_point inputs? outputs? function?",
        results="result",
        attributes="insert_after function_name:SymbolRefAttr",
        regions="conversions",
    ),
    _op(
        "func.deduplicate_func_args",
        "Removes arguments of a function that get the same value in every call, and updates the calls.",
        operands="module",
        results=_SIGNATURE,
        attributes="function_name:SymbolRefAttr",
    ),
    _op(
        "func.replace_func_signature",
        "Changes the order of a function's arguments and results, and of those of its calls if asked to.",
        operands="module",
        results=_SIGNATURE,
        attributes="function_name:SymbolRefAttr args_interchange:DenseI32ArrayAttr"
        " results_interchange:DenseI32ArrayAttr adjust_func_calls",
    ),
    _op(
        "match.structured",
        "Matches one structured (linalg) op with the conditions in its body, and gives what the body yields.",
        operands="operand_handle",
        results="outputs*",
        attributes="failure_propagation_mode:Attribute",
        regions="body_region",
    ),
    _match(
        "body",
        "Asks that the body of a structured op is a copy, a reduction, elementwise, or a contraction.",
        results="",
        attributes="reduction_position:IntegerAttr passthrough elementwise contraction:ArrayAttr",
    ),
    _match(
        "classify_contraction_dims",
        "Gives the numbers of a contraction's batch, row, column and reduction dimensions.",
        results="batch m n k",
    ),
    _match(
        "classify_convolution_dims",
        "Gives the numbers of a convolution's dimensions by what they are, its strides and its dilations.",
        results="batch output_image output_channel filter_loop input_channel depth strides dilations",
    ),
    _match(
        "dim",
        "Asks that dimensions are parallel or reductions, or gives their sizes.",
        results="result?",
        attributes="raw_dim_list:DenseI64ArrayAttr is_inverted is_all parallel reduction",
    ),
    _match("elemental_bitwidth", "Gives the number of bits of a value's elements.", "result"),
    _match(
        "init",
        "Gives an output operand, or asks that its indexing map is a permutation.",
        "result?",
        _POSITIONS,
    ),
    _match(
        "input",
        "Gives an input operand, or asks that its indexing map is a permutation.",
        "result?",
        _POSITIONS,
    ),
    _match("num_inits", "Gives the number of output operands.", "result"),
    _match("num_inputs", "Gives the number of input operands.", "result"),
    _match("rank", "Gives the number of loops of a structured op.", "result"),
    _match("result", "Gives a result, or the op that uses it.", "result", "position:IntegerAttr any single"),
    _op(
        "match.structured.yield",
        "Ends the body of transform.match.structured and says what it gives.",
        operands="handles*",
    ),
)


def classless_skeletons() -> list[Skeleton]:
    """Return the ops without a Python class that the current context knows."""
    return [s for s in _CLASSLESS if ir.Context.current.is_registered_operation(s.name)]
