"""The static check on outlines made by hand: chains of sequences, and cells that overlap and nest."""

import pytest

from lhkit.checks.op_facts import FUNCTION, LINALG, LOOPS, TILING, kinds_meet, kinds_within
from lhkit.checks.points_to import Cell, Fate, Inside, fate_of
from lhkit.checks.static_check import MOST_OPS, check_outline
from lhkit.model.ir_outline import Outline, OutlineBlock, OutlineHandle, OutlineOp, OutlineSequence
from lhkit.model.span import Span

ANY = "!transform.any_op"


class Author:
    """Writes outlines: every sequence has one argument."""

    def __init__(self):
        self.handles, self.sequences, self.line = [], [], 0

    def handle(self, name):
        self.handles.append(OutlineHandle(name, "op", ANY))
        return len(self.handles) - 1

    def op(self, name, operand, *, consumes=False, callee=None):
        self.line += 1
        callees = (callee,) if callee else ()
        place = Span("made", self.line, 1)
        return OutlineOp(name, place, (operand,), (consumes,), (), False, False, callees, (), (), ())

    def sequence(self, name, body):
        argument = self.handle(f"%{name}")
        block = OutlineBlock(0, (argument,), tuple(body(argument)), ())
        self.sequences.append(OutlineSequence(name, False, block))

    def outline(self):
        return Outline(tuple(self.handles), tuple(self.sequences))


def includes(author, callee, times=1):
    return lambda x: [author.op("transform.include", x, callee=callee) for _ in range(times)]


def consumes_and_uses(author):
    return lambda x: [author.op("transform.loop.unroll", x, consumes=True), author.op("transform.annotate", x)]


def test_a_chain_of_3000_sequences_is_followed_to_its_end():
    author = Author()
    for i in range(3000):
        author.sequence(f"s{i}", includes(author, f"s{i + 1}"))
    author.sequence("s3000", consumes_and_uses(author))
    checked = check_outline(author.outline(), "s0")
    (finding,) = checked.findings
    assert finding.severity == "error" and finding.handle == "%s3000"
    assert checked.sequences == 3001 and checked.is_complete


def test_sequences_that_double_end_and_say_so():
    author = Author()
    for i in range(40):
        author.sequence(f"s{i}", includes(author, f"s{i + 1}", times=2))
    author.sequence("s40", consumes_and_uses(author))
    checked = check_outline(author.outline(), "s0")
    assert not checked.is_complete and [f.handle for f in checked.findings] == ["%s40"]
    assert MOST_OPS < 10**6


def certain(*cells):
    return Inside(frozenset(cells), is_certain=True)


@pytest.fixture
def nest():
    loop, op, other = Cell(frozenset({"scf.for"})), Cell(None), Cell(None)
    op.inside.append(certain(loop))
    return loop, op, other


def test_what_lies_inside_dies_and_what_is_unrelated_lives(nest):
    loop, op, other = nest
    assert fate_of([op], frozenset({loop})) == Fate("nested", True)
    assert fate_of([loop], frozenset({op})) is None
    assert fate_of([other], frozenset({loop})) is None
    assert fate_of([other, op], frozenset({loop})) == Fate("nested", True)


def test_what_may_have_moved_may_live(nest):
    loop, op, _ = nest
    op.stir()
    assert fate_of([op], frozenset({loop})) == Fate("nested", False)


def test_functions_hold_what_is_inside_whatever_moves():
    function, op = Cell(FUNCTION), Cell(None)
    op.inside.append(certain(function))
    op.stir()
    assert fate_of([op], frozenset({function})) == Fate("nested", True)


def test_parts_die_with_the_whole_and_the_whole_with_a_part():
    whole, part, sibling = Cell(None), Cell(None), Cell(None)
    for each in (part, sibling):
        each.make_part_of(frozenset({whole}))
    part.apart.add(sibling)
    sibling.apart.add(part)
    assert fate_of([part], frozenset({whole})) == Fate("alias", True)
    assert fate_of([whole], frozenset({part})) == Fate("alias", True)
    assert fate_of([sibling], frozenset({part})) is None


def test_one_of_two_may_be_either():
    one, two, choice = Cell(None), Cell(None), Cell(None)
    choice.make_part_of(frozenset({one, two}))
    assert fate_of([choice], frozenset({one})) == Fate("alias", False)
    assert fate_of([choice], frozenset({one, two})) == Fate("alias", True)


def test_interfaces_and_names():
    matmul, loop = frozenset({"linalg.matmul"}), frozenset({"scf.for"})
    linalg, tiling, loops = frozenset({LINALG}), frozenset({TILING}), frozenset({LOOPS})
    assert kinds_within(matmul, linalg) and kinds_within(linalg, tiling) and kinds_within(loop, loops)
    assert not kinds_within(linalg, matmul) and kinds_meet(linalg, matmul)
    assert not kinds_meet(matmul, frozenset({"linalg.fill"})) and not kinds_meet(matmul, loops)
    assert not kinds_meet(None, matmul) and not kinds_within(frozenset({"linalg.yield"}), linalg)
