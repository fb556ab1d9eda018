"""Transform ops that are registered and have no Python class in the bindings: what their class would say.

The compiler is asked about them as about the others; one that a version does not register is left out.
"""

from __future__ import annotations

from lhkit.compiler.catalogue.op_classes import Argument, Skeleton
from lhkit.compiler.ir.bindings import ir

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
