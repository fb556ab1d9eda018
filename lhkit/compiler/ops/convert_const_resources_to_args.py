"""``lhkit.convert_const_resources_to_args``: constants whose data is a resource become function arguments.

The data stays with the payload, by the names of the resources, which the new arguments keep as attributes.
Each constant has a role: the contraction or convolution (anchor) that it leads to or follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import (
    NAME_MARK,
    RESOURCE_MARK,
    called_by,
    callees_first,
    calls_of,
    function_type,
    functions_in,
    other_references,
    symbol_name,
)
from lhkit.compiler.ir.parsing import span_of, walk
from lhkit.compiler.ir.resource_constants import resource_of
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")

_SUMS = ("arith.addf", "arith.addi", "arith.ori", "complex.add")
_PRODUCTS = ("arith.mulf", "arith.muli", "arith.andi", "complex.mul")
_FUSED = "math.fma"


@dataclass(frozen=True, slots=True)
class Anchor:
    """An op that multiplies elements of two operands and adds the products up.

    Attributes:
        kind: ``matmul``, ``batch_matmul``, ``matvec``, ``dot`` or ``conv``.
        slots: What each operand is to it: ``A`` and ``B``, whose elements are multiplied; ``C``, to which the
            products are added; ``scale`` for what else it reads.
    """

    kind: str
    slots: tuple[str, ...]


def find_anchor(op: Any) -> Anchor | None:
    """Return what an op multiplies and adds up, by its indexing maps and its body; None if it does not.

    Named ops and ``linalg.generic`` are the same here. Of a product of matrices, ``A`` is the operand whose
    own dimension comes first in the result; of a convolution, the image.
    """
    if not op.name.startswith("linalg.") or len(op.regions) != 1:
        return None
    attribute = _linalg.get_indexing_maps(op)
    if attribute is None:
        return None
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(attribute)]
    block = op.regions[0].blocks[0]
    multiplied = _multiplied(block, maps)
    if multiplied is None or len(op.operands) != len(maps):
        return None
    first, second = multiplied
    kind, is_swapped = _kind(maps[first], maps[second], maps[-1])
    if kind is None:
        return None
    if is_swapped:
        first, second = second, first
    slots = ["scale"] * (len(maps) - 1) + ["C"]
    slots[first], slots[second] = "A", "B"
    return Anchor(kind, tuple(slots))


def _multiplied(block: Any, maps: Sequence[Any]) -> tuple[int, int] | None:
    """Return which two operands' elements are multiplied and added to the result so far, in order."""
    into = len(maps) - 1
    summed = _through_casts(list(block.operations)[-1].operands[0])
    op = _defining(summed, block)
    if op is None or op.name not in (*_SUMS, _FUSED):
        return None
    if op.name == _FUSED:
        sums = [(_through_casts(op.operands[2]), op)]
    else:
        left, right = (_through_casts(v) for v in op.operands)
        sums = [(left, _defining(right, block)), (right, _defining(left, block))]
    product = next((product for added, product in sums if _argument(added, block) == into), None)
    if product is None or product.name not in (*_PRODUCTS, _FUSED):
        return None
    first, second = (_widest(_reads(v, block), maps) for v in list(product.operands)[:2])
    if first is None or second is None or first == second or into in (first, second):
        return None
    return min(first, second), max(first, second)


def _through_casts(value: Any) -> Any:
    """Return what a value is converted from: ops of one operand do not matter."""
    while isinstance(value.owner, ir.Operation | ir.OpView) and len(value.owner.operands) == 1:
        value = value.owner.operands[0]
    return value


