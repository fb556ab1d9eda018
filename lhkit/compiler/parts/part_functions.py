"""Parts of a function as functions of their own, which it calls; equal parts are one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.interpreter.application import parse_payload
from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.compiler.ir.functions import called_by, function_ops, functions_of, symbol_name
from lhkit.compiler.ir.parsing import span_of, walk
from lhkit.compiler.parts.part_groups import Group, groups_of, is_copied, users_of
from lhkit.model.errors import usage_error
from lhkit.worker.requests import CutParts, PartAnswer, PartCut

_func: Any = host_module("dialects.func")
_UNNAMED = "part"  # Until it is known that no equal part is there


def cut_parts(request: CutParts) -> PartAnswer:
    """Return a payload whose function calls its parts, and the parts.

    Raises:
        UsageError: The function has branches, or nothing that makes a part.
    """
    with new_context():
        module = parse_payload(request.payload)
        function = next(f for f in function_ops(module) if symbol_name(f) == request.function)
        if len(function.regions[0].blocks) != 1:
            what = f"@{request.function} of {request.payload.name} has branches"
            raise usage_error(f"{what}: parts are cut from straight lines of ops on tensors")
        cutter = _Cutter(module, function)
        cutter.cut()
        if not cutter.parts:
            what = f"@{request.function} of {request.payload.name} has no op on tensors that makes a part"
            raise usage_error(what, "Parts are made of ops of linalg and tensor.")
        cuts = []
        for part in cutter.parts.values():
            alone = ir.Module.parse("module {}")
            alone.body.append(part.function.clone())
            del next(function_ops(alone)).attributes["sym_visibility"]
            cuts.append(
                PartCut(
                    name=part.name,
                    kind=part.kind,
                    text=str(alone),
                    functions=functions_of(ir.Module.parse(str(alone))),
                    ops=part.ops,
                    calls=tuple(part.calls),
                )
            )
        order = [called_by(op) for op in walk(cutter.function)]
        return PartAnswer(
            text=str(module),
            functions=functions_of(module),
            parts=tuple(cuts),
            order=tuple(name for name in order if name in {part.name for part in cutter.parts.values()}),
        )


@dataclass
class _Part:
    name: str
    kind: str
    function: Any
    ops: tuple[str, ...]  # Names of its ops, without those that every part may have
    calls: list[tuple[int, ...]]  # Of each call the lines of its ops


class _Cutter:
    """Rewrites a function as calls of its parts."""

    def __init__(self, module: Any, function: Any) -> None:
        self.module, self.function = module, function
        self.parts: dict[str, _Part] = {}  # By the text of their functions; those that were there, by name
        self._taken = {symbol_name(f) for f in function_ops(module)}
        self._values: dict[Any, Any] = {}  # Of the function as it was → as it becomes

    def cut(self) -> None:
        """Make the parts, and the function anew with calls of them."""
        block = self.function.regions[0].blocks[0]
        ops = [op.operation for op in block.operations]
        group_of = {op: group for group in groups_of(block) for op in group.ops}
        with ir.InsertionPoint(self.function), self.function.location:
            copy = ir.Operation.create(
                "func.func",
                [],
                [],
                {n: self.function.attributes[n] for n in self.function.attributes},
                regions=1,
            )
        types = [a.type for a in block.arguments]
        new_block = copy.regions[0].blocks.append(*types, arg_locs=[a.location for a in block.arguments])
        self._values = dict(zip(block.arguments, new_block.arguments, strict=True))
        with ir.InsertionPoint(new_block):
            for item in _in_order(ops, group_of):
                if isinstance(item, Group):
                    self._call(item)
                    continue
                self._take_callee(item)
                copy_into(item, self._values)
        self.function.erase()
        _drop_unused(new_block)
        self.function = copy

    def _take_callee(self, call: Any) -> None:
        """Make a part of a private function on tensors that is called and calls no other."""
        name = called_by(call)
        function = next((f for f in function_ops(self.module) if symbol_name(f) == name), None)
        if name is None or function is None or len(function.regions[0].blocks) != 1:
            return
        is_alone = all("callee" not in op.attributes and "global" not in op.name for op in walk(function))
        groups = groups_of(function.regions[0].blocks[0])
        if name not in self.parts:
            if not groups or not is_alone or "sym_visibility" not in function.attributes:
                return
            ops = tuple(op.name for group in groups for op in group.ops)
            kinds = {kind for group in groups for kind in group.kinds}
            self.parts[name] = _Part(name, Group([], kinds).kind, function, ops, [])
        self.parts[name].calls.append(tuple(s.line for s in [span_of(call.location)] if s))

    def _call(self, group: Group) -> None:
        given, gives = _inputs(group), _outputs(group)
        where = group.ops[-1].location
        with ir.InsertionPoint(self.function), where:
            part = _func.FuncOp(
                _UNNAMED, ([v.type for v in given], [v.type for v in gives]), visibility="private"
            )
            body = part.add_entry_block()
        values = dict(zip(given, body.arguments, strict=True))
        with ir.InsertionPoint(body), where:
            for op in group.ops:
                for operand in _operands(op):
                    copy_cheap(operand, values)
                copy_into(op, values)
            _func.ReturnOp([values[v] for v in gives])
        text = str(part)
        if text in self.parts:
            part.erase()
        else:
            name = next(n for i in range(len(self.parts), 1 << 20) if (n := f"part_{i}") not in self._taken)
            self._taken.add(name)
            part.attributes["sym_name"] = ir.StringAttr.get(name)
            named = tuple(o.name for o in group.ops)
            self.parts[text] = _Part(name, group.kind, part.operation, named, [])
        found = self.parts[text]
        found.calls.append(tuple(s.line for o in group.ops if (s := span_of(o.location))))
        with where:
            call = _func.CallOp([v.type for v in gives], found.name, [self._values[v] for v in given])
        self._values.update(zip(gives, call.results, strict=True))


def _in_order(ops: Sequence[Any], group_of: dict[Any, Group]) -> list[Any]:
    """Return the ops in no group, and each group as a whole, so that each comes after what it reads."""
    needs: dict[Any, list[Any]] = {}
    of = {op: group_of.get(op, op) for op in ops}
    known = {*ops}
    for op in ops:
        item = of[op]
        owners = [o.owner for o in _operands(op) if isinstance(o, ir.OpResult)]
        before = [of[o.operation] for o in owners if o.operation in known]
        needs.setdefault(item, []).extend(b for b in before if b is not item)
    ordered: list[Any] = []
    done: set[Any] = set()
    for item in dict.fromkeys(of.values()):
        stack = [item]
        while stack:
            top = stack[-1]
            missing = [n for n in needs[top] if n not in done]
            if not missing:
                stack.pop()
                if top not in done:
                    done.add(top)
                    ordered.append(top)
            else:
                stack.extend(missing)
    return ordered


def _operands(op: Any) -> list[Any]:
    """Return what an op reads from around it, in its regions too, each once."""
    inside = list(walk(op))
    own = {r for each in inside for r in each.results}
    own |= {a for each in (op, *inside) for region in each.regions for b in region for a in b.arguments}
    return list(dict.fromkeys(v for each in (op, *inside) for v in each.operands if v not in own))


def _inputs(group: Group) -> list[Any]:
    """Return what a group reads that is handed to it, each once."""
    found: dict[Any, None] = {}

    def take(value: Any) -> None:
        owner = value.owner.operation if isinstance(value, ir.OpResult) else None
        if owner is not None and owner in inside:
            return
        if owner is not None and is_copied(owner):
            for operand in _operands(owner):
                take(operand)
        else:
            found[value] = None

    inside = {*group.ops}
    for op in group.ops:
        for operand in _operands(op):
            take(operand)
    return list(found)


def _outputs(group: Group) -> list[Any]:
    inside = {*group.ops}
    return [r for op in group.ops for r in op.results if any(u not in inside for u in users_of(r, op.block))]


def copy_cheap(value: Any, values: dict[Any, Any]) -> None:
    """Copy what computes a value here, if it is not there yet."""
    if value in values or not isinstance(value, ir.OpResult):
        return
    owner = value.owner.operation
    if is_copied(owner):
        for operand in _operands(owner):
            copy_cheap(operand, values)
        copy_into(owner, values)


def copy_into(op: Any, values: dict[Any, Any]) -> Any:
    """Copy an op here, with what it reads replaced; note its results."""
    copy = op.clone()
    for each in (copy, *walk(copy)):
        for i, operand in enumerate(each.operands):
            if (other := values.get(operand)) is not None:
                each.operands[i] = other
    values.update(zip(op.results, copy.results, strict=True))
    return copy


def _drop_unused(block: Any) -> None:
    """Erase cheap ops that only parts read, which have their own."""
    for op in reversed([o.operation for o in block.operations]):
        if is_copied(op) and op.results and not any(True for r in op.results for _ in r.uses):
            op.erase()
