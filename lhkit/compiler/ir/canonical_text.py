"""Canonical text of a payload: its ops and types, without names, places, comments and data."""

from __future__ import annotations

import re

from lhkit.compiler.interpreter.application import parse_payload
from lhkit.compiler.ir.bindings import ir, passmanager
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.functions import NAME_MARK, RESOURCE_MARK, function_ops, symbol_name
from lhkit.worker.requests import Source

# Constants with more elements are weights: a schedule does not depend on their values.
_MOST_ELEMENTS = 256
# The names that arguments had as constants.
_NAME_MARKS = re.compile(rf'(?:{re.escape(NAME_MARK)}|{re.escape(RESOURCE_MARK)}) = "(?:[^"\\]|\\.)*"(?:, )?')
_NO_MARKS = re.compile(r"arg_attrs = \[\{\}(?:, \{\})*\], ")
_RESOURCE = re.compile(r"dense_resource<[^>]*>")


def canonical_text(source: Source) -> str:
    """Return a payload in MLIR's generic form, in which the printer itself names values, regions and types.

    Functions with a body are numbered in their order; declarations keep their names, which say what is called.
    """
    with reused_context(), ir.Location.unknown():
        module = parse_payload(source)
        root = module.operation
        passmanager.PassManager.parse("any(strip-debuginfo)").run(root)
        for name in ("sym_name", "transform.with_named_sequence"):
            if name in root.attributes:
                del root.attributes[name]
        functions = [symbol_name(f) for f in function_ops(module) if len(f.regions[0].blocks)]
        text = root.get_asm(
            print_generic_op_form=True,
            use_local_scope=True,
            enable_debug_info=False,
            large_elements_limit=_MOST_ELEMENTS,
        )
    numbers = {name: f"f{number}" for number, name in enumerate(functions)}
    if numbers:
        any_of = "|".join(map(re.escape, sorted(numbers, key=len, reverse=True)))
        symbol = re.compile(rf'(@|sym_name = )"?({any_of})(?![\w$.-])"?')
        text = symbol.sub(lambda m: m[1] + numbers[m[2]], text)
    text = _NO_MARKS.sub("", _NAME_MARKS.sub("", text.partition("\n{-#")[0]))
    return _RESOURCE.sub("dense_resource<>", text)
