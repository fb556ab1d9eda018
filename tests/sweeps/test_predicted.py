"""The strategy ``predicted``: a search by a cost model, on spaces whose costs are known."""

import asyncio
import math
import threading

import pytest

import lhkit
from lhkit.load.loader import as_schedule
from lhkit.model.errors import UsageError
from lhkit.sweeps import sweep_charts
from lhkit.sweeps.engine import LocalExecutor
from lhkit.sweeps.space import Axis, Space, space_of
from lhkit.sweeps.strategies import make_strategy, predicted, why_missing
from lhkit.sweeps.sweep_task import VARIANT_LIMITS, SweepOptions, prepare_task
from lhkit.worker.kernel_requests import VariantDescription

AXES = (
    Axis("m", (1, 2, 4, 8, 16, 32), 4),
    Axis("n", (8, 16, 32, 64, 128), 32),
    Axis("k", (1, 2, 4, 8, 16, 32), 4),
    Axis("unroll", (1, 2, 4), 1),
)
SPACE = Space(AXES)


def cost(point):
    """Return a cost with one best point, m = 4, n = 16, k = 16, unroll = 2; it depends on products."""
    v = dict(point)
    registers = v["m"] * v["n"] / 8
    spills = max(0.0, registers - 8) * 0.3
    return (
        1
        + spills
        + abs(math.log2(registers / 8))
        + 0.3 * abs(math.log2(v["k"] / 16))
        + 0.2 * abs(v["unroll"] - 2)
    )


def description(point):
    v = dict(point)
    # The loop is unrolled at most k times: more is the same program.
    unroll = min(v["unroll"], v["k"])
    return VariantDescription(f"{v['m']} {v['n']} {v['k']} {unroll}", {"registers": v["m"] * v["n"] / 8})


def search(strategy, *, describe):
    """Run a strategy as the engine does; return the points in order, with their costs."""
    found = []
    while True:
        if describe and (points := strategy.to_describe()):
            strategy.take_descriptions(points, [description(p) for p in points])
        if (point := strategy.ask()) is None:
            return found
        found.append((point, cost(point)))
        strategy.tell(point, found[-1][1])


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_540_is_found_in_a_tenth_of_them(seed):
    found = search(make_strategy("predicted", SPACE, seed=seed, budget=54), describe=True)
    assert len(found) == 54
    assert min(c for _, c in found) <= 1.02 * min(cost(p) for p in SPACE.points())


def test_without_a_budget_it_ends_where_nothing_is_gained():
    found = search(make_strategy("predicted", SPACE), describe=True)
    assert len(found) < 100


def test_equal_programs_are_asked_for_once():
    found = search(make_strategy("predicted", SPACE, budget=80), describe=True)
    programs = [description(p).ir_sha256 for p, _ in found]
    assert len(set(programs)) == len(programs)


@pytest.mark.parametrize("count", [1, 2, 11, 12])
def test_a_space_of_few_points_is_tried_to_its_end(count):
    space = Space((Axis("m", tuple(range(1, count + 1)), 1),))
    strategy, found = make_strategy("predicted", space), []
    while True:
        if points := strategy.to_describe():
            strategy.take_descriptions(points, [None] * len(points))
        if (point := strategy.ask()) is None:
            break
        found.append(point)
        strategy.tell(point, float(dict(point)["m"]))
    assert len(set(found)) == len(found) == count


def test_points_are_described_while_the_last_one_of_a_round_is_tried():
    strategy = make_strategy("predicted", SPACE)
    waiting = []
    while not waiting or not strategy.to_describe():
        waiting.append(strategy.ask())
        if len(waiting) == 2:
            first = waiting.pop(0)
            strategy.tell(first, cost(first))
    assert len(waiting) == 1 and strategy.ask() is None, "the next round is not drawn before it is known"
    strategy.tell(waiting[0], cost(waiting[0]))
    assert strategy.ask() is not None


def test_many_processes_do_not_wait_for_the_first_points():
    strategy = make_strategy("predicted", SPACE)
    strategy.take_descriptions((), [])
    asked = [strategy.ask() for _ in range(200)]
    assert None not in asked and len(set(asked)) == 200 and strategy.to_describe() == ()


def test_without_descriptions_it_learns_from_the_knobs():
    strategy = make_strategy("predicted", SPACE, budget=60)
    found = search(strategy, describe=False)
    assert min(c for _, c in found) <= 1.25 * min(cost(p) for p in SPACE.points())
    assert strategy.prediction().described == 0


