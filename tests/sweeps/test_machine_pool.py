"""Machines of a cluster: those that share cores take turns, reserved ones time alone, newcomers are probed."""

import asyncio
import dataclasses
import itertools
from types import SimpleNamespace

import pytest

from lhkit.model.errors import CrashError, Failure
from lhkit.sweeps import dask_executor, machine_pool
from lhkit.sweeps.dask_cluster import LostError
from lhkit.sweeps.dask_executor import DaskExecutor
from lhkit.sweeps.dask_host import BATCH_SECONDS, Answer, Answers, Host, keep_busy, take_samples
from lhkit.sweeps.engine import Trial
from lhkit.sweeps.machine_pool import MachinePool
from lhkit.sweeps.sweep_task import sha256_of
from tests.sweep_parts import make_task

FACTS = {"cpu": "a", "bindings": "1", "lhkit": "0.1.0", "pipeline": "p"}
KIND = sha256_of(FACTS)


class FakeCluster:
    """Machines by address: of each its host, and whose cores it runs on."""

    name, forgetful = "the cluster", frozenset()

    def __init__(self, **hosts):
        self.hosts = {address: host for address, (host, _) in hosts.items()}
        self.owners = {address: owner for address, (_, owner) in hosts.items()}
        self.loud, self.calls, self.brought, self.tried = set(), [], [], []

    def workers(self):
        return set(self.hosts)

    def other_versions(self):
        return {}, None

    def probe(self, _setup, addresses):
        return {a: self.hosts[a] for a in addresses}

    async def call_all(self, workers, function, *arguments):
        self.calls.append(function)
        if function is keep_busy:
            self.loud = {self.owners[a] for a in workers} if arguments[0] else set()
            return dict.fromkeys(workers)
        assert function is take_samples
        return {a: [2.0 if self.owners[a] in self.loud else 1.0] * arguments[0] for a in workers}

    async def bring(self, _subject, workers):
        self.brought.append(set(workers))
        await asyncio.sleep(0)
        return self.brought[-1] - self.forgetful

    def key_of(self, _subject):
        return "key"

    async def call(self, worker, _function, *_arguments):
        self.tried.append(worker)
        return Answers([Answer(Trial("ok", ir_sha256="f" * 64))])


def pool_of(**hosts):
    cluster = FakeCluster(**hosts)
    return MachinePool(cluster, None, FACTS), cluster


async def acquired(pool, count):
    """Take so many machines at once, as far as they are free within some turns of the loop."""
    waiting = [asyncio.ensure_future(pool.acquire(KIND)) for _ in range(count)]
    for _ in range(50):
        await asyncio.sleep(0)
    got = [w.result().address for w in waiting if w.done()]
    for each in waiting:
        each.cancel()
    await pool.close()
    return got


def test_containers_of_one_boot_take_turns_without_a_probe():
    pool, cluster = pool_of(a=(Host(FACTS, "one"), 1), b=(Host(FACTS, "one"), 1))
    assert pool.capacity(KIND) == 1 and cluster.calls == []
    assert len(asyncio.run(acquired(pool, 2))) == 1
    assert "2 workers on a" in pool.lines()[0] and "share cores and take 1 variants" in pool.lines()[0]


def test_guests_of_one_processor_are_found_by_their_interference():
    hosts = {f"w{i}": (Host(FACTS, f"boot {i}"), owner) for i, owner in enumerate([1, 2, 1, 3])}
    pool, cluster = pool_of(**hosts)
    assert pool.capacity(KIND) == 3 and take_samples in cluster.calls
    taken = sorted(asyncio.run(acquired(pool, 4)))
    assert taken in (["w0", "w1", "w3"], ["w1", "w2", "w3"]) and not cluster.loud
    assert pool.machines["w0"].cores == pool.machines["w2"].cores


