"""The engine without a worker: what is kept, what is not tried again, and how a sweep ends."""

import asyncio

import pytest

from lhkit.model.errors import UsageError, usage_error
from lhkit.sweeps.engine import SweepProgress, SweepRun, Trial
from lhkit.sweeps.record_store import Store
from lhkit.sweeps.strategies import make_strategy
from tests.sweep_parts import ENVIRONMENT, FakeExecutor, Listed, make_record, make_task, ok, points_of
from tests.sweeping_spaces import make_space


def run(path, points, executor=None, *, task=None, strategy=None, stop_after=None, **options):
    """Run a sweep; return its progress, executor and strategy."""
    executor, strategy = executor or FakeExecutor(), strategy or Listed(points)
    progress, events = SweepProgress(), []

    async def main():
        stop = asyncio.Event()

        def on_event(event):
            events.append(event)
            if len(events) == stop_after:
                stop.set()

        with Store(path) as store:
            what = (task or make_task(), strategy, store, executor, progress)
            await SweepRun(*what, on_event=on_event).run(stop, **options)

    asyncio.run(main())
    assert executor.is_closed and [e.record for e in events] == progress.records
    return progress, executor, strategy


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.jsonl"


def values(progress):
    return [dict(r.knobs)["a"] for r in progress.records]


def test_every_point_is_tried_once_and_kept(path):
    progress, executor, strategy = run(path, points_of(a=[3, 1, 2]))
    assert executor.tried == [3, 1, 2] == values(progress) and progress.end == "finished"
    assert [cost for _, cost in strategy.told] == [1003, 1001, 1002]
    assert progress.best.knobs == (("a", 1),) and executor.best == [None, 1003, 1001]
    assert Store(path, read_only=True).records() == progress.records


def test_what_is_known_is_not_tried_again_and_more_options_are(path):
    run(path, points_of(a=[1, 2]))
    longer = make_task((("a", tuple(range(200)), 5),))
    progress, executor, strategy = run(path, points_of(a=[2, 3, 1]), task=longer)
    assert executor.tried == [3] and values(progress) == [2, 3, 1] and progress.known == 2
    assert [cost for _, cost in strategy.told] == [1002, 1003, 1001]
    progress, executor, _ = run(path, points_of(a=[2]), resume=False)
    assert executor.tried == [2] and progress.known == 0
    assert len(Store(path, read_only=True)) == 3


def test_records_of_another_machine_are_kept_and_not_used(path):
    other = make_record(1, environment="f" * 64, knobs=(("a", 1),), key="9" * 64, ir_sha256=ok(2).ir_sha256)
    with Store(path) as store:
        store.append(other)
    progress, executor, _ = run(path, points_of(a=[1, 2]))
    assert executor.tried == [1, 2] and [r.status for r in progress.records] == ["ok", "ok"]
    assert Store(path, read_only=True).records()[0] == other


def test_equal_programs_are_one(path):
    trials = {
        2: ok(1),
        3: Trial("crashed", "died", ir_sha256="c" * 64),
        4: Trial("crashed", ir_sha256="c" * 64),
    }
    progress, _, strategy = run(path, points_of(a=[1, 2, 3, 4]), FakeExecutor(trials))
    first, second, third, fourth = progress.records
    assert (second.status, second.same_as, second.time_ns) == ("same-as", first.key, None)
    assert (fourth.status, fourth.same_as, third.message) == ("same-as", third.key, "died")
    assert [cost for _, cost in strategy.told] == [1001, 1001, None, None]
    # A later run knows the programs of an earlier one.
    progress, _, strategy = run(path, points_of(a=[5]), FakeExecutor({5: ok(1)}))
    assert progress.records[0].same_as == first.key and strategy.told[0][1] == 1001