def _defining(value: Any, block: Any) -> Any:
    """Return the op in a block that defines a value, None for arguments and what comes from outside."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    return owner.operation if owner.operation.block == block else None


def _argument(value: Any, block: Any) -> int | None:
    if isinstance(value, ir.BlockArgument) and value.owner == block:
        return int(ir.BlockArgument(value).arg_number)
    return None


def _reads(value: Any, block: Any) -> set[int]:
    """Return the arguments of a block that a value is computed from."""
    if (number := _argument(value, block)) is not None:
        return {number}
    op = _defining(value, block)
    return set().union(*(_reads(v, block) for v in op.operands)) if op is not None else set()


def _widest(arguments: set[int], maps: Sequence[Any]) -> int | None:
    """Return the argument of most dimensions: the others are zero points and the like."""
    return max(sorted(arguments), key=lambda a: len(list(maps[a].results)), default=None)


def _kind(first: Any, second: Any, result: Any) -> tuple[str | None, bool]:
    """Return the kind of an anchor by the maps of its factors and its result; True if they are swapped."""
    plain = ir.AffineDimExpr | ir.AffineConstantExpr
    windows = [any(not isinstance(e, plain) for e in m.results) for m in (first, second)]
    one, two, out = (_dimensions(m.results) for m in (first, second, result))
    if not {*one, *two} - {*out}:
        return None, False  # nothing is added up
    if any(windows):
        return "conv", windows[1] and not windows[0]
    if not {*one} & {*two} - {*out}:
        return None, False
    own = [[out.index(d) for d in out if d in a and d not in b] for a, b in ((one, two), (two, one))]
    if not all(own):
        return ("matvec" if any(own) else "dot"), False
    batch = {*one} & {*two} & {*out}
    return ("batch_matmul" if batch else "matmul"), min(own[1]) < min(own[0])


def _dimensions(expressions: Iterable[Any]) -> list[int]:
    """Return the dimensions that affine expressions use, in order."""
    found: list[int] = []
    for each in expressions:
        if isinstance(each, ir.AffineDimExpr):
            found.append(ir.AffineDimExpr(each).position)
        elif isinstance(each, ir.AffineBinaryExpr):
            binary = ir.AffineBinaryExpr(each)
            found += _dimensions([binary.lhs, binary.rhs])
    return found


# In the order in which constants of one anchor become arguments.
SLOTS = ("prologue", "A", "B", "scale", "C", "epilogue")
# Their results say how large something is, not what is in it.
_SHAPES = ("tensor.dim", "memref.dim", "tensor.empty", "shape.shape_of")


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """What a constant is for; roles are ordered as the constants become arguments.

    Attributes:
        anchor: Where its anchor stands among the ops of the function.
        slot: What it is to the anchor, as an index of `SLOTS`; for calls the argument.
        user: Where the op stands that it is combined with the anchor's data by.
        name: ``matmul_0_B``.
    """

    anchor: int
    slot: int
    user: int
    name: str


@dataclass(frozen=True, slots=True)
class Callee:
    """A function as its callers see it: the name of each argument, and whether it has anchors."""

    names: tuple[str | None, ...]
    has_anchors: bool


# What a value is computed from: the position of the last anchor before it, or one of these if there is none.
_CONSTANTS, _DATA = -2, -1


class Roles:
    """The data flow of a function, read once; the function is not changed in the meantime."""

    def __init__(self, function: Any, callees: Mapping[str, Callee]) -> None:
        self._callees = callees
        self._ops = list(walk(function))
        self._positions = {op: i for i, op in enumerate(self._ops)}
        self._anchors: dict[int, tuple[str, Anchor]] = {}
        self._upstream: dict[Any, int] = {}
        counts: Counter[str] = Counter()
        for i, op in enumerate(self._ops):
            if anchor := find_anchor(op):
                self._anchors[i] = (f"{anchor.kind}_{counts[anchor.kind]}", anchor)
                counts[anchor.kind] += 1
        for block in function.regions[0].blocks:
            for argument in block.arguments:
                self._upstream[argument] = _CONSTANTS if _is_shape(argument) else _DATA
            self._look_at(block)

    @property
    def has_anchors(self) -> bool:
        """True if the function multiplies and adds up anything, or calls one that does."""
        return bool(self._anchors) or any(c.has_anchors for op in self._ops if (c := self._callee(op)))

    def role_of(self, value: Any) -> Role | None:
        """Return what a constant or argument of the function is for: the first of several roles, or None."""
        found: list[Role] = []
        open_values = [(value, False)]
        seen = set(open_values)
        while open_values:
            at, is_merged = open_values.pop()
            for use in at.uses:
                user, operand = use.owner.operation, use.operand_number
                role, merges = self._role_at(user, operand, is_merged)
                if role is not None:
                    found.append(role)
                    continue
                for result in _leads_to(user, operand):
                    if (following := (result, is_merged or merges)) not in seen:
                        seen.add(following)
                        open_values.append(following)
        return min(found, default=None)

    def _role_at(self, user: Any, operand: int, is_merged: bool) -> tuple[Role | None, bool]:
        """Return the role that a use gives, or None and whether other data takes part in the op."""
        position = self._positions[user]
        if position in self._anchors:
            name, anchor = self._anchors[position]
            slot = "prologue" if is_merged else anchor.slots[operand]
            return Role(position, SLOTS.index(slot), position, f"{name}_{slot}"), False
        if (callee := self._callee(user)) is not None and (inner := callee.names[operand]) is not None:
            return Role(position, operand, position, f"{called_by(user)}_{inner}"), False
        if len(user.successors) or _is_structured(user) or _is_terminator(user):
            return None, False  # its operands are not combined with each other
        others = self._upstream_of(value for i, value in enumerate(user.operands) if i != operand)
        if others > _DATA:
            named = self._anchors.get(others)
            name = named[0] if named else str(called_by(self._ops[others]))
            return Role(others, SLOTS.index("epilogue"), position, f"{name}_epilogue"), False
        return None, others == _DATA

    def _callee(self, op: Any) -> Callee | None:
        return self._callees.get(called_by(op) or "")

    def _upstream_of(self, values: Iterable[Any]) -> int:
        return max((self._upstream.get(v, _CONSTANTS) for v in values), default=_CONSTANTS)

    def _look_at(self, block: Any) -> int:
        """Note what the values of a block are computed from; return what all of them are together."""
        together = _CONSTANTS
        for view in block.operations:
            op = view.operation
            into = self._upstream_of(op.operands)
            for region in op.regions:
                for inner in region.blocks:
                    for argument in inner.arguments:
                        self._upstream[argument] = _CONSTANTS if _is_shape(argument) else into
                    into = max(into, self._look_at(inner))
            out = _CONSTANTS if op.name in _SHAPES else into
            callee = self._callee(op)
            if self._positions[op] in self._anchors or (callee is not None and callee.has_anchors):
                out = self._positions[op]
            for result in op.results:
                self._upstream[result] = _CONSTANTS if _is_shape(result) else out
            together = max(together, out)
        return together


def _is_shape(value: Any) -> bool:
    return isinstance(value.type, ir.IndexType)


def _is_structured(op: Any) -> bool:
    """Return True for control flow with regions, such as loops."""
    return len(op.regions) > 0 and not op.name.startswith("linalg.")


def _is_terminator(op: Any) -> bool:
    return not len(op.results) and bool(op == list(op.block.operations)[-1].operation)


def _leads_to(op: Any, operand: int) -> Sequence[Any]:
    """Return the values that an op passes an operand on to."""
    if op.name == "func.return":
        return ()
    if len(op.successors):
        return [argument for block in op.successors for argument in block.arguments]
    if _is_terminator(op):
        around = op.parent.operation
        results = list(around.results)
        inside = _carried(around, operand - len(results)) if _is_structured(around) else []
        return [*(results[operand : operand + 1] or results), *inside]
    if _is_structured(op):
        # Carried values come last among the operands; the results are their final values.
        back = operand - len(op.operands)
        return [*(list(op.results)[back:][:1] or op.results), *_carried(op, back)]
    return list(op.results)


def _carried(op: Any, back: int) -> list[Any]:
    """Return the arguments in the body of an op that stand so many places from the end, or all others' too."""
    found: list[Any] = []
    for arguments in [list(block.arguments) for region in op.regions for block in region.blocks]:
        found += [arguments[back]] if -len(arguments) <= back < 0 else arguments
    return found


