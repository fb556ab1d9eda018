"""What a trace does in a shorter way gives what the long way gives: the walk, a schedule planned before."""

import re
from pathlib import Path

import pytest

from lhkit.compiler.interpreter import op_identity, step_tracer, trace_journal
from lhkit.compiler.interpreter.op_identity import Identities
from lhkit.compiler.interpreter.payload_walk import WORDS, BoundWalk, native_walk
from lhkit.compiler.interpreter.step_tracer import trace_application
from lhkit.load.loader import application_of, as_payload, as_schedule, payload_source
from lhkit.model.trace_record import PayloadDelta


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """A function that traces in this process and returns the journal's lines, without times."""
    monkeypatch.chdir(tmp_path)

    def traced(payload, schedule, **knobs):
        Path("journal").unlink(missing_ok=True)
        application = application_of(as_schedule(schedule).with_knobs(knobs))
        assert (
            trace_application(payload_source(as_payload(payload)), application, Path("journal")).failure is None
        )
        return re.sub(r'"time_ns":\d+', "", Path("journal").read_text()).splitlines()

    return traced


class BothWalks(BoundWalk):
    """The walk by the bindings, which compares itself with the one by machine code."""

    def __init__(self):
        self.hashes = {}

    def words(self, roots):
        found, other = super().words(roots), native_walk().words(roots)
        assert found[::WORDS] == other[::WORDS] and found[1::WORDS] == other[1::WORDS]
        for one, its in zip(found[2::WORDS], other[2::WORDS], strict=True):
            assert self.hashes.setdefault(one, its) == its
        assert len(set(self.hashes.values())) == len(self.hashes)
        return found


class WholeLooks(Identities):
    """Compares what is said of the rows that differ with what the whole payload says."""

    looks = 0

    def __init__(self, names):
        super().__init__(names)
        self._walk = BothWalks()

    def look(self, roots):
        before = {at: (known := self._known[at], known.parent, known.hash) for at in self._words[::WORDS]}
        seen = super().look(roots)
        now = {at: self._known[at] for at in self._words[::WORDS]}
        assert now.keys() == self._known.keys()
        kept = {at: known for at, known in now.items() if at in before and before[at][0] is known}
        delta = seen[0] if seen else PayloadDelta()
        others = {at for at in now if at not in kept}
        assert delta.created == tuple(now[at].id for at in now if at in others)
        assert delta.erased == tuple(known.id for at, (known, *_) in before.items() if at not in kept)
        changed = {known.id for at, known in kept.items() if before[at][2] != known.hash}
        assert changed <= set(delta.changed)
        assert delta.changed == tuple(k.id for k in now.values() if k.id in delta.changed)
        moved = [k.id for at, k in kept.items() if before[at][1] != k.parent or k.parent in others]
        was = [known for at, (known, *_) in before.items() if at in kept]
        assert delta.moved == (*moved, *op_identity._reordered(was, list(kept.values()), set(moved)))
        WholeLooks.looks += bool(seen)
        return seen


def test_looks_at_what_differs_say_what_looks_at_all_of_it_say(journal, monkeypatch):
    monkeypatch.setattr(trace_journal, "Identities", WholeLooks)
    monkeypatch.setattr(op_identity, "MOST_WITHOUT", 1e9)
    journal("fc_relu.mlir", "fc_relu.mlir")
    assert WholeLooks.looks > 40  # larger tiles, as of AVX-512, have fewer steps


def test_a_schedule_that_is_traced_again_with_other_knobs_is_planned_once(journal, monkeypatch):
    fresh = {}
    for tile in (8, 16):
        step_tracer._last_planned.clear()
        fresh[tile] = journal("fc_relu.mlir", "fc_relu_handles.mlir", tile=tile)
    assert fresh[8] != fresh[16]
    monkeypatch.setattr(step_tracer, "_plan", None)  # it is not called again
    assert journal("fc_relu.mlir", "fc_relu_handles.mlir", tile=8) == fresh[8]
    assert journal("fc_relu.mlir", "fc_relu_handles.mlir", tile=16) == fresh[16]