def test_equal_programs_are_tried_all_if_that_is_wanted(path):
    trials = {2: ok(1), 3: ok(1)}
    progress, _, _ = run(path, points_of(a=[1, 2, 3]), FakeExecutor(trials), task=make_task(deduplicate=False))
    assert [r.status for r in progress.records] == ["ok"] * 3


def test_points_that_the_schedule_does_not_take_are_no_variants(path):
    progress, executor, strategy = run(path, points_of(a=[1, 500]))
    assert executor.tried == [1] and progress.records[1].status == "invalid-config"
    assert "'a' cannot be '500'" in progress.records[1].message and strategy.told[1][1] is None


def test_a_failure_costs_that_variant_only(path):
    trials = {n: Trial(s, "why") for n, s in enumerate(("crashed", "timeout", "schedule-failed"), 1)}
    progress, _, _ = run(path, points_of(a=[1, 2, 3, 4]), FakeExecutor(trials))
    assert [r.status for r in progress.records] == ["crashed", "timeout", "schedule-failed", "ok"]
    assert progress.best.status == "ok" and progress.end == "finished"


def test_what_cannot_be_tried_at_all_ends_the_sweep_and_keeps_the_rest(path):
    with pytest.raises(UsageError, match="no worker"):
        run(path, points_of(a=[1, 2, 3]), FakeExecutor({2: usage_error("no worker")}))
    assert [r.values["a"] for r in Store(path, read_only=True).records()] == [1]


def test_a_stopped_sweep_goes_on_where_it_was(path):
    progress, executor, _ = run(path, points_of(a=[1, 2, 3, 4]), stop_after=2)
    assert progress.end == "stopped" and executor.tried == [1, 2]
    progress, executor, _ = run(path, points_of(a=[1, 2, 3, 4]))
    assert executor.tried == [3, 4] and progress.end == "finished" and values(progress) == [1, 2, 3, 4]


def test_what_hangs_is_left_when_time_is_up(path):
    progress, executor, _ = run(path, points_of(a=[1, 2, 3]), FakeExecutor(hangs=2), seconds=0.3)
    assert progress.end == "out of time" and values(progress) == [1] and executor.tried == [1, 2]
    assert len(Store(path, read_only=True)) == 1


def test_the_event_loop_gets_its_turn_among_known_variants(path):
    points = points_of(a=list(range(100)))
    run(path, points * 2)
    turns = []

    async def main():
        async def count():
            while True:
                turns.append(1)
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        with Store(path) as store:
            what = (make_task(), Listed(points * 9), store, FakeExecutor(), SweepProgress())
            await SweepRun(*what).run(asyncio.Event())
        counting.cancel()

    asyncio.run(main())
    assert len(turns) >= 900 // 64


def test_a_cancelled_sweep_closes_its_executor(path):
    executor = FakeExecutor(hangs=1)

    async def main():
        with Store(path) as store:
            what = (make_task(), Listed(points_of(a=[1])), store, executor, SweepProgress())
            task = asyncio.create_task(SweepRun(*what).run(asyncio.Event()))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert executor.is_closed


@pytest.mark.parametrize("name", ["grid", "random", "latin-hypercube", "coordinate-descent"])
def test_the_order_follows_from_the_seed_and_is_the_same_when_resumed(path, tmp_path, name):
    space = make_space([("a", tuple(range(12)))])
    whole, _, _ = run(path, (), strategy=make_strategy(name, space, seed=7, budget=8))
    other = tmp_path / "other.jsonl"
    run(other, (), strategy=make_strategy(name, space, seed=7, budget=8), stop_after=3)
    again, executor, _ = run(other, (), strategy=make_strategy(name, space, seed=7, budget=8))
    assert values(again) == values(whole) and again.known == 3 and len(executor.tried) == 5


def test_time_is_accounted_for(path):
    progress, _, _ = run(path, points_of(a=[1, 2]))
    assert progress.spent_ns["compile"] == 20 and progress.spent_ns["engine"] > 0
    assert {r.environment for r in progress.records} == {ENVIRONMENT}
