"""What transform ops declare: consumed operands, and whether they leave the payload alone."""

from lhkit.compiler.interpreter import probes
from lhkit.compiler.interpreter.effects import effects_of
from lhkit.compiler.ir.bindings import ir, new_context

SCHEDULE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %p = transform.param.constant 4 : i64 -> !transform.param<i64>
    %up = transform.get_parent_op %mm : (!transform.any_op) -> !transform.any_op
    transform.annotate %mm "mark" : !transform.any_op
    transform.apply_cse to %up : !transform.any_op
    transform.foreach %mm : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.yield
    }
    %t, %l = transform.structured.tile_using_for %mm tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}"""
EXPECTED = {
    "transform.structured.match": ((False,), True),
    "transform.param.constant": ((), True),
    "transform.get_parent_op": ((False,), True),
    "transform.annotate": ((False,), False),
    "transform.apply_cse": ((False,), False),
    "transform.foreach": ((False,), False),
    "transform.structured.tile_using_for": ((True,), False),
}


def test_consumed_operands_and_ops_that_only_read():
    with new_context():
        module = ir.Module.parse(SCHEDULE)
        sequence = module.body.operations[0].operation
        ops = [op.operation for op in sequence.regions[0].blocks[0].operations][:-1]
        found = effects_of(module.operation, ops)
        assert {op.name: (e.consumed, e.only_reads) for op, e in zip(ops, found, strict=True)} == EXPECTED


def test_effects_of_the_steps_of_a_schedule_are_asked_once(monkeypatch):
    asked = []
    monkeypatch.setattr(probes, "effects_of", lambda _, ops: asked.append(ops) or effects_of(_, ops))
    monkeypatch.setattr(probes, "_known", {})
    with new_context():
        module = ir.Module.parse(SCHEDULE)
        ops = [op.operation for op in module.body.operations[0].regions[0].blocks[0].operations][:-1]
        first = probes._known_effects(module.operation, ops, "sources")
        assert probes._known_effects(module.operation, ops, "sources") == first and len(asked) == 1
        # Not of other sources, of fewer steps, or without all steps of the sources.
        for key, steps in (("others", ops), ("sources", ops[:2]), (None, ops)):
            assert probes._known_effects(module.operation, steps, key) == first[: len(steps)]
        assert len(asked) == 4