_C_INTERFACE = "llvm.emit_c_interface"
_MOST_NAMED = 4


@transform_op("lhkit.convert_const_resources_to_args")
def convert_const_resources_to_args(target: Ops, *, append_untied: bool = False, rewriter: Rewriter) -> Ops:
    """Turn tensors whose data is a resource (``dense_resource``) into arguments of their functions.

    The arguments are appended in the order of the ops that multiply and add up, the anchors: what is combined
    with the data of the first before it (``matmul_0_prologue``), its operands (``matmul_0_A``,
    ``matmul_0_B``), what it adds to (``matmul_0_C``), what is combined with its result
    (``matmul_0_epilogue``), then those of the next. Anchors are products of matrices and vectors, and
    convolutions, named or ``linalg.generic`` (``matmul``, ``batch_matmul``, ``matvec``, ``dot``, ``conv``);
    transposes, reshapes, casts, packs and broadcasts in between do not matter. Several constants with one
    resource become one argument. The names stand at the arguments as ``lhkit.name``, those of the resources
    as ``lhkit.resource``; the functions get ``llvm.emit_c_interface``. Where one function calls another, the
    arguments are handed on. A second application finds nothing to do.

    Args:
        target: Modules, or functions (``func.func``).
        append_untied: Append constants that lead to no anchor, in program order, as ``constant_0``, …;
            otherwise they are an error.
        rewriter: How the payload is changed.

    Returns:
        The functions of the target that have a body.

    Raises:
        SilenceableError: A constant leads to no anchor; a function that gets arguments is recursive, or
            referred to otherwise than by calls.
    """
    functions = [f for op in target for f in functions_in(op.operation)]
    ordered, recursive = callees_first(functions)
    _check(ordered, recursive, append_untied)
    callees: dict[str, Callee] = {}
    for function in ordered:
        _convert(function, Roles(function, callees), rewriter)
        callees[symbol_name(function)] = _as_callee(function, Roles(function, callees))
    return functions