def test_a_machine_that_comes_late_is_probed_with_the_others_unless_its_boot_is_known():
    pool, cluster = pool_of(a=(Host(FACTS, "one"), 1))
    assert cluster.calls == []
    cluster.hosts["b"], cluster.owners["b"] = Host(FACTS, "two"), 1
    asyncio.run(pool.look())
    assert pool.capacity(KIND) == 1 and cluster.calls
    del cluster.calls[:]
    cluster.hosts["c"], cluster.owners["c"] = Host(FACTS, "two"), 1
    asyncio.run(pool.look())
    assert len(pool.machines) == 3 and cluster.calls == []


def test_where_machines_are_reserved_for_timing_the_others_time_nothing():
    pool, _ = pool_of(a=(Host(FACTS, "one"), 1), b=(Host(FACTS, "two", is_reserved=True), 2))
    assert [m.address for m in pool.of_kind(KIND)] == ["b"] and pool.capacity(KIND) == 1


def test_the_others_compile_for_machines_that_are_reserved_and_load_what_was_compiled_elsewhere():
    timing = Host(FACTS, "two", is_reserved=True, can_load=True)
    beside = {
        "a": (Host(FACTS, "one"), 1),
        "c": (Host(FACTS, "two"), 2),
        "d": (Host({**FACTS, "cpu": "b"}, "x"), 3),
    }
    pool, _ = pool_of(b=(timing, 2), **beside)
    assert [m.address for m in pool.compiling(KIND)] == ["a"] and pool.capacity(KIND) == 3
    assert pool.compiling(sha256_of(beside["d"][0].facts)) == []
    pool, _ = pool_of(b=(dataclasses.replace(timing, can_load=False), 2), **beside)
    assert pool.compiling(KIND) == [] and pool.capacity(KIND) == 1


def test_without_a_machine_that_compiles_for_others_there_is_no_wait_for_one():
    pool, _ = pool_of(a=(Host(FACTS, "one"), 1), b=(Host(FACTS, "two", is_reserved=True, can_load=True), 2))

    async def main():
        first = await pool.acquire_to_compile(KIND)
        second = asyncio.ensure_future(pool.acquire_to_compile(KIND))
        await asyncio.sleep(0)
        is_waiting = not second.done()
        pool.lose(first)
        await pool.release(first)
        return first.address, is_waiting, await second

    assert asyncio.run(main()) == ("a", True, None)


def test_machines_of_one_set_of_cores_are_taken_in_turn():
    pool, _ = pool_of(a=(Host(FACTS, "one"), 1), b=(Host(FACTS, "one"), 1))

    async def main():
        got = []
        for _ in range(4):
            machine = await pool.acquire(KIND)
            got.append(machine.address)
            await pool.release(machine)
        await pool.close()
        return got

    assert asyncio.run(main()) in (["a", "b"] * 2, ["b", "a"] * 2)


def test_a_machine_that_can_try_nothing_is_left_out_and_the_last_one_ends_the_sweep():
    pool, _ = pool_of(a=(Host(FACTS, "one"), 1), b=(Host(FACTS, "two"), 2))
    failure = Failure("crash", "its disk is full")
    pool.refuse(pool.machines["a"], failure)
    assert "a is left out: its disk is full" in pool.lines()
    with pytest.raises(CrashError, match="its disk is full"):
        pool.refuse(pool.machines["b"], failure)


def test_this_machines_kind_comes_first_then_the_most_frequent():
    other = {**FACTS, "cpu": "b"}
    hosts = {"a": (Host(FACTS, "1"), 1), "b": (Host(other, "2"), 2), "c": (Host(other, "3"), 3)}
    assert pool_of(**hosts)[0].kinds() == [KIND, sha256_of(other)]
    del hosts["a"]
    assert pool_of(**hosts)[0].kinds() == [sha256_of(other)]


async def tried_at_once(pool, cluster, count, *, batched=0, values=(1, 2)):
    """Try so many variants at a time."""
    sweep = SimpleNamespace(pool=pool, cluster=cluster, setup=SimpleNamespace(sweep=""))
    executor = DaskExecutor(sweep, KIND, batched=batched)
    task = make_task()
    points = [(("a", values[i % len(values)]),) for i in range(count)]
    found = await asyncio.gather(*(executor.try_variant(task.variant(p), None, None) for p in points))
    await pool.close()
    return [trial.status for trial in found]


