"""Spare workers: kept for a while, taken by who needs the same ops, and ended."""

import psutil
import pytest

from lhkit.worker import spare_workers
from lhkit.worker.client import own_worker
from lhkit.worker.requests import Ping
from lhkit.worker.spare_workers import end_spare_workers, give_back, take_worker


@pytest.fixture(autouse=True)
def none_before_and_after():
    end_spare_workers()
    yield
    end_spare_workers()


def started():
    worker = own_worker()
    worker.ask(Ping())
    return worker


def test_a_worker_that_was_given_back_is_taken_again():
    worker = started()
    pid = worker.pid
    give_back(worker)
    assert take_worker() is worker and worker.pid == pid
    other = take_worker()
    assert other is not worker, "a spare worker has one owner"
    give_back(worker)


def test_a_worker_with_other_ops_is_not_taken(monkeypatch):
    worker = started()
    give_back(worker)
    worker.preparation = ("other ops",)
    assert take_worker() is not worker


def test_no_more_than_a_sweep_needs_are_kept():
    workers = [started() for _ in range(3)]
    pids = [w.pid for w in workers]
    for worker in workers:
        give_back(worker)
    assert [psutil.pid_exists(pid) for pid in pids] == [False, True, True]


def test_a_worker_that_has_grown_or_died_is_not_kept(monkeypatch):
    dead, grown = started(), started()
    dead.kill()
    give_back(dead)
    monkeypatch.setattr(spare_workers, "_MOST_BYTES", 1 << 20)
    give_back(grown)
    assert grown.pid is None and take_worker() not in (dead, grown)


def test_they_end_after_a_while(monkeypatch):
    monkeypatch.setattr(spare_workers, "_KEPT_SECONDS", 0.0)
    worker = started()
    pid = worker.pid
    give_back(worker)
    spare_workers._timer.join()
    assert worker.pid is None and not psutil.pid_exists(pid)
