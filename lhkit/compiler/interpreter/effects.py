"""What a transform op does, asked of the compiler itself: which operands it consumes, whether it only reads.

Effects cannot be queried through the bindings. A pass infers them for the arguments of named sequences, so
each op is put alone into a scratch sequence whose arguments are its operands. Another pass deletes what is
dead: an op without uses whose effects are only to read and to define its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import ir, passmanager
from lhkit.compiler.ir.parsing import walk

_SCRATCH = "__lhkit_effects_"
_CONSUMED, _READONLY = "transform.consumed", "transform.readonly"

UPSTREAM = "transform."


@dataclass(frozen=True, slots=True)
class Effects:
    """What a transform op declares.

    Attributes:
        consumed: Whether it consumes each of its operands.
        only_reads: True if it changes no payload; of upstream ops without regions only.
    """

    consumed: tuple[bool, ...]
    only_reads: bool


def effects_of(home: Any, ops: Sequence[Any]) -> list[Effects]:
    """Return the effects of each op.

    An op is in a sequence of ``home``, or in another module whose symbols ``home`` has. Handles that a
    nested region captures are not operands; the ops inside have effects of their own.
    """
    with ir.Location.unknown():
        copy = home.clone().operation
        modules, copies = _modules(home), _modules(copy)
        # Includes need the declarations of their targets; the pass refuses bodies that have marks already.
        _leave_declarations(copy.regions[0].blocks[0])
        # The symbols in an op are those of the module around it.
        around = [module_around(op) for op in ops]
        homes = [copies[modules.index(m)] if m in modules else copy for m in around]
        places = [h.regions[0].blocks[0] for h in homes]
        scratch = [
            _scratch_sequence(op, f"{_SCRATCH}{i}", place)
            for i, (op, place) in enumerate(zip(ops, places, strict=True))
        ]
    passmanager.PassManager.parse(f"{copy.name}(transform-infer-effects,cse)").run(copy)
    return [
        Effects(_consumed_arguments(sequence)[: len(op.operands)], _only_reads(op, sequence))
        for op, sequence in zip(ops, scratch, strict=True)
    ]


def module_around(op: Any) -> Any:
    """Return the innermost module around an op."""
    while op.name != "builtin.module":
        op = op.parent.operation
    return op


def _modules(home: Any) -> list[Any]:
    return [home, *(op for op in walk(home) if op.name == "builtin.module")]


def _leave_declarations(block: Any) -> None:
    """Replace the named sequences of a module's block by declarations and erase what else is in it."""
    for op in [o.operation for o in block.operations]:
        if op.name == "builtin.module":
            _leave_declarations(op.regions[0].blocks[0])
            continue
        # What lacks marks is included nowhere: the verifier asks for them where a sequence is called.
        if op.name == "transform.named_sequence" and _is_marked(op):
            _declare(op)
        op.erase()


def _is_marked(sequence: Any) -> bool:
    """Return True if a named sequence says of every argument whether it is consumed."""
    arguments = ir.FunctionType(ir.TypeAttr(sequence.attributes["function_type"]).value).inputs
    if "arg_attrs" not in sequence.attributes:
        return not arguments
    marks = (_CONSUMED, _READONLY)
    return all(any(m in ir.DictAttr(a) for m in marks) for a in ir.ArrayAttr(sequence.attributes["arg_attrs"]))


def _declare(sequence: Any) -> None:
    """Put a declaration of a named sequence before it."""
    attributes = {name: sequence.attributes[name] for name in sequence.attributes}
    # A declaration cannot be public, and a private one is not found from the module around.
    attributes["sym_visibility"] = ir.StringAttr.get("nested")
    ir.Operation.create(sequence.name, attributes=attributes, regions=1, ip=ir.InsertionPoint(sequence))


def add_sequence(name: str, types: Sequence[Any], block: Any) -> Any:
    """Add a private named sequence to a block of a module; its body has no terminator yet."""
    sequence = ir.Operation.create(
        "transform.named_sequence",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        },
        regions=1,
        ip=ir.InsertionPoint(block),
    )
    sequence.regions[0].blocks.append(*types)
    return sequence


def _scratch_sequence(op: Any, name: str, block: Any) -> Any:
    captured = _captured(op)
    operands = list(op.operands)
    sequence = add_sequence(name, [v.type for v in (*operands, *captured)], block)
    body = sequence.regions[0].blocks[0]
    clone = op.clone(ip=ir.InsertionPoint(body)).operation
    for i in range(len(operands)):
        clone.operands[i] = body.arguments[i]
    for value, argument in zip(captured, list(body.arguments)[len(operands) :], strict=True):
        for inner in walk(clone):
            inner.replace_uses_of_with(value, argument)
    ir.Operation.create("transform.yield", ip=ir.InsertionPoint(body))
    return sequence


def _captured(op: Any) -> list[Any]:
    """Return the values from outside that the regions of an op use."""
    if not len(op.regions):
        return []
    inner = list(walk(op))
    defined = {r for o in inner for r in o.results}
    defined |= {a for o in (op, *inner) for r in o.regions for b in r.blocks for a in b.arguments}
    return list(dict.fromkeys(v for o in inner for v in o.operands if v not in defined))


def _consumed_arguments(sequence: Any) -> tuple[bool, ...]:
    if "arg_attrs" not in sequence.attributes:
        return ()
    attributes = ir.ArrayAttr(sequence.attributes["arg_attrs"])
    return tuple(_CONSUMED in ir.DictAttr(a) for a in attributes)


def _only_reads(op: Any, scratch: Any) -> bool:
    """Return True if an op was dead in its scratch sequence, and can be believed.

    What an op with a region does is up to the ops inside, and ops from elsewhere may declare anything.
    """
    left = list(scratch.regions[0].blocks[0].operations)
    return len(left) == 1 and op.name.startswith(UPSTREAM) and not len(op.regions)