def _check(ordered: Sequence[Any], recursive: Sequence[Any], append_untied: bool) -> None:
    """Refuse what cannot be converted, before anything is changed."""
    for function in _that_get_arguments(ordered):
        name = symbol_name(function)
        if function in recursive:
            raise SilenceableError(f"@{name} calls itself, and cannot be given arguments", at=function)
        if others := other_references(function):
            notes = [(f"{op.name} refers to it", op) for op in others]
            message = f"@{name} is not only called, and cannot be given arguments"
            raise SilenceableError(message, function, notes)
    callees: dict[str, Callee] = {}
    for function in ordered:
        roles = Roles(function, callees)
        callees[symbol_name(function)] = _as_callee(function, roles)
        untied = [c for c in _constants(function) if roles.role_of(c.results[0]) is None]
        if untied and not append_untied:
            raise _untied_error(function, untied)


def _that_get_arguments(functions: Sequence[Any]) -> list[Any]:
    """Return the functions that have constants, or call others that do."""
    calls = {symbol_name(f): {called_by(op) for op in walk(f)} for f in functions}
    getting = {symbol_name(f) for f in functions if _constants(f)}
    while more := {n for n, called in calls.items() if n not in getting and called & getting}:
        getting |= more
    return [f for f in functions if symbol_name(f) in getting]


def _untied_error(function: Any, constants: Sequence[Any]) -> SilenceableError:
    first = constants[0]
    users = list(dict.fromkeys(use.owner.operation for use in first.results[0].uses))
    named = ", ".join(_with_line(op) for op in users[:_MOST_NAMED]) or "nothing"
    more = f" and {len(users) - _MOST_NAMED} more" if len(users) > _MOST_NAMED else ""
    message = (
        f"the constant {resource_of(first)} of @{symbol_name(function)} leads to no product of matrices and no"
        f" convolution; it is used by {named}{more}. With append_untied = true it becomes an argument after the"
        " others"
    )
    notes = [(f"used here by {op.name}", op) for op in users[:_MOST_NAMED]]
    notes += [(f"the constant {resource_of(c)} leads to none either", c) for c in constants[1:]]
    return SilenceableError(message, first, notes)


