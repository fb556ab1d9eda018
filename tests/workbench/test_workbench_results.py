"""Runs, sweeps and what can be done with a handle, without a screen; how results become bars."""

import dataclasses
import itertools
import re
import threading
from html import escape, unescape

import pytest
from fused_schedule import FUSE, FUSED

import lhkit
from lhkit.compose.trial_steps import try_ops
from lhkit.model.errors import Failure, LhkitError, error_for
from lhkit.model.measurement import Comparison, Measurement, Verification
from lhkit.model.sample_statistics import rank_entries
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.variant_record import SweepRecord, SweepTime
from lhkit.workbench import jobs, runs
from lhkit.workbench.pane_results import results_html
from lhkit.workbench.runs import Result, RunProgress, Subject, Watcher, measured, swept, text_letters
from lhkit.workbench.widget import EMPTY


@pytest.fixture(scope="module")
def schedule(worker):
    return lhkit.load_schedule(FUSED, name="fused.mlir", worker=worker)


@pytest.fixture
def subject(payload, schedule):
    return Subject(payload, schedule, (("tile", 8),), "as it was loaded", 1)


def comparison(*, ok=True, ns=2_000.0):
    rounds = range(6)
    verdict = Verification(ok, 0.5 if not ok else 1e-6, 1e-5, "NumPy", None if ok else "element [0, 0] differs")
    numpy = Measurement("NumPy", tuple((r, 4_000.0) for r in rounds), timed_by="Python")
    own = Measurement("fused.mlir", tuple((r, ns + r) for r in rounds), verification=verdict)
    plain = Measurement("unscheduled", tuple((r, 8_000.0) for r in rounds))
    return Comparison("p", "0" * 64, (numpy, plain, own), "NumPy", 6, 0, (("cpu", "x"),))


def record(tile, median, status="ok"):
    time_ns = SweepTime(median, median, 0, 1) if median else None
    return SweepRecord(
        "lhkit.sweep/1", str(tile), (("tile", tile),), status, None, None, time_ns, 1, None, 0.0, None, "i", "e", "t"
    )  # fmt: skip


def sweep_result(schedule, *records, end="finished"):
    axes = (("tile", (4, 8, 16)),)
    return SweepResult(("p",), schedule, axes, records, records[0] if records else None, 0, end, (), "s")


def test_a_measurement_is_a_bar_beside_its_anchor(subject):
    result = measured(comparison(), "fused.mlir", subject)
    assert [bar.label for bar in result.bars] == ["NumPy", "unscheduled", ""]
    assert result.own_bar.value == pytest.approx(2, rel=0.01) and result.anchor == "NumPy"
    assert result.status == "ok" and "times as fast as NumPy; right" in result.said
    wrong = measured(comparison(ok=False), "fused.mlir", subject)
    assert wrong.status == "wrong" and "element [0, 0] differs" in wrong.said


def test_measurements_of_a_session_stand_beside_each_other_and_lead_back(subject, schedule):
    first = measured(comparison(), "fused.mlir", subject)
    other = dataclasses.replace(schedule, text=FUSED.replace("%relu", "%max"))
    again = dataclasses.replace(subject, number=2, schedule=other, title="<b>rename</b>", knobs=())
    html = results_html([first, measured(comparison(ns=1_000.0), "fused.mlir", again)])
    assert html.count("lhw-chart") == 1 and html.count("unscheduled") == 1
    assert "#1 A: tile = 8" in html and "#2 B: &lt;b&gt;rename" in html and "<b>rename" not in html
    assert '"result":2' in unescape(html).replace(" ", "")


def drifting(own_share):
    """A comparison on a clock that slows down, in which the slow entry sat out the later rounds."""
    clock = [1.0] * 7 + [2.0] * 14
    numpy = Measurement("NumPy", tuple((r, 100.0 * c) for r, c in enumerate(clock)))
    plain = Measurement("unscheduled", tuple((r, 8_000.0 * c) for r, c in enumerate(clock[:9])))
    own = Measurement("fused.mlir", tuple((r, 8_000.0 * own_share * c) for r, c in enumerate(clock)))
    return Comparison("p", "0" * 64, (numpy, plain, own), "NumPy", 21, 0, (("cpu", "x"),))


