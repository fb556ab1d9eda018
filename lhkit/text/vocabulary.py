"""The few words that the reader of schedules has to know; all else it sees from the brackets."""

from __future__ import annotations

# Ops that are written without a dialect; elsewhere such words are keywords.
BARE_NAMES = {"module": "builtin.module", "return": "func.return", "call": "func.call", "func": "func.func"}
# Names that once were written without a dialect: those of the standard dialect in functions, and those of
# transform in the regions of its ops. Only what may begin a line: behind "=" any word is one.
OLD_NAMES = frozenset(
    (
        "call_indirect",
        "br",
        "cond_br",
        "switch",
        "store",
        "dealloc",
        "assert",
        "tensor_store",
        "linalg_yield",
        "sequence",
        "with_pdl_patterns",
        "foreach",
        "alternatives",
        "yield",
        "print",
        "include",
        "apply_patterns",
        "annotate",
        "test_print_remark_at_operand",
        "test_print_param",
        "test_print_number_of_associated_payload_ir_ops",
        "test_consume_operand",
        "bufferize",
    )
)
# In the region of a transform.sequence, and only there, ops may leave out the dialect.
SHORT_NAMES = (
    "alternatives",
    "annotate",
    "apply_conversion_patterns",
    "apply_cse",
    "apply_dce",
    "apply_licm",
    "apply_patterns",
    "apply_registered_pass",
    "cast",
    "collect_matching",
    "foreach",
    "foreach_match",
    "get_consumers_of_result",
    "get_defining_op",
    "get_operand",
    "get_parent_op",
    "get_producer_of_operand",
    "get_result",
    "get_type",
    "include",
    "merge_handles",
    "num_associations",
    "payload",
    "print",
    "replicate",
    "select",
    "sequence",
    "split_handle",
    "verify",
    "yield",
)
CONNECTORS = {"=", ",", ":", "->", "<", "-", "+", "*", "|", "?", "::"}
# What may stand behind ``%i =`` in a loop's head and is no op.
NO_OPS = {"max", "min", "dense", "affine_map", "affine_set", "true", "false", "unit"}
# Ops whose braces hold a region where the braces alone do not tell, as in ``{}``.
REGION_HOLDERS = (
    "builtin.module",
    "func.func",
    "transform.named_sequence",
    "transform.sequence",
    "transform.foreach",
    "transform.alternatives",
    "transform.tune.alternatives",
    "transform.apply_patterns",
    "transform.apply_conversion_patterns",
    "transform.with_pdl_patterns",
    "linalg.reduce",
    "linalg.map",
)
TERMINATORS = (".yield", ".return")
# The last colon of these belongs to an attribute: their types begin at the arrow.
TYPED_BY_ARROW = ("transform.tune.knob", "transform.param.constant")