def _with_line(op: Any) -> str:
    span = span_of(op.location)
    return op.name if span is None else f"{op.name} (line {span.line})"


def _constants(function: Any) -> list[Any]:
    """Return the tensors of a function whose data is a resource; a vector is no argument that has a buffer."""
    found = (op for op in walk(function) if resource_of(op) is not None)
    return [op for op in found if isinstance(op.results[0].type, ir.RankedTensorType)]


def _as_callee(function: Any, roles: Roles) -> Callee:
    names: list[str | None] = []
    for argument, marks in zip(function.regions[0].blocks[0].arguments, _marks(function), strict=True):
        role = None if NAME_MARK in marks else roles.role_of(argument)
        names.append(role.name if role else _name_in(marks))
    return Callee(tuple(names), roles.has_anchors)


def _name_in(marks: Mapping[str, Any]) -> str | None:
    return ir.StringAttr(marks[NAME_MARK]).value if NAME_MARK in marks else None


def _convert(function: Any, roles: Roles, rewriter: Rewriter) -> None:
    """Replace the constants of a function by arguments, and hand constants on from its callers."""
    constants = _constants(function)
    if not constants:
        return
    # Several constants with one resource are one argument, with the first of their roles.
    shared: dict[str, list[Any]] = {}
    for op in constants:
        shared.setdefault(str(op.attributes["value"]), []).append(op)
    tied: list[tuple[Role, list[Any]]] = []
    untied: list[list[Any]] = []
    for ops in shared.values():
        if found := [role for op in ops if (role := roles.role_of(op.results[0]))]:
            tied.append((min(found), ops))
        else:
            untied.append(ops)
    named = [(role.name, ops) for role, ops in sorted(tied, key=lambda t: t[0])]
    named += [(f"constant_{i}", ops) for i, ops in enumerate(untied)]
    values = [ops[0].attributes["value"] for _, ops in named]
    _append(function, named, rewriter)
    for call in calls_of(function):
        _hand_on(call, values, rewriter)


def _append(function: Any, named: Sequence[tuple[str, Sequence[Any]]], rewriter: Rewriter) -> None:
    block = function.regions[0].blocks[0]
    marks = _marks(function)
    taken = {_name_in(m) for m in marks}
    for wanted, ops in named:
        names = (wanted, *(f"{wanted}_{number}" for number in range(1, len(taken) + 1)))
        name = next(n for n in names if n not in taken)
        taken.add(name)
        place = ir.Location.name(name, childLoc=ops[0].location)
        argument = block.add_argument(ops[0].results[0].type, place)
        resource = ir.StringAttr.get(resource_of(ops[0]))
        marks.append({NAME_MARK: ir.StringAttr.get(name), RESOURCE_MARK: resource})
        for op in ops:
            op.results[0].replace_all_uses_with(argument)
            rewriter.erase(op)
    type_ = function_type(function)
    inputs = [a.type for a in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, list(type_.results)))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(m) for m in marks])
    function.attributes[_C_INTERFACE] = ir.UnitAttr.get()


def _marks(function: Any) -> list[dict[str, Any]]:
    """Return the attributes of each argument of a function."""
    if "arg_attrs" not in function.attributes:
        return [{} for _ in function_type(function).inputs]
    listed = ir.ArrayAttr(function.attributes["arg_attrs"])
    return [{entry.name: entry.attr for entry in ir.DictAttr(a)} for a in listed]


def _hand_on(call: Any, values: Sequence[Any], rewriter: Rewriter) -> None:
    """Give a call more operands: constants of its function, which become arguments of that in turn."""
    with rewriter.before(call):
        made = [ir.Operation.create("arith.constant", [v.type], [], {"value": v}) for v in values]
        attributes = {n: call.attributes[n] for n in call.attributes}
        operands = [*call.operands, *(op.result for op in made)]
        new = ir.Operation.create("func.call", [r.type for r in call.results], operands, attributes)
    rewriter.replace(call, new)
