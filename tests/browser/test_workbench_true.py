"""What the screen says is true: copies of an op, counts of a step, times beside ratios, a worker that was killed."""

import os
import re
import signal

import pytest
from conftest import run_code

EXPLORE = "import lhkit\nbench = lhkit.explore()\nbench"
# A measurement on a clock that slows down, in which the slow entry sat out the later rounds.
MEASURED = """
from lhkit.model.measurement import Comparison, Measurement, Verification
from lhkit.workbench.runs import Subject, measured
clock = [1.0] * 7 + [2.0] * 14
numpy = Measurement("NumPy", tuple((r, 100.0 * c) for r, c in enumerate(clock)))
plain = Measurement("unscheduled", tuple((r, 8_000.0 * c) for r, c in enumerate(clock[:9])))
own = Measurement("fc_relu_handles.mlir", tuple((r, 7_200.0 * c) for r, c in enumerate(clock)),
                  verification=Verification(True, 1e-6, 1e-5, "NumPy", None))
found = Comparison("p", "0" * 64, (numpy, plain, own), "NumPy", 21, 0, (("cpu", "x"),))
subject = Subject(bench.session.payload, bench.schedule, (("tile", 32),), "as it was loaded", 1)
def show():
    bench.workbench.runs.results = (measured(found, "fc_relu_handles.mlir", subject),)
    bench.workbench.refresh()
bench.jobs.run(show)
bench
"""
UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
COUNTS = re.compile(r"([+−~↕]) ?([\d,]+)")


@pytest.fixture
def bench(bench_page):
    run_code(bench_page, EXPLORE)
    root = bench_page.page.locator(".lhw")
    root.locator(".lhw-row.lh-now[data-step='5']").wait_for()
    root.locator("[data-pane='payload'] .l").first.wait_for()
    yield root


def test_a_picture_of_one_copy_of_an_op_says_of_how_many(bench):
    bench.get_by_role("tab", name="Tiles").click()
    picture = bench.locator("[data-pane='tiles'] svg")
    bench.locator(".lhw-row[data-step='8'] .lhw-op").click()
    picture.filter(has_text="after step 8").wait_for()
    assert "Shown is" not in picture.text_content()
    bench.locator(".lhw-row[data-step='9'] .lhw-op").click()  # loop.unroll by 4
    picture.filter(has_text="after step 9").wait_for()
    assert "Shown is 1 of 4 linalg.matmul in the same loops" in picture.text_content()


def test_the_row_of_a_step_and_its_payload_have_the_same_counts_and_signs_are_explained(bench):
    seen = 0
    for step in range(10):
        row = bench.locator(f".lhw-row[data-step='{step}']")
        row.locator(".lhw-op").click()
        head = bench.locator("[data-pane='payload'] .lh-irt", has_text=f"after step {step},")
        head.wait_for()
        effect = row.locator(".lhw-effect")
        in_row = COUNTS.findall(effect.inner_text()) if effect.count() else []
        assert in_row == COUNTS.findall(head.text_content().partition(" · ")[2]), step
        seen += bool(in_row)
    assert seen >= 5
    legend = bench.locator(".lhw-legend").text_content()
    assert all(
        sign in legend for sign in ("+ created", "− erased", "~ changed", "↕ moved", "✕", "×2: ran twice")
    )


def test_ratios_and_times_of_a_measurement_agree_on_who_is_faster(bench_page, bench):
    run_code(bench_page, MEASURED)
    bench.get_by_role("tab", name="Results").click()
    chart = bench.locator(".lhw-chart").first
    chart.locator(".lhw-speed", has_text="unscheduled").wait_for()
    said = [text for text in chart.locator(".lhw-value").all_inner_texts() if "×" in text]
    assert len(said) == 3
    times = {}
    for text in said:
        ratio, time, unit = re.match(r"([\d.]+)× \(([\d.]+) (\w+)", text).groups()
        times[float(ratio)] = float(time) * UNITS[unit]
    anchor = times[1.0]
    for ratio, time in times.items():
        assert time * ratio == pytest.approx(anchor, rel=0.02), said


def test_a_worker_that_was_killed_is_no_defect_of_the_compiler(bench_page, bench):
    run_code(
        bench_page,
        "from lhkit.worker.client import shared_worker\nimport os, signal\n"
        "os.kill(shared_worker().pid, signal.SIGSTOP)\nprint('pid', shared_worker().pid)\nbench",
    )
    printed = bench_page.page.locator(".jp-OutputArea-output", has_text="pid ").first
    pid = int(printed.inner_text().split()[1])
    bench = bench_page.page.locator(".lhw")
    bench.get_by_role("slider", name="knob tile").fill("0")
    bench.locator(".lhw-working:not([hidden])").wait_for()  # its trace is under way
    os.kill(pid, signal.SIGKILL)
    bench.locator(".lhw-outcome", has_text="cannot be traced").or_(
        bench.locator(".lhw-outcome", has_text="process died")
    ).wait_for()
    bench.get_by_role("tab", name="Guide").click()
    said = bench.locator("[data-pane='guide']")
    said.get_by_text("killed from outside").first.wait_for()
    assert "defect" not in said.inner_text()