def test_the_faster_entry_has_the_shorter_time(subject):
    _, plain, own = measured(drifting(0.9), "fused.mlir", subject).bars
    assert own.value > plain.value
    times = [float(bar.text.partition("(")[2].partition(" ")[0]) for bar in (plain, own)]
    assert times[0] > times[1], (plain.text, own.text)
    assert times[0] / times[1] == pytest.approx(own.value / plain.value, rel=0.01)


def test_entries_that_cannot_be_told_apart_are_said_to_be(subject):
    assert "no difference seen from unscheduled" in measured(drifting(1.01), "fused.mlir", subject).said
    assert "no difference" not in measured(drifting(0.9), "fused.mlir", subject).said
    assert "no difference" not in measured(drifting(1.1), "fused.mlir", subject).said


def test_a_tie_with_numpy_is_no_factor(subject):
    rows = range(9)
    numpy = Measurement("NumPy", tuple((r, 100.0 + r % 3) for r in rows))
    own = Measurement("fused.mlir", tuple((r, 94.0 + 9 * ((r + 1) % 3)) for r in rows))
    said = measured(
        Comparison("p", "0" * 64, (numpy, own), "NumPy", 9, 0, (("cpu", "x"),)), "fused.mlir", subject
    ).said
    assert said.endswith("times as fast as NumPy: no difference seen from NumPy") and " to " in said


def test_words_and_ranks_have_one_rule_for_ties(subject):
    for rounds in (4, 30):
        rows = range(rounds)
        numpy = Measurement("NumPy", tuple((r, 100.0) for r in rows))
        plain = Measurement("unscheduled", tuple((r, 8_000.0) for r in rows))
        own = Measurement("fused.mlir", tuple((r, 7_200.0 * (1 + 0.02 * (r % 3))) for r in rows))
        found = Comparison("p", "0" * 64, (numpy, plain, own), "NumPy", rounds, 0, (("cpu", "x"),))
        is_tied = "3" not in {rank.text for rank in rank_entries(found)}
        said = measured(found, "fused.mlir", subject).said
        assert is_tied == (rounds == 4) == ("no difference seen from unscheduled" in said)


def test_times_of_other_runs_are_not_beside_the_ratios_of_this_one(subject, schedule):
    other = dataclasses.replace(subject, number=2, knobs=(("tile", 16),))
    runs = [
        measured(comparison(ns=2_000.0), "fused.mlir", subject),
        measured(comparison(ns=1_000.0), "fused.mlir", other),
    ]
    chart = results_html(runs).partition("<ol")[0]
    values = re.findall(r'lhw-value">([^<]*)<', chart)
    assert values[-2:] == [f"{runs[0].own_bar.value:.3g}×", runs[1].own_bar.text]
    assert escape(runs[0].own_bar.text) in chart.replace(values[-2] + "<", "")  # in its title


def test_a_sweep_keeps_its_best_variants_and_the_one_that_stood(subject, schedule):
    found = swept(
        sweep_result(schedule, record(16, 100), record(4, 900), record(8, 400), record(2, None, "crashed")),
        subject,
    )
    assert [bar.knobs for bar in found.bars] == [(("tile", 16),), (("tile", 8),), (("tile", 4),)]
    assert [bar.value for bar in found.bars] == [4, 1, pytest.approx(4 / 9)]
    assert [bar.is_anchor for bar in found.bars] == [False, True, False]
    assert found.said == "4 variants (1 failed); ahead: tile = 16 in 100 ns"
    stopped = swept(sweep_result(schedule, end="stopped"), subject)
    assert stopped.status == "stopped" and stopped.said == "0 variants, stopped" and not stopped.bars


def test_texts_have_letters_where_there_are_several(schedule):
    def of(text):
        return Result(1, "run", "ok", dataclasses.replace(schedule, text=text), (), "", "")

    assert text_letters([of("a"), of("a")]) == {}
    letters = text_letters([of(str(n)) for n in range(28)])
    assert list(letters.values())[25:] == ["Z", "AA", "AB"]


def test_what_is_stopped_is_ended_until_it_is_over():
    ends, is_ended = [], threading.Event()
    watcher = Watcher(lambda _: None)

    def end():
        ends.append(1)
        if len(ends) > 2:  # what ran began only after the first two
            watcher.over.set()
            is_ended.set()

    watcher.end = end
    watcher.tell(RunProgress("run", "compiling"))
    watcher.stop()
    assert is_ended.wait(30)
    with pytest.raises(LhkitError, match="stopped"):
        watcher.tell(RunProgress("run", "sampling"))


