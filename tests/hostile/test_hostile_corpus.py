"""Hostile files through API and command line: no traceback, no hang, no death of the caller, nothing written.

A share of the corpus in every run; all of it by hand: ``pytest -m heavy -s tests/hostile``.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from corpus import corpus
from gauntlet import run_gauntlet
from seeds import make_seeds

QUICK = 100
# Processes that share the quick run; each has about ten seconds of it.
PARTS = 4
# What uses up the time limit of a request, in every use: these few in every run, the others by hand.
SLOW = {"native-endless"}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return make_seeds(tmp_path_factory.mktemp("seeds"))


def check(cases, folder, *, each_way):
    report = run_gauntlet(cases, folder, each_way=each_way)
    slowest = sorted(report.slowest, reverse=True)[:3]
    print(f"\n{len(cases)} files, {report.uses} uses: {report.outcomes}; slowest: {slowest}")
    assert report.uses >= len(cases)
    assert report.complaints == [], "\n".join(f"{name}, {use}: {what}" for name, use, what in report.complaints)


def spread(cases, count):
    """Return so many cases, of every group its share."""
    ordered = sorted(cases, key=lambda case: case.group)  # stable: groups stay as they were made
    return [ordered[i * len(ordered) // count] for i in range(count)]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_share_of_the_corpus(part, seeds, tmp_path):
    canary = tmp_path / "canary"
    canary.mkdir()
    quick = [case for case in corpus(seeds, canary) if case.name not in SLOW]
    chosen = spread(quick, QUICK)[part::PARTS]
    check(chosen, tmp_path / "run", each_way=False)
    assert list(canary.iterdir()) == []


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_all_of_the_corpus_in_every_way(seeds, tmp_path):
    canary = tmp_path / "canary"
    canary.mkdir()
    cases = corpus(seeds, canary)
    assert len(cases) >= 400
    check(cases, tmp_path / "run", each_way=True)
    assert list(canary.iterdir()) == []
