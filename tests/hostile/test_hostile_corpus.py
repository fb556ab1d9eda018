"""Hostile files through API and command line: no traceback, no hang, no death of the caller, nothing written.

A share of the corpus in every run; all of it by hand: ``pytest -m heavy -s tests/hostile``.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from corpus import corpus  # noqa: E402
from gauntlet import run_gauntlet  # noqa: E402
from seeds import make_seeds  # noqa: E402

QUICK = 200
# Processes that share the quick run; each has about ten seconds of it.
PARTS = 8
# What uses up the time limit of a request, in every use: these few in every run, the others by hand.
SLOW = {"native-endless"}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return make_seeds(tmp_path_factory.mktemp("seeds"))


def check(cases, folder, environment):
    report = run_gauntlet(cases, folder, environment)
    slowest = sorted(report.slowest, reverse=True)[:3]
    print(f"\n{len(cases)} files, {report.uses} uses: {report.outcomes}; slowest: {slowest}")
    assert report.uses >= len(cases)
    assert report.complaints == [], "\n".join(f"{name}, {use}: {what}" for name, use, what in report.complaints)
