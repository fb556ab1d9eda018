"""The static check on outlines made by hand: chains of sequences, and sets that overlap and nest."""

import pytest

from lhkit.checks.op_facts import FUNCTION, LINALG, LOOPS, TILING, kinds_intersect, kinds_within
from lhkit.checks.points_to import AbstractSet, Nesting, Overlap, find_overlap
from lhkit.checks.schedule_check import MOST_OPS, check_outline
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
        self.sequences.append(OutlineSequence(name, block))

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


def certain(*sets):
    return Nesting(frozenset(sets), is_certain=True)


@pytest.fixture
def nest():
    loop, op, other = AbstractSet(frozenset({"scf.for"})), AbstractSet(None), AbstractSet(None)
    op.nestings.append(certain(loop))
    return loop, op, other


def test_what_lies_inside_dies_and_what_is_unrelated_lives(nest):
    loop, op, other = nest
    assert find_overlap([op], frozenset({loop})) == Overlap("nested", True)
    assert find_overlap([loop], frozenset({op})) is None
    assert find_overlap([other], frozenset({loop})) is None
    assert find_overlap([other, op], frozenset({loop})) == Overlap("nested", True)


def test_what_may_have_moved_may_live(nest):
    loop, op, _ = nest
    op.invalidate_relations()
    assert find_overlap([op], frozenset({loop})) == Overlap("nested", False)


def test_functions_hold_what_is_inside_whatever_moves():
    function, op = AbstractSet(FUNCTION), AbstractSet(None)
    op.nestings.append(certain(function))
    op.invalidate_relations()
    assert find_overlap([op], frozenset({function})) == Overlap("nested", True)


def test_parts_die_with_the_whole_and_the_whole_with_a_part():
    whole, part, sibling = AbstractSet(None), AbstractSet(None), AbstractSet(None)
    for each in (part, sibling):
        each.add_superset(frozenset({whole}))
    part.disjoint.add(sibling)
    sibling.disjoint.add(part)
    assert find_overlap([part], frozenset({whole})) == Overlap("alias", True)
    assert find_overlap([whole], frozenset({part})) == Overlap("alias", True)
    assert find_overlap([sibling], frozenset({part})) is None


def test_one_of_two_may_be_either():
    one, two, choice = AbstractSet(None), AbstractSet(None), AbstractSet(None)
    choice.add_superset(frozenset({one, two}))
    assert find_overlap([choice], frozenset({one})) == Overlap("alias", False)
    assert find_overlap([choice], frozenset({one, two})) == Overlap("alias", True)


def test_interfaces_and_names():
    matmul, loop = frozenset({"linalg.matmul"}), frozenset({"scf.for"})
    linalg, tiling, loops = frozenset({LINALG}), frozenset({TILING}), frozenset({LOOPS})
    assert kinds_within(matmul, linalg) and kinds_within(linalg, tiling) and kinds_within(loop, loops)
    assert not kinds_within(linalg, matmul) and kinds_intersect(linalg, matmul)
    assert not kinds_intersect(matmul, frozenset({"linalg.fill"})) and not kinds_intersect(matmul, loops)
    assert not kinds_intersect(None, matmul) and not kinds_within(frozenset({"linalg.yield"}), linalg)
