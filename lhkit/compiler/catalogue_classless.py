"""Transform ops that are registered and have no Python class in the bindings: what their class would say.

The compiler is asked about them as about the others; one that a version does not register is left out.
"""

from __future__ import annotations

from lhkit.compiler.bindings import ir
from lhkit.compiler.catalogue_classes import Argument, Skeleton

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
        "transform.apply_patterns.arm_neon.vector_contract_to_bfmmla", "arm_neon", _NEON.format("BFMMLA", "NEON, bf16")
    ),
    Skeleton("transform.apply_patterns.arm_neon.vector_contract_to_i8mm", "arm_neon", _NEON.format("I8MM", "NEON, i8")),
    Skeleton(
        "transform.apply_patterns.arm_sve.vector_contract_to_bfmmla", "arm_sve", _NEON.format("BFMMLA", "SVE, bf16")
    ),
    Skeleton("transform.apply_patterns.arm_sve.vector_contract_to_i8mm", "arm_sve", _NEON.format("I8MM", "SVE, i8")),
    Skeleton(
        "transform.dlti.query",
        "dlti",
        "Gives what the data layout or target description at an op says under some keys, as a parameter.",
        operands=_TARGET,
        attributes=(("keys", "ArrayAttr"),),
        results=(Argument("associated_attr", "one"),),
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


def classless_skeletons() -> list[Skeleton]:
    """Return the ops without a Python class that the current context knows."""
    return [s for s in _SKELETONS if ir.Context.current.is_registered_operation(s.name)]