def test_failures_are_learned_too():
    strategy = make_strategy("predicted", SPACE, budget=50)
    asked = []
    while (point := strategy.ask()) is not None:
        asked.append(dict(point)["m"])
        strategy.tell(point, None if dict(point)["m"] >= 16 else cost(point))
    assert sum(m >= 16 for m in asked[10:]) <= 4


def test_a_prediction_tells_how_far_it_can_be_believed():
    strategy = make_strategy("predicted", SPACE, budget=60)
    assert strategy.prediction() is None
    search(strategy, describe=True)
    told = strategy.prediction()
    assert told.rank_correlation > 0.7
    assert len(told.pairs) == 60
    assert told.described > 60
    figure = sweep_charts.draw_prediction(told)
    assert figure.axes[0].get_title() == f"rank correlation {told.rank_correlation:.2f}"
    (key,) = figure.legends
    assert "fastest when timed alone" in [text.get_text() for text in key.texts]
    figure.draw_without_rendering()
    assert figure.bbox.x0 <= key.get_window_extent().x0 and key.get_window_extent().x1 <= figure.bbox.x1
    with pytest.raises(UsageError, match="no cost model"):
        sweep_charts.draw_prediction(None)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(predicted.importlib.util, "find_spec", {}.get)
    assert "lhkit[predict]" in why_missing("predicted")


def test_scikit_learn_is_imported_beside_what_comes_first_and_before_the_first_variant(monkeypatch):
    begun, may_end, ended = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        may_end.wait()
        ended.append(True)
        raise ImportError("broken")

    monkeypatch.setattr(predicted, "_import_trees", slow)
    strategy = make_strategy("predicted", SPACE)  # does not wait for it
    begun.wait()
    assert not ended
    may_end.set()
    assert strategy.to_describe() and ended
    with pytest.raises(ImportError, match="broken"):
        strategy._fitted([[0.0]], [0.0])


def test_a_sweep_says_what_each_stage_cut(tmp_path):
    swept = lhkit.sweep(
        lhkit.payloads.matmul(64, 64, 64),
        "matmul_block_tile_vectorize.mlir",
        knobs={"block_m": "16..64", "block_n": "32..64"},
        strategy="predicted",
        budget=20,
        store=tmp_path / "s.jsonl",
        confirm=False,
    )
    result = swept.result()
    schedule, compiled, short, full, beside = result.stages
    assert schedule.variants == result.prediction.described >= compiled.variants
    assert compiled.variants == short.variants + compiled.cut
    assert short.variants - short.cut == full.variants > 0
    assert beside.variants == 0
    text = str(result)
    assert "stages: schedule alone" in text
    assert "cost model: rank correlation" in text


def test_descriptions_are_those_of_the_scheduled_payload(worker):
    payload, schedule = (
        lhkit.payloads.matmul(512, 512, 512),
        as_schedule("matmul_block_tile_vectorize.mlir", worker),
    )
    space = space_of(schedule, knobs={}, constraints=(), payload=payload)
    knobs = {"block_m": 64, "block_n": 256, "tile_m": 2, "tile_n": 64}
    other = {"block_m": 64, "block_n": 256, "tile_m": 4, "tile_n": 16}
    points = [tuple((axis.name, own[axis.name]) for axis in space.axes) for own in (knobs, other, knobs)]
    task = prepare_task({"": payload}, schedule, knobs, None, SweepOptions(), worker, "here")
    executor = LocalExecutor(worker, VARIANT_LIMITS, done_with=None)
    wide, small, again = asyncio.run(executor.describe([task.variant(p) for p in points]))
    assert wide == again
    assert wide.ir_sha256 != small.ir_sha256
    bits = lhkit.load.target_choice.code_vector_bits("")
    assert wide.features["carried"] == 2 * 64 * 32 / bits
    assert small.features["carried"] == 4 * 16 * 32 / bits
    # 512^3 multiply-adds in vectors of 64 and 16.
    assert wide.features["arithmetic"] == pytest.approx(math.log2(512**3 * 32 / bits), abs=0.1)
    # The third level holds everything, so each matrix comes once.
    if "bytes into L3" in wide.features:
        assert wide.features["bytes into L3"] < math.log2(8 * 512 * 512 * 4)
    assert wide.features["lanes"] == 64
    assert wide.features["remainder"] == 0
