"""Transform ops of one's own, as an example; load them with ``lhkit.load_ops`` or ``--ops``."""

from lhkit.own_ops import Ops, Params, Rewriter, SilenceableError, dialect, ir, transform_op


@transform_op("my.reverse", consumes=["target"], reads_only=True)
def reverse(target: Ops) -> Ops:
    """Return a handle to the same payload ops in reverse order."""
    return target[::-1]


@transform_op("my.count", reads_only=True)
def count(target: Ops) -> Params:
    """Return how many payload ops a handle points to."""
    return [len(target)]


@transform_op("my.subtract_by_adding", consumes=["target"])
def subtract_by_adding(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write each `arith.subf` as the sum with the negated right side."""
    arith, sums = dialect("arith"), []
    for op in target:
        if op.operation.name != "arith.subf":
            raise SilenceableError("this is no arith.subf", at=op)
        with rewriter.before(op):
            total = arith.addf(op.operands[0], arith.negf(op.operands[1]))
        rewriter.replace(op, total.owner)
        sums.append(total.owner)
    return sums


@transform_op("my.mark")
def mark(target: Ops, *, name: str = "my.mark", number: int) -> None:
    """Put an attribute on each payload op."""
    for op in target:
        op.attributes[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
