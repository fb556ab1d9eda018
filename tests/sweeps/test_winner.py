"""Winners: named where there is one, and next to never where there is none, under noise as it was recorded."""

import itertools
import json
import math
import random
from pathlib import Path

import pytest
from sweep_records import comparison

from lhkit.model.errors import UsageError
from lhkit.model.sample_statistics import centre_interval
from lhkit.sweeps.confirmation import Rule, contest, judge, median_over_processes, ratio_over_processes

# One program, compiled three times a process: µs a call as [process][entry][round], of 14 processes. "quiet":
# nothing else ran; "contended": several other programs wanted the same core.
RECORDED = json.loads((Path(__file__).parent / "recorded_samples.json").read_text())


class Machine:
    """Fresh processes with recorded noise: whose program is which of the recorded ones is drawn anew in each."""

    def __init__(self, times, seed, noise="quiet", most=100):
        self.times, self.draw, self.noise = times, random.Random(seed), RECORDED[noise]
        self.asked, self.left = [], most

    def __call__(self, names):
        if self.left == 0:
            return None
        self.left -= 1
        self.asked.append(names)
        process = self.draw.choice(self.noise)
        entries = self.draw.sample(process, len(process))
        rounds = self.draw.choices(range(len(process[0])), k=9)
        drift = 1 + 0.2 * self.draw.random()
        return comparison(
            {
                name: [self.times[name] * drift * entries[i][r] for r in rounds]
                for i, name in enumerate(self.times)
                if name in names
            }
        )


def contests(times, noise="quiet", count=50):
    machines = [Machine(times, seed, noise) for seed in range(count)]
    return [contest(machine, list(times))[0] for machine in machines]


@pytest.mark.parametrize("noise", ["quiet", "contended"])
@pytest.mark.parametrize("count", [2, 3])
def test_of_equal_programs_none_wins_in_95_of_100(noise, count):
    verdicts = contests({f"e{i}": 1.0 for i in range(count)}, noise, 200)
    assert sum(v.winner is not None for v in verdicts) <= 10
    assert all(v.outcome == "no difference" for v in verdicts if v.winner is None)


@pytest.mark.parametrize("count", [2, 3])
def test_a_difference_of_5_percent_is_found_in_90_of_100(count):
    times = {"slow": 1.05, "fast": 1.0, "slower": 1.07}
    verdicts = contests({name: times[name] for name in list(times)[:count]}, count=100)
    assert sum(v.winner == "fast" for v in verdicts) >= 90
    assert not [v for v in verdicts if v.winner not in ("fast", None)]


def test_without_any_margin_the_error_is_what_it_says():
    rule = Rule(margin=0.0, same=0.0, error=0.1)
    named = sum(
        contest(Machine({"a": 1.0, "b": 1.0, "c": 1.0}, seed), "abc", rule)[0].winner is not None
        for seed in range(200)
    )
    assert named <= 20


def test_a_difference_is_found_on_a_busy_machine_if_it_is_large():
    assert sum(v.winner == "fast" for v in contests({"slow": 2.0, "fast": 1.0}, "contended")) >= 45


def test_what_is_far_behind_is_no_longer_sampled():
    machine = Machine({"far": 3.0, "a": 1.0, "b": 1.0}, 1)
    verdict, runs = contest(machine, ["far", "a", "b"])
    assert machine.asked[:5] == [("far", "a", "b")] * 4 + [machine.asked[4]]
    assert "far" not in machine.asked[4] and len(runs) == len(machine.asked)
    states = {s.name: (s.state, s.processes) for s in verdict.standings}
    assert states["far"] == ("slower", 4)
    assert set(verdict.tied) == {"a", "b"} and verdict.standings[-1].name == "far"


def test_a_contest_that_is_stopped_says_what_is_known():
    verdict, runs = contest(Machine({"a": 1.0, "b": 1.002}, 3, most=2), ["a", "b"])
    assert (verdict.outcome, len(runs)) == ("no difference", 2)
    assert "were not told apart in 2 processes: " in verdict.reason


def test_equality_is_said_when_it_is_known():
    runs = [comparison({"a": [1.0, 1.0], "b": [1.0 + d, 1.0 + d]}) for d in (0.001, -0.001, 0.002, -0.002)]
    verdict = judge(runs, ["a", "b"])
    assert (verdict.outcome, verdict.winner) == ("no difference", None)
    assert verdict.reason in ("a and b are equal within 2 %", "b and a are equal within 2 %")


def test_a_winner_is_named_with_its_lead():
    runs = [comparison({"a": [2.0 + d], "b": [1.0], "c": [4.0]}) for d in (0.0, 0.001, 0.002, 0.003)]
    verdict = judge(runs, ["a", "b", "c"])
    assert verdict.winner == "b" and verdict.reason == "b is faster than a, the next, by 100 %"
    assert [s.name for s in verdict.standings] == ["b", "a", "c"]
    assert verdict.standings[1].lead.middle == pytest.approx(2.0015)


def test_open_questions_stay_open_until_the_end():
    runs = [comparison({"a": [1.0], "b": [1.0 + d]}) for d in (0.1, -0.1, 0.05, -0.05)]
    assert judge(runs, ["a", "b"]).outcome == "open"
    assert judge(runs, ["a", "b"], is_over=True).outcome == "no difference"


def test_one_contender_wins_and_none_is_refused():
    runs = [comparison({"a": [1.0]})]
    assert judge(runs, ["a"]).winner == "a"
    for names in ([], ["z"]):
        with pytest.raises(UsageError):
            judge(runs, names)


def test_processes_are_paired_by_rounds_and_then_counted_once_each():
    runs = [comparison({"a": [1.0, 2.0, 4.0], "b": [2.0, 4.0, 8.0]}), comparison({"a": [1.0], "c": [1.0]})]
    speed = ratio_over_processes(runs, "a", "b")
    assert speed.middle == 2.0 and speed.low == 0.0  # one process says nothing about others
    assert median_over_processes(runs, "a") == 1.5
    with pytest.raises(UsageError, match="never measured side by side"):
        ratio_over_processes(runs, "b", "c")


@pytest.mark.parametrize(("confidence", "least"), [(0.9, 880), (0.99, 980)])
def test_signed_ranks_cover_as_often_as_they_say_with_outliers(confidence, least):
    draw = random.Random(1)
    covered = 0
    for _ in range(1000):
        values = [draw.lognormvariate(0, 0.02 if draw.random() < 0.8 else 0.5) for _ in range(10)]
        interval = centre_interval(values, confidence=confidence)
        covered += interval.low <= 1.0 <= interval.high
        assert interval.low <= interval.middle <= interval.high
    assert covered >= least


def test_signed_ranks_are_those_of_the_tables():
    """Of 8 values, 95 %: the 4th smallest and the 4th largest mean of pairs (critical value 3)."""
    logs = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]
    ratios = [math.exp(v) for v in logs]
    means = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    interval = centre_interval(ratios, confidence=0.95)
    assert [math.log(v) for v in (interval.low, interval.high)] == pytest.approx([means[3], means[-4]])


@pytest.mark.parametrize("names", list(itertools.permutations("abc")))
def test_who_leads_does_not_depend_on_the_order_of_the_contenders(names):
    # c over b is more than c over a, in the middle, and yet a is faster than b in most rounds.
    rounds = {"a": [1.0, 2.0, 4.0], "b": [2.0, 2.2, 1.0], "c": [2.0, 4.62, 4.0]}
    runs = [comparison({name: rounds[name] for name in names})] * 3
    assert judge(runs, names, is_over=True).leader.name == "a"
