"""Who takes part in a confirmation, and how its outcome is told."""

import dataclasses

from sweep_records import comparison, record, result_of

from lhkit.model.measurement import CoreLimits
from lhkit.sweeps.confirmation import (
    Confirmation,
    describe_confirmation,
    find_speed_ups,
    find_throughput,
    judge,
)
from lhkit.sweeps.confirmation_run import choose_contenders
from lhkit.sweeps.sweep_summary import payload_rows
from lhkit.sweeps.sweep_table import confirmation_lines, sweep_table
from lhkit.sweeps.sweep_table import leaders as leaders_of
from lhkit.sweeps.variant_record import SweepTime


def timed(number, median, mad=0, runs=9, **fields):
    times = SweepTime(median, median - 2 * mad, mad, runs)
    return record({"m": number}, median, number=number, time_ns=times, **fields)


def contenders(*records, **options):
    return [r.values["m"] for r in choose_contenders(records, **options)]


def test_those_that_may_be_the_best_take_part_the_best_first():
    near = [timed(1, 1300), timed(2, 1000), timed(3, 1040), timed(4, 1045)]
    assert contenders(*near, timed(5, 1060)) == [2, 3, 4]
    assert contenders(*near, timed(5, 1049)) == [2, 3, 4, 5]


def test_the_best_three_take_part_however_clear_it_looks():
    assert contenders(timed(1, 1300), timed(2, 1000), timed(3, 9000), timed(4, 9900)) == [2, 1, 3]


def test_noise_and_few_runs_let_more_take_part():
    first = [timed(2, 1000), timed(4, 1001), timed(5, 1002)]
    assert contenders(*first, timed(3, 1200, mad=60, runs=4)) == [2, 4, 5, 3]
    assert contenders(*first, timed(3, 1200, mad=4, runs=4)) == [2, 4, 5]


def test_failures_hopeless_ones_and_equal_programs_do_not_take_part():
    records = [
        timed(1, 1000),
        record({"m": 2}, status="same-as", number=2, same_as=f"{1:064d}"),
        timed(3, 1002, status="stopped-early"),
        record({"m": 4}, status="crashed", number=4),
    ]
    assert contenders(*records) == [1]
    assert contenders() == []


def test_only_the_best_few_take_part():
    assert contenders(*(timed(n, 1000 + n) for n in range(9))) == [0, 1, 2, 3, 4]


def runs():
    limits = CoreLimits(100.0, 50.0, 10.0)
    samples = [{"NumPy": [40.0], "a": [20.0 + d], "b": [10.0]} for d in (0.0, 0.1, 0.2, 0.3)]
    return [
        dataclasses.replace(comparison(s), flops=500, element_type="float32", limits=limits) for s in samples
    ]


def confirmation():
    gflops, of_peak = find_throughput(runs(), "b")
    return Confirmation(
        verdict=judge(runs(), ["a", "b"]),
        knobs=(("a", (("m", 1),)), ("b", (("m", 2), ("n", 8)))),
        keys=(("a", "0" * 64), ("b", "1" * 64)),
        speed_ups=find_speed_ups(runs(), "b", ["a", "b", "absent", "NumPy"]),
        gflops=gflops,
        of_peak=of_peak,
        hot_loops=None,
        end="decided",
        seconds=8.0,
        runs=tuple(runs()),
    )


def test_the_outcome_is_told_with_speed_ups_and_share_of_the_peak():
    found = confirmation()
    assert found.winner_key == "1" * 64 and found.bound is None
    assert [s.over for s in found.speed_ups] == ["a", "NumPy"]
    lines = describe_confirmation(found)
    assert lines[0] == "winner: b is faster than a, by 102 %"
    assert lines[1] == "it has m = 2, n = 8"
    assert lines[3] == "speed: 4.000× that of NumPy (95 % interval 4.000 – 4.000)"
    assert lines[4] == "throughput: 50 GFLOP/s, 50 % of the core's FMA peak"
    assert lines[-1] == "timed side by side in 4 fresh processes, 8 s; decided"


def test_a_table_in_another_order_than_what_was_confirmed_says_so():
    tried = [record({"m": m}, ns, number=m) for m, ns in ((0, 100), (1, 105))]
    lines = [confirmation_lines(result_of(tried, confirmations=[("", c)])) for c in leaders()]
    told = [
        "the table is in the order of the first timings; those side by side tell more" in own for own in lines
    ]
    assert told == [False, True]


def test_table_words_and_drawings_call_the_outcome_the_same():
    """Where time ran out nothing differs so far: that is undecided, and not equal."""
    tied = judge([comparison({"a": (100, 101), "b": (100, 101)})] * 2, ["a", "b"], is_over=True)
    assert tied.outcome == "no difference"
    records = [
        record({"payload": p, "m": m}, 100 + m, number=2 * n + m) for n, p in enumerate("xy") for m in (0, 1)
    ]
    found = []
    for name, own, end in (("x", records[:2], "out of time"), ("y", records[2:], "decided")):
        knobs = tuple((c, r.knobs) for c, r in zip("ab", own, strict=True))
        keys = tuple((c, r.key) for c, r in zip("ab", own, strict=True))
        both = dataclasses.replace(confirmation(), verdict=tied, knobs=knobs, keys=keys, end=end)
        found.append((name, both))
    result = result_of(records, confirmations=found, payload=("x", "y"), m=(0, 1))
    assert [row["confirmed"] for row in payload_rows(result)] == ["undecided", "no difference"]
    assert [row[-1] for row in sweep_table(result).rows] == ["undecided", "no difference"]
    said = [line.split(": ")[1] for line in confirmation_lines(result) if line[:2] in ("x:", "y:")]
    assert said == ["undecided", "no difference"]
    assert leaders_of(result).words == "ahead so far, undecided; not told apart when timed again"


def test_what_to_do_about_confirmations_without_time_is_said_once_for_all_payloads():
    undecided = dataclasses.replace(confirmation(), end="out of time")
    many = [(f"m{n}", undecided if n < 8 else confirmation()) for n in range(9)]
    lines = confirmation_lines(result_of([record({"m": 0}, 100)], confirmations=many))
    assert lines[0].startswith("m0: ") and sum(line.startswith("  it has ") for line in lines) == 9
    (advice,) = [line for line in lines if "run the sweep again" in line]
    assert "more time for it on m0, m1, m2, m3, m4, m5, m6, m7 (confirm_seconds" in advice


def leaders():
    """The same confirmation with the first record ahead, then with the second."""
    return [dataclasses.replace(confirmation(), keys=(("b", f"{n:064d}"),)) for n in (0, 1)]


def test_no_difference_is_told_as_such():
    found = dataclasses.replace(confirmation(), verdict=judge(runs()[:1], ["a", "b"], is_over=True))
    lines = describe_confirmation(dataclasses.replace(found, problem="the worker died"))
    assert lines[0].startswith("no difference: ") and lines[1].startswith("any of them will do; ")
    assert found.winner_key is None and found.leader_key == "1" * 64
    assert lines[-1] == "a process failed: the worker died"


def test_throughput_needs_counted_operations():
    assert find_throughput([comparison({"a": [1.0]})], "a") == (None, None)
