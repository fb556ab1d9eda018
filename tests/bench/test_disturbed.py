"""Measurements beside another timing on this machine are marked, in words, drawings and files."""

import json
import re
import subprocess
import sys
from contextlib import closing

import lhkit
from lhkit.bench.bench_file import bench_from_json, bench_to_json
from lhkit.bench.speed_charts import draw_speed_bars, speed_bars
from lhkit.model.measurement import Measurement
from lhkit.show.value_views import measurement_svg, measurement_words
from lhkit.worker.client import Worker

HOLD = """
import sys
from contextlib import closing
from lhkit.worker.timing_conditions import timing_sign
with timing_sign():
    print("timing", flush=True)
    sys.stdin.readline()
"""


def test_a_comparison_marks_rounds_beside_another_timing(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))  # where the worker and the other one look
    with closing(Worker()) as worker:
        payload = lhkit.load_payload(lhkit.payloads.row_sum(8, 8).text, worker=worker)
        kernel = lhkit.compile(payload, worker=worker)
        alone = lhkit.measure({"k": kernel}, rounds=5, seconds=0.2)
        command = [sys.executable, "-c", HOLD]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "timing\n"
        beside = lhkit.measure({"k": kernel}, rounds=5, seconds=0.2)
        process.communicate("\n", timeout=30)
    assert all(m.disturbed_rounds == () and not m.is_disturbed for m in alone.measurements)
    for entry in beside.measurements:
        assert entry.disturbed_rounds == tuple(n for n, _ in entry.samples_ns) and entry.is_disturbed
        assert "of them beside another timing on this machine" in measurement_words(entry)
        assert "beside another timing" in measurement_svg(entry)
    assert "beside another timing" not in measurement_svg(alone.measurements[0])
    assert all(bar.is_disturbed for bar in speed_bars(beside))
    assert "other timings ran" in draw_speed_bars(beside).get_supxlabel()
    assert "other timings ran" not in draw_speed_bars(alone).axes[0].get_xlabel()
    data = json.loads(json.dumps(bench_to_json(beside)))
    assert bench_from_json(data, "f").measurements == beside.measurements
    for entry in data["entries"]:
        del entry["disturbed_rounds"]  # as older files
    assert not bench_from_json(data, "f").measurements[0].is_disturbed


def test_samples_are_drawn_with_a_key_below_them():
    drawn = measurement_svg(Measurement("k", ((0, 100.0), (1, 110.0), (2, 130.0))))
    assert re.findall(r">([^<]*)</text>", drawn) == [
        "100 ns",
        "130 ns",
        "a sample, rounds from above down",
        "median",
        "95 % interval",
    ]
    height = float(re.search(r'viewBox="0 0 \S+ (\S+)"', drawn)[1])
    key = float(re.search(r"translate\(0 ([\d.]+)\)", drawn)[1])
    ends = [float(y) for y in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>1', drawn)]
    assert len(ends) == 2 and max(ends) + 10 < key < height - 8
