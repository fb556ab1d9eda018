"""Looks at a payload between changes: what is created, erased, changed and moved."""

import pytest

from lhkit.compiler.interpreter import op_identity
from lhkit.compiler.interpreter.op_identity import Identities
from lhkit.compiler.interpreter.payload_walk import WORDS, BoundWalk, address, native_walk
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.model.trace_record import PayloadDelta

BRANCHES = """
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  return
^b:
  return
}"""
NESTED = "module { module @inner { func.func private @g() } module @last {} }"


@pytest.fixture(params=["bindings", "machine code"])
def seen(request, monkeypatch):
    """Parse a text and look at it once; returns identities, the root, and the ops in order."""
    assert native_walk() is not None
    monkeypatch.setattr(op_identity, "MOST_WITHOUT", -1 if request.param == "machine code" else 1e9)
    with new_context():

        def start(text):
            module = ir.Module.parse(text)
            identities = Identities(Names(()))
            delta, made = identities.look([module.operation])
            ops = []
            module.operation.walk(lambda op: ops.append(op) or ir.WalkResult.ADVANCE, ir.WalkOrder.PRE_ORDER)
            assert delta.created == tuple(f"o{i}" for i in range(len(ops))) and len(made) == len(ops)
            assert identities.look([module.operation]) is None
            return identities, module.operation, ops

        yield start


def delta_after(identities, root):
    """Return what the next look finds."""
    delta, _ = identities.look([root])
    assert identities.look([root]) is None
    return delta


def test_both_walks_see_the_same_ops():
    """More than there is room for at first; roots one after the other."""
    many = "".join(f"func.func private @f{i}()\n" for i in range(5000))
    with new_context():
        roots = [ir.Module.parse(text) for text in (many, NESTED, BRANCHES)]
        ops = [root.operation for root in roots]
        one, other = BoundWalk().words(ops), native_walk().words(ops)
        assert len(one) > 5000 * WORDS
        assert one[::WORDS] == other[::WORDS] and one[1::WORDS] == other[1::WORDS]
        hashes = [native_walk().hash_of(op_identity.op_at(at)) for at in one[::WORDS]]
        assert hashes == other[2::WORDS].tolist()


def test_an_attribute(seen):
    identities, root, ops = seen(BRANCHES)
    ops[1].attributes["mark"] = ir.UnitAttr.get()
    assert delta_after(identities, root) == PayloadDelta(changed=("o1",))


def test_other_successors_are_a_change(seen):
    identities, root, ops = seen(BRANCHES)
    branch = ops[2]
    first, second = branch.successors
    swapped = ir.Operation.create(
        "cf.cond_br",
        operands=list(branch.operands),
        attributes={"operandSegmentSizes": branch.attributes["operandSegmentSizes"]},
        successors=[second, first],
        loc=branch.location,
        ip=ir.InsertionPoint(branch),
    )
    branch.erase()
    delta, made = identities.look([root])
    assert delta.created == ("o5",) and delta.erased == ("o2",) and not delta.changed
    assert made == [("o5", "cf.cond_br", "o1", ("o2",), None)]
    assert identities.id_at(address(swapped)) == "o5"


def test_an_equal_op_in_the_place_of_another_is_a_new_one(seen):
    """Nothing of a return without operands tells it from another but its address."""
    identities, root, ops = seen("func.func @f() { return }")
    old = ops[2]
    new = ir.Operation.create("func.return", loc=old.location, ip=ir.InsertionPoint(old))
    old.erase()
    delta, made = identities.look([root])
    assert delta == PayloadDelta(created=("o3",), erased=("o2",)) and made[0][3] == ("o2",)
    assert identities.id_at(address(new)) == "o3"


def test_another_parent_is_a_move_where_the_order_stays(seen):
    identities, root, ops = seen(NESTED)
    names = [op.name for op in ops]
    assert names == ["builtin.module", "builtin.module", "func.func", "builtin.module"]
    ops[2].move_before(ops[3])
    assert delta_after(identities, root) == PayloadDelta(moved=("o2",))
    assert identities.parent_of(address(ops[2])) == address(root)


def test_another_order_is_the_fewest_moves(seen):
    text = "func.func private @a()\nfunc.func private @b()\nfunc.func private @c()\n"
    identities, root, ops = seen(text)
    ops[1].move_after(ops[3])
    assert delta_after(identities, root) == PayloadDelta(moved=("o1",))


def test_a_new_operand_in_the_memory_of_the_old_one_is_a_change(seen):
    """The hash of a user covers addresses of operands only, and an erased op's address may be used again."""
    identities, root, ops = seen("func.func @f() -> i32 { %a = arith.constant 1 : i32 return %a : i32 }")
    old, at = ops[2], address(ops[2])

    def constant():
        attributes = {"value": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)}
        place = ir.InsertionPoint(ops[3])
        return ir.Operation.create("arith.constant", results=[old_type], attributes=attributes, ip=place)

    old_type = old.results[0].type
    with ir.Location.unknown(root.context):
        between = constant()
        old.results[0].replace_all_uses_with(between.results[0])
        old.erase()
        others = [constant() for _ in range(50)]
        new = next((op for op in others if address(op) == at), others[0])
        between.results[0].replace_all_uses_with(new.results[0])
        for op in (between, *others):
            if op != new:
                op.erase()
    delta = delta_after(identities, root)
    assert address(new) == at and delta.erased == ("o2",) and delta.changed == ("o3",)