def test_a_run_is_checked_and_its_version_found_again(bench):
    said = []
    bench.workbench.changed = lambda names: said.append(bench.part("run")["said"]) if "run" in names else None
    bench.do("run")
    bench.workbench.changed = bench.names.extend
    (result,) = bench.workbench.runs.results
    assert result.status == "ok" and result.said.startswith("right: as ") and result.knobs == (("tile", 8),)
    assert bench.part("results")["count"] == 1 and bench.part("run")["kind"] == ""
    bench.do("set_knobs", knobs={"tile": 16})
    bench.do("remove_step", step=FUSE)
    bench.do("go_back", result=1)
    assert bench.session.text == FUSED and bench.session.schedule.values == {"tile": 8}
    bench.do("undo")
    assert "fuse_into" not in bench.session.text
    bench.do("go_back", result=7)
    assert "no result 7" in bench.notice.message
    bench.workbench.close()


def test_a_schedule_that_cannot_run_is_a_result_too(open_bench):
    bench = open_bench(FUSED.replace("linalg.max", "linalg.nothing"))
    bench.do("run")
    assert bench.workbench.runs.results[0].status == "failed"
    bench.do("sweep")
    assert "failed" in bench.part("results")["html"] or "✕" in bench.part("results")["html"]
    bench.session.set_text("nonsense")
    bench.do("run")
    assert "does not parse" in bench.notice.message
    bench.workbench.close()


def test_what_can_be_done_with_a_handle_can_be_added(bench, monkeypatch):
    # The usual ops come first; the whole catalogue, with what dies of it, is what tests of the trying try.
    monkeypatch.setattr(jobs, "try_ops", lambda *subject: itertools.islice(try_ops(*subject), 10))
    handle = next(h.id for h in bench.workbench.trace.handle_records if h.name == "%sum_tile")
    bench.do("try_handle", handle=handle)
    assert bench.part("tried")["handle"] == "%sum_tile"
    found = bench.workbench.tryouts.found
    number = next(i for i, t in enumerate(found) if t.op == "transform.structured.generalize")
    assert found[number].status == "effect" and bench.part("tried")["count"] > 3
    bench.do("add_tried", number=number, handle="%sum_tile")
    assert "structured.generalize %sum_tile" in bench.session.text
    shown = bench.workbench.trace.step_records[bench.workbench.screen.step]
    assert shown.op == "transform.structured.generalize"
    bench.do("add_tried", number=number, handle="%sum_tile")
    assert "has changed since" in bench.notice.message
    bench.do("try_handle", handle="nobody")
    assert "no name" in bench.notice.message


def test_an_empty_schedule_becomes_what_is_proposed(open_bench):
    bench = open_bench(EMPTY)
    assert bench.part("head")["empty"]
    bench.do("open", area="narrow", pane="results")
    bench.do("propose")
    (result,) = bench.workbench.runs.results
    assert result.status == "ok" and result.said.startswith("verified against")
    assert bench.session.text == result.schedule.text and bench.session.trace.outcome.status == "ok"
    assert not bench.part("head")["empty"] and bench.part("head")["undo"] == "proposal"
    assert bench.part("screen")["front"]["narrow"] == "steps"
    assert "✓ proposed" in bench.part("results")["html"]
    bench.do("undo")
    assert bench.session.text == EMPTY and bench.part("head")["empty"]
    bench.workbench.close()


def test_a_proposal_replaces_no_steps(bench):
    before = bench.session.text
    assert not bench.part("head")["empty"]
    bench.do("propose")
    assert bench.session.text == before and "among the results" in bench.notice.message
    bench.do("go_back", result=1)
    assert bench.session.text == bench.workbench.runs.results[0].schedule.text
    bench.workbench.close()


def test_a_proposal_that_fails_changes_nothing(open_bench, monkeypatch):
    def fail(*_, **__):
        raise error_for(Failure("definite", "cpu.mlir does not apply"))

    monkeypatch.setattr(runs, "propose", fail)
    bench = open_bench(EMPTY)
    bench.do("propose")
    assert [(r.status, r.said) for r in bench.workbench.runs.results] == [("failed", "cpu.mlir does not apply")]
    assert bench.session.text == EMPTY
    bench.workbench.close()