def test_a_payload_is_copied_to_all_machines_at_once():
    pool, cluster = pool_of(**{name: (Host(FACTS, name), name) for name in "abc"})
    assert asyncio.run(tried_at_once(pool, cluster, 6)) == ["ok"] * 6
    assert cluster.brought == [set("abc")] and set(cluster.tried) == set("abc")


def test_a_machine_that_cannot_take_a_payload_holds_no_other_up():
    pool, cluster = pool_of(**{name: (Host(FACTS, name), name) for name in "abc"})
    cluster.forgetful = {"b"}
    assert asyncio.run(tried_at_once(pool, cluster, 6)) == ["ok"] * 6
    assert set(cluster.tried) == {"a", "c"} and pool.losses == 1


class BatchedCluster(FakeCluster):
    """Machines that begin at most so many variants of a call; ``deadly`` are values that end a machine."""

    begun, deadly, takes_ns = 16, (), 1000

    async def call(self, worker, _function, asked):
        await asyncio.sleep(0)
        values = [dict(each)["a"] for each in asked.variants]
        self.tried.append(values)
        if any(value in self.deadly for value in values):
            raise LostError("it ended")
        trial = Trial("ok", ir_sha256="f" * 64, spent_ns={"time": self.takes_ns})
        return Answers([Answer(trial) for _ in values[: self.begun]])


def pool_in_batches(**options):
    cluster = BatchedCluster(**{name: (Host(FACTS, name), name) for name in "ab"})
    vars(cluster).update(options)
    return MachinePool(cluster, None, FACTS), cluster


def test_a_machine_takes_as_many_variants_as_take_a_second_and_leaves_some_to_the_others():
    pool, cluster = pool_in_batches()
    assert asyncio.run(tried_at_once(pool, cluster, 40, batched=10**6)) == ["ok"] * 40
    sizes = [len(values) for values in cluster.tried]
    assert sizes[:2] == [4, 4] and max(sizes) == 16 and sum(sizes) == 40
    pool, cluster = pool_in_batches(takes_ns=250_000_000)
    assert asyncio.run(tried_at_once(pool, cluster, 40, batched=10**6)) == ["ok"] * 40
    assert max(map(len, cluster.tried)) == round(BATCH_SECONDS / 0.25)
    pool, cluster = pool_in_batches()
    assert asyncio.run(tried_at_once(pool, cluster, 40)) == ["ok"] * 40 and len(cluster.tried) == 40


def test_batches_are_smaller_near_the_end():
    pool, cluster = pool_in_batches()
    assert asyncio.run(tried_at_once(pool, cluster, 40, batched=40)) == ["ok"] * 40
    sizes = [len(values) for values in cluster.tried]
    assert sizes[:3] == [4, 4, 16] and sizes[-1] == 1 and sizes[3] == 8  # half of 16: there are two machines


def test_variants_that_a_machine_did_not_begin_are_tried_again_each_once():
    pool, cluster = pool_in_batches(begun=3)
    assert asyncio.run(tried_at_once(pool, cluster, 40, batched=10**6)) == ["ok"] * 40
    assert sum(len(values[:3]) for values in cluster.tried) == 40 and max(map(len, cluster.tried)) > 3


def test_what_was_in_a_batch_that_ended_a_machine_goes_alone(monkeypatch):
    monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.01)
    pool, cluster = pool_in_batches(deadly=(7,))
    found = asyncio.run(tried_at_once(pool, cluster, 40, batched=10**6, values=range(40)))
    assert found == ["ok"] * 7 + ["crashed"] + ["ok"] * 32
    deadly = [values for values in cluster.tried if 7 in values]
    assert len(deadly[0]) > 1 and deadly[1:] == [[7]] * 2
    alone = {values[0] for values in cluster.tried[cluster.tried.index(deadly[0]) + 1 :] if len(values) == 1}
    assert alone >= set(deadly[0])


