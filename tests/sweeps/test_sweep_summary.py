"""What is read out of the records of a sweep."""

import json

import pytest
from sweep_records import grid, record, result_of

from lhkit.model.errors import UsageError
from lhkit.sweeps.sweep_charts import heat_map, status_bars, sweep_history
from lhkit.sweeps.sweep_summary import (
    knob_importance,
    knob_values,
    median_times,
    rank_choices,
    relative_times,
)


def test_the_best_so_far_falls_and_never_rises():
    times = [500, "crashed", 300, 400, 200]
    history = sweep_history(grid(lambda i: times[i], i=range(5)))
    assert [ns for _, ns in history.best[""]] == [2.5, 2.5, 1.5, 1.5, 1]
    assert history.timed == ((1, 2.5), (3, 1.5), (4, 2), (5, 1)) and history.best_ns == 200


def test_nothing_is_best_before_anything_ran():
    history = sweep_history([record({"i": 1}, status="timeout"), record({"i": 2}, 50, number=1)])
    assert (history.best, history.failed) == ({"": ((2, 1.0),)}, (1,))


def test_same_programs_have_the_times_of_the_one_that_was_timed():
    first = record({"i": 1}, 100, number=1)
    twin = record({"i": 2}, status="same-as", number=2, same_as=first.key)
    hopeless = record({"i": 3}, 900, status="stopped-early", number=3)
    assert median_times([twin, first, hopeless]) == {twin.key: 100, first.key: 100}
    assert median_times([hopeless], hopeless=True) == {hopeless.key: 900}


def test_failures_are_counted_by_kind_with_what_they_said():
    records = [
        record({"i": 0}, 5),
        record({"i": 1}, status="crashed", number=1, message="signal 11"),
        record({"i": 2}, status="schedule-failed", number=2, message="no tiling"),
        record({"i": 3}, status="crashed", number=3, message="signal 6"),
        record({"i": 4}, status="crashed", number=4, message="signal 6"),
        record(
            {"i": 5},
            status="compile-failed",
            number=5,
            message="/home/of/a/user/with/a/long/name/s.mlir:3:5: no",
        ),
    ]
    bars = [(bar.status, bar.count, bar.text) for bar in status_bars(records)]
    assert bars == [
        ("ok", 1, ""),
        ("schedule-failed", 1, "no tiling"),
        ("compile-failed", 1, "s.mlir:3:5: no"),
        ("crashed", 3, "signal 6"),
    ]


def test_values_of_knobs_are_in_order():
    records = [record({"n": v, "mode": m}) for v, m in ((64, "b"), (8, "a"), (16, "b"))]
    assert knob_values(records) == {"n": (8, 16, 64), "mode": ("b", "a")}


def test_the_variance_of_a_grid_falls_to_its_knobs():
    importance = knob_importance(grid(lambda a, b, c: 100 * 4**a * 2**b, a=(0, 1), b=(0, 1), c=(1, 2)))
    assert importance.method == "variance of log time"
    shares = {i.knob: i.share for i in importance.knobs}
    assert shares == pytest.approx({"a": 0.8, "b": 0.2, "c": 0.0})
    assert importance.interactions == pytest.approx(0.0)
    first = importance.knobs[0]
    assert (first.knob, first.best, importance.variants) == ("a", 0, 8)
    assert first.gain == pytest.approx(4, rel=0.01)


def test_what_only_a_pair_of_knobs_explains_is_interaction():
    importance = knob_importance(grid(lambda a, b: 100 if a == b else 200, a=(0, 1), b=(0, 1)))
    assert [i.share for i in importance.knobs] == pytest.approx([0, 0])
    assert importance.interactions == pytest.approx(1.0)


def test_incomplete_designs_are_ranked_and_outliers_do_not_rule():
    def cost(a, b):
        return "crashed" if (a, b) == (3, 0) else (10**9 if (a, b) == (0, 1) else 100 + 10 * a + b)

    importance = knob_importance(grid(cost, a=range(6), b=(0, 1)))
    assert (importance.method, importance.interactions) == ("variance of ranks", None)
    assert importance.knobs[0].knob == "a" and importance.knobs[0].share > 0.5
    assert importance.variants == 11


