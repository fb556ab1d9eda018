"""What the generated Python classes of transform ops say about them, before the compiler is asked."""

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
        name: Its full name.
        extension: The part of the dialect that brings it.
        documentation: The dialect's documentation.
        operands, results, regions: In order.
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
    """Return all transform ops that have a Python class, by name in order."""
    found = [_skeleton(cls, extension) for extension, cls in _op_classes()]
    return sorted(found, key=lambda s: s.name)


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


def _skeleton(cls: Any, extension: str) -> Skeleton:
    """Return what a class says; the properties of generated classes stand in the dialect's order."""
    operands, results, regions, attributes = [], [], [], []
    for name, member in vars(cls).items():
        if not isinstance(member, property):
            continue
        hint: Any = getattr(member.fget, "__annotations__", {}).get("return")
        inner: Any = next((t for t in get_args(hint) if t is not type(None)), None)
        kind = (inner or hint).__name__
        count: Count = "optional" if inner else "one"
        plain = name.removesuffix("_")
        if kind == "Value":
            operands.append(Argument(plain, count))
        elif kind == "OpOperandList":
            operands.append(Argument(plain, "many"))
        elif kind in ("OpResult", "OpResultList"):
            results.append(Argument(plain, "many" if kind == "OpResultList" else count))
        elif kind in ("Region", "RegionSequence"):
            regions.append(Argument(plain, "many" if kind == "RegionSequence" else "one"))
        else:
            attributes.append((plain, "flag" if kind == "bool" else kind))
    return Skeleton(
        name=cls.OPERATION_NAME,
        extension=extension,
        documentation=(inspect.getdoc(cls) or "") if cls.__doc__ else "",
        operands=tuple(operands),
        results=tuple(results),
        regions=tuple(regions),
        attributes=tuple(attributes),
        segments=(cls._ODS_OPERAND_SEGMENTS is not None, cls._ODS_RESULT_SEGMENTS is not None),
    )


# Transform ops that are registered and have no Python class in the bindings: what their class would say.


_TARGET = (Argument("target", "one"),)
_NEON = "Collects patterns that turn vector.contract into Arm's {} instructions ({})."

_SKELETONS = (
    Skeleton(
        "transform.affine.simplify_bounded_affine_ops",
        "affine",
        "Simplifies affine.min and affine.max with bounds that are given for some of their operands.",
        operands=(*_TARGET, Argument("bounded_values", "many")),
        attributes=(("lower_bounds", "DenseI64ArrayAttr"), ("upper_bounds", "DenseI64ArrayAttr")),
    ),
    Skeleton(
        "transform.affine.simplify_min_max_affine_ops",
        "affine",
        "Simplifies affine.min and affine.max with the bounds of values that the compiler can find out.",
        operands=_TARGET,
    ),
    Skeleton(
        "transform.apply_conversion_patterns.func.func_to_llvm",
        "func",
        "Collects patterns that convert func ops to the LLVM dialect; they need the type converter to LLVM.",
    ),
    Skeleton(
        "transform.apply_patterns.arm_neon.vector_contract_to_bfmmla",
        "arm_neon",
        _NEON.format("BFMMLA", "NEON, bf16"),
    ),
    Skeleton(
        "transform.apply_patterns.arm_neon.vector_contract_to_i8mm",
        "arm_neon",
        _NEON.format("I8MM", "NEON, i8"),
    ),
    Skeleton(
        "transform.apply_patterns.arm_sve.vector_contract_to_bfmmla",
        "arm_sve",
        _NEON.format("BFMMLA", "SVE, bf16"),
    ),
    Skeleton(
        "transform.apply_patterns.arm_sve.vector_contract_to_i8mm", "arm_sve", _NEON.format("I8MM", "SVE, i8")
    ),
    Skeleton(
        "transform.dlti.query",
        "dlti",
        "Gives what the data layout or target description at an op says under some keys, as a parameter.",
        operands=_TARGET,
        attributes=(("keys", "ArrayAttr"),),
        results=(Argument("associated_attr", "one"),),
    ),
    Skeleton(
        "transform.func.cast_and_call",
        "func",
        "Puts a call of a function before or after an op: values go in as arguments, with casts as a type "
        "converter in its body makes them, and other values are replaced by its results.",
        operands=(
            Argument("insertion_point", "one"),
            Argument("inputs", "optional"),
            Argument("outputs", "optional"),
            Argument("function", "optional"),
        ),
        attributes=(("insert_after", "flag"), ("function_name", "SymbolRefAttr")),
        results=(Argument("result", "one"),),
        regions=(Argument("conversions", "one"),),
        segments=(True, False),
    ),
    Skeleton(
        "transform.func.deduplicate_func_args",
        "func",
        "Removes arguments of a function that get the same value in every call, and updates the calls.",
        operands=(Argument("module", "one"),),
        attributes=(("function_name", "SymbolRefAttr"),),
        results=(Argument("transformed_module", "one"), Argument("transformed_function", "one")),
    ),
    Skeleton(
        "transform.func.replace_func_signature",
        "func",
        "Changes the order of a function's arguments and results, and of those of its calls if asked to.",
        operands=(Argument("module", "one"),),
        attributes=(
            ("function_name", "SymbolRefAttr"),
            ("args_interchange", "DenseI32ArrayAttr"),
            ("results_interchange", "DenseI32ArrayAttr"),
            ("adjust_func_calls", "flag"),
        ),
        results=(Argument("transformed_module", "one"), Argument("transformed_function", "one")),
    ),
)