class HeldCluster(FakeCluster):
    """Machines that answer a call when they are told to."""

    def __init__(self, **hosts):
        super().__init__(**hosts)
        self.pending = []

    async def call(self, worker, _function, asked):
        values, answered = [dict(each)["a"] for each in asked.variants], asyncio.Future()
        self.tried.append(values)
        self.pending.append((values, answered))
        return await answered

    def answer(self, place, count=None):
        """Answer a call that is pending: so many of its variants, or all."""
        values, answered = self.pending.pop(place)
        trial = Trial("ok", ir_sha256="f" * 64, spent_ns={"time": 250_000_000})
        answered.set_result(Answers([Answer(trial) for _ in values[:count]]))
        return values


async def turns():
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
def held(monkeypatch):
    """A pool of one machine, which is sent its next batch at once."""
    monkeypatch.setattr(dask_executor, "_LEFT_SECONDS", BATCH_SECONDS)
    monkeypatch.setattr(dask_executor, "_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.01)
    cluster = HeldCluster(a=(Host(FACTS, "a"), "a"))
    return MachinePool(cluster, None, FACTS), cluster


async def answered_to_the_end(cluster, trying):
    while not trying.done():
        await asyncio.sleep(0.001)
        while cluster.pending:
            cluster.answer(0)
    return await trying


def test_a_machine_is_sent_its_next_batch_before_it_has_ended_one_and_no_third(held):
    pool, cluster = held

    async def main():
        trying = asyncio.ensure_future(tried_at_once(pool, cluster, 20, batched=10**6, values=range(20)))
        await turns()
        at_first = [values for values, _ in cluster.pending]
        cluster.answer(0)
        await turns()
        return at_first, len(cluster.pending), await answered_to_the_end(cluster, trying)

    at_first, then, found = asyncio.run(main())
    assert at_first == [[0, 1, 2, 3], [4, 5, 6, 7]] and then == 2 and found == ["ok"] * 20
    assert sorted(itertools.chain(*cluster.tried)) == list(range(20))


def test_where_answers_are_waited_for_no_batch_is_sent_ahead(held):
    pool, cluster = held

    async def main():
        trying = asyncio.ensure_future(tried_at_once(pool, cluster, 4, values=range(4)))
        await turns()
        return len(cluster.pending), await answered_to_the_end(cluster, trying)

    assert asyncio.run(main()) == (1, ["ok"] * 4)


def test_what_waited_behind_a_slow_variant_is_given_back_and_no_more_is_sent_there(held):
    pool, cluster = held

    async def main():
        trying = asyncio.ensure_future(tried_at_once(pool, cluster, 20, batched=10**6, values=range(20)))
        await turns()
        given_back = cluster.answer(1, 0)
        await turns()
        slow = [values for values, _ in cluster.pending]
        return given_back, slow, await answered_to_the_end(cluster, trying)

    given_back, slow, found = asyncio.run(main())
    assert slow == [[0, 1, 2, 3]] and found == ["ok"] * 20
    assert cluster.tried[2] == given_back  # next


def test_what_a_lost_machine_had_not_begun_does_not_count_as_what_ended_it(held):
    pool, cluster = held

    async def main():
        trying = asyncio.ensure_future(tried_at_once(pool, cluster, 8, batched=10**6, values=range(8)))
        await turns()
        for _, answered in cluster.pending[::-1]:
            answered.set_exception(LostError("it ended"))
        cluster.pending.clear()
        return await answered_to_the_end(cluster, trying)

    assert asyncio.run(main()) == ["ok"] * 8
    later = cluster.tried[2:]
    assert sorted(itertools.chain(*later)) == list(range(8)) and {len(v) for v in later if v[0] < 4} == {1}
    assert max(len(v) for v in later if v[0] >= 4) > 1