def test_shares_of_knobs_that_move_together_are_never_more_than_all():
    records = [
        record({"a": n, "b": -n, "c": n % 2}, 100 + n, number=n * 4 + k) for n in range(4) for k in range(4)
    ]
    importance = knob_importance(records)
    assert importance.method == "variance of ranks" and importance.too_few is None
    assert sum(i.share for i in importance.knobs) == pytest.approx(1)


def test_nothing_timed_explains_nothing():
    assert knob_importance([record({"a": 1}, status="crashed")]).knobs == ()


def sizes():
    """b=2 is best at 256, b=1 at 512, b=3 fails at one."""
    times = {("256", 1): 120, ("256", 2): 100, ("256", 3): 50, ("512", 1): 1000, ("512", 2): 1900}
    return grid(lambda payload, b: times.get((payload, b), "crashed"), payload=("256", "512"), b=(1, 2, 3))


def test_one_choice_for_all_payloads_has_its_regret():
    choices = rank_choices(sizes())
    assert [dict(c.knobs)["b"] for c in choices] == [1, 2]  # what failed on one payload is no choice
    best = rank_choices(sizes())[0]
    assert dict(best.regrets) == pytest.approx({"256": 1.4, "512": 0.0})
    assert best.worst_regret == pytest.approx(1.4)
    assert best.mean_regret == pytest.approx(2.4**0.5 - 1)


def test_the_table_from_size_to_knobs_is_a_frame_csv_and_json(tmp_path):
    result = result_of(sizes(), payload=("256", "512"), b=(1, 2, 3))
    frame = result.by_payload()
    assert [dict(c.knobs)["b"] for c in result.choices()] == [1, 2]
    columns = ["payload", "arguments", "b", "median_ns", "confirmed", "regret_of_one_choice"]
    assert list(frame.columns) == columns
    lines = result.save_by_payload(tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == ",".join(columns) and lines[2] == "512,,1,1000,,0.0"
    rows = json.loads(result.save_by_payload(tmp_path / "t.json").read_text())
    assert [(row["payload"], row["b"]) for row in rows] == [("256", 3), ("512", 1)]
    with pytest.raises(UsageError, match=r"FILE\.csv or FILE\.json"):
        result.save_by_payload(tmp_path / "t.txt")
    text = result._repr_mimebundle_()["text/plain"]
    assert "one choice for all: b = 1, slower than the best of each by 55 % on average" in text
    assert "at most by 140 % (256)" in text


def test_times_are_compared_within_a_payload():
    relative = relative_times(sizes())
    assert sorted(relative.values()) == pytest.approx([1, 1, 1.9, 2, 2.4])
    heat = heat_map(sizes())
    assert (heat.y_name, heat.best_ns, heat.worst) == ("payload", None, 2.4)
    assert sum(c.is_framed for f in heat.facets for c in f.cells) == 2
    times = {"256": 100, "512": 90_000}
    many = grid(
        lambda payload, b: "crashed" if b > 4 else times[payload] * b, payload=tuple(times), b=range(1, 6)
    )
    assert knob_importance(many).knobs[0].knob == "b"


def test_maps_have_numbers_in_order_however_they_were_given():
    records = grid(lambda m, mode: 10 * m, m=(2, 4, 16, 8), mode=("b", "a"))
    heat = heat_map(records, values={"m": (2, 4, 16, 8), "mode": ("b", "a")})
    assert heat.x_values == ("2", "4", "8", "16") and heat.y_values == ("b", "a")
    texts = {heat.x_values[cell.column]: cell.text for cell in heat.facets[0].cells}
    assert texts == {"2": "1.00", "4": "2.00", "8": "4.00", "16": "8.00"}


def test_payloads_without_a_common_choice_have_no_rank_choices():
    records = [record({"payload": "a", "b": 1}, 5), record({"payload": "b", "b": 2}, 5, number=1)]
    with pytest.raises(UsageError, match="no choice of knobs was timed on all payloads"):
        rank_choices(records)
    with pytest.raises(UsageError, match="has an axis 'payload'"):
        rank_choices([record({"b": 2}, 5)])