_HANDLE = (Argument("operand_handle", "one"),)
_FLAGS = (("is_inverted", "flag"), ("is_all", "flag"))
_MAPS = (("permutation", "flag"), ("projected_permutation", "flag"))


def _match(
    name: str, does: str, results: tuple[Argument, ...] = (), attributes: tuple[tuple[str, str], ...] = ()
) -> Skeleton:
    return Skeleton(f"transform.match.structured.{name}", "structured", does, _HANDLE, results, (), attributes)


def _results(*names: str) -> tuple[Argument, ...]:
    return tuple(Argument(name, "one") for name in names)


_ANSWER = (Argument("result", "optional"),)
_MATCHERS = (
    Skeleton(
        "transform.match.structured",
        "structured",
        "Matches one structured (linalg) op with the conditions in its body, and gives what the body yields.",
        _HANDLE,
        (Argument("outputs", "many"),),
        (Argument("body_region", "one"),),
        (("failure_propagation_mode", "Attribute"),),
    ),
    _match(
        "body",
        "Asks that the body of a structured op is a copy, a reduction, elementwise, or a contraction.",
        attributes=(
            ("reduction_position", "IntegerAttr"),
            ("passthrough", "flag"),
            ("elementwise", "flag"),
            ("contraction", "ArrayAttr"),
        ),
    ),
    _match(
        "classify_contraction_dims",
        "Gives the numbers of a contraction's batch, row, column and reduction dimensions.",
        _results("batch", "m", "n", "k"),
    ),
    _match(
        "classify_convolution_dims",
        "Gives the numbers of a convolution's dimensions by what they are, its strides and its dilations.",
        _results(
            "batch",
            "output_image",
            "output_channel",
            "filter_loop",
            "input_channel",
            "depth",
            "strides",
            "dilations",
        ),
    ),
    _match(
        "dim",
        "Asks that dimensions are parallel or reductions, or gives their sizes.",
        _ANSWER,
        (("raw_dim_list", "DenseI64ArrayAttr"), *_FLAGS, ("parallel", "flag"), ("reduction", "flag")),
    ),
    _match("elemental_bitwidth", "Gives the number of bits of a value's elements.", _results("result")),
    _match(
        "init",
        "Gives an output operand, or asks that its indexing map is a permutation.",
        _ANSWER,
        (("raw_position_list", "DenseI64ArrayAttr"), *_FLAGS, *_MAPS),
    ),
    _match(
        "input",
        "Gives an input operand, or asks that its indexing map is a permutation.",
        _ANSWER,
        (("raw_position_list", "DenseI64ArrayAttr"), *_FLAGS, *_MAPS),
    ),
    _match("num_inits", "Gives the number of output operands.", _results("result")),
    _match("num_inputs", "Gives the number of input operands.", _results("result")),
    _match("rank", "Gives the number of loops of a structured op.", _results("result")),
    _match(
        "result",
        "Gives a result, or the op that uses it.",
        _results("result"),
        (("position", "IntegerAttr"), ("any", "flag"), ("single", "flag")),
    ),
    Skeleton(
        "transform.match.structured.yield",
        "structured",
        "Ends the body of transform.match.structured and says what it gives.",
        (Argument("handles", "many"),),
    ),
)


def classless_skeletons() -> list[Skeleton]:
    """Return the ops without a Python class that the current context knows."""
    return [s for s in (*_SKELETONS, *_MATCHERS) if ir.Context.current.is_registered_operation(s.name)]
