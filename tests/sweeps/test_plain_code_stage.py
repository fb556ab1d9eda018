"""What a sweep spares: optimized code of what is far behind without it, and work on what cannot be tried."""

from types import SimpleNamespace

import numpy as np
import pytest

import lhkit
from lhkit.compiler.lowering import pass_steps
from lhkit.compiler.machine import variant_trials
from lhkit.compiler.machine.compiled_kernel import Recipe
from lhkit.compiler.machine.variant_trials import VariantBench
from lhkit.load.loader import application_of, payload_source
from lhkit.model.errors import LhkitError
from lhkit.sweeps import live_sweep
from lhkit.sweeps.sweep_task import SweepOptions, prepare_task
from lhkit.worker.kernel_requests import CallSetup, KernelSpec, PrepareSweep, TimingRules, TryVariant
from lhkit.worker.plain_code_stage import PlainCodeStage
from lhkit.worker.shared_arrays import ArrayPlace

PAYLOAD = """func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.add ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}"""
# Applies for sizes of at most 4; the other knob does not matter.
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %size = transform.tune.knob<"size"> = 1 : i64 from options = [1, 2, 4, 5, 6] -> !transform.param<i64>
    %threads = transform.tune.knob<"threads"> = 1 : i64 from options = [1, 99] -> !transform.param<i64>
    %most = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi le %size, %most : !transform.param<i64>
    %op = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [%size]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}"""


@pytest.fixture
def bench():
    payload, schedule = lhkit.load_payload(PAYLOAD), lhkit.load_schedule(SCHEDULE)
    recipe = Recipe(payload_source(payload), "f", application_of(schedule))
    spec = KernelSpec(recipe.payload, "f", recipe.application, 3)
    rng = np.random.default_rng(0)
    a, b, c = (rng.random((8, 8), dtype=np.float32) for _ in range(3))
    place = ArrayPlace(a.shape, "float32")
    rules = TimingRules(1000, 3, 3, 10_000, hopeless=1.5, pin=False, plain_first=True)
    setup = CallSetup((place,) * 3, (place,), (False,) * 3, 64)
    request = PrepareSweep(spec=spec, setup=setup, expected=(), places=(), rules=rules)
    return VariantBench(request, recipe, [a, b, c], [(a + b, np.full_like(a, 1e-6))], [np.zeros_like(a)])


def knobs(size, threads=1):
    return {"size": size, "threads": threads}


def tried(bench, size, best_ns, looked_up=False):
    return bench.try_variant(
        TryVariant(sweep="b", knobs=knobs(size), best_ns=best_ns, is_looked_up=looked_up), lambda *_: None
    )


@pytest.fixture
def timed(monkeypatch):
    """Return a function that sets the times of plain and optimized code of what is tried next, and the levels."""
    levels, times = [], {}
    kernel_of, link = variant_trials.kernel_of, variant_trials.link

    def kernel(module, function, recipe, progress, **more):
        levels.append(recipe.opt_level)
        return kernel_of(module, function, recipe, progress, **more)

    def linked(module, recipe, slots):
        levels.append(recipe.opt_level)
        return link(module, recipe, slots)

    def full(timer, *_):
        return "ok", times["full"], dict.fromkeys(("median", "min"), times["full"]) | {"mad": 0, "runs": 3}

    monkeypatch.setattr(variant_trials, "kernel_of", kernel)
    monkeypatch.setattr(variant_trials, "link", linked)
    monkeypatch.setattr(variant_trials._Timer, "time_shortly", lambda *_: times["plain"])
    monkeypatch.setattr(variant_trials._Timer, "time", full)

    def set_times(plain, full):
        levels.clear()
        times.update(plain=plain, full=full)
        return levels

    return set_times


def test_what_is_far_behind_without_the_optimizer_is_given_up(bench, timed):
    levels = timed(120, 100)
    assert tried(bench, 1, None).time_ns["min"] == 100  # nothing to compare with
    assert levels == [3]
    for i in range(6):
        levels = timed(100 + 10 * min(i, 4), 100)
        assert tried(bench, 2, 100).time_ns["min"] == 100
        assert levels == [0, 3]
    # Plain code was up to 1.4 times as slow: 1.5 times the best is reached by at most 2.1 times.
    levels = timed(209, 149)
    assert (tried(bench, 1, 100).status, levels) == ("ok", [0, 3])
    levels = timed(211, 90)
    answer = tried(bench, 4, 100)
    assert (answer.status, levels, answer.time_ns["median"]) == ("stopped-early", [0], 211)
    assert answer.max_abs_error is not None
    assert tried(bench, 4, 100, looked_up=True).status == "same"


def test_wrong_results_of_plain_code_are_said_without_more(bench, timed):
    levels = timed(100, 100)
    bench._checks[0]._wide[0, 0] += 1
    assert (tried(bench, 1, 100).status, levels) == ("wrong-result", [0])


def test_pass_managers_live_as_long_as_the_context(bench, monkeypatch):
    made = []
    real = pass_steps.passmanager.PassManager.parse

    def parse(text):
        made.append(text)
        return real(text)

    manager = SimpleNamespace(PassManager=SimpleNamespace(parse=parse))
    monkeypatch.setattr(pass_steps, "passmanager", manager)
    assert tried(bench, 1, None).status == "ok"
    first = len(made)
    assert first > 3
    assert tried(bench, 2, None).status == "ok"
    assert len(made) == first
    bench._left = 0  # the next variant has a new context
    assert tried(bench, 4, None).status == "ok"
    assert made == made[:first] * 2


def stage_of(plain, optimized, cost_ns=10, optimized_ns=50):
    stage = PlainCodeStage(1.5)
    for before, after in zip(plain, optimized, strict=True):
        stage.take_plain(before, cost_ns)
        stage.take_optimized(before, after, optimized_ns)
    return stage


def test_the_stage_is_left_out_where_it_does_not_pay():
    # By the last 16 times of 100 and 200: a best time of 100 leaves all to be optimized, one of 60 a half.
    stage = stage_of([100, 200] * 8, [100, 200] * 8)
    assert not stage.pays(140)
    assert stage.pays(100)
    assert not stage_of([100, 200] * 8, [100, 200] * 8, cost_ns=26).pays(100)
    assert stage_of([100] * 11, [100] * 11).pays(100)  # not known yet


def test_how_far_plain_code_may_be_behind_is_what_was_seen():
    assert not stage_of([100] * 5, [100] * 5).is_hopeless(900, 100)
    few = stage_of([100] * 5 + [200], [100] * 6)
    assert [few.is_hopeless(ns, 100) for ns in (299, 301)] == [False, True]
    # Of many the largest may have been disturbed.
    many = stage_of([100] * 8 + [110, 900], [100] * 10)
    assert [many.is_hopeless(ns, 100) for ns in (164, 166)] == [False, True]
    faster = stage_of([80] * 6, [100] * 6)
    assert [faster.is_hopeless(ns, 100) for ns in (149, 151)] == [False, True]


def test_too_many_threads_are_refused_before_the_schedule_is_applied(bench, monkeypatch):
    monkeypatch.setattr(variant_trials, "apply_schedule", None)
    with pytest.raises(LhkitError, match="99 threads"):
        bench.try_variant(
            TryVariant(sweep="b", knobs=knobs(1, threads=99), best_ns=None, is_looked_up=False), lambda *_: None
        )
    assert bench.describe(knobs(1, threads=99), 32) is None


def test_a_schedule_that_does_not_apply_leaves_nothing_behind(bench, timed):
    timed(100, 100)
    first = tried(bench, 2, None).ir_sha256
    context = bench._context
    for _ in range(2):
        with pytest.raises(LhkitError, match="does not apply") as raised:
            tried(bench, 5, None)
        assert raised.value.failure.kind == "silenceable"
        assert tried(bench, 2, None).ir_sha256 == first
    assert bench._context is context


def test_many_variants_that_are_not_all_wanted_are_cut_early(tmp_path):
    def cut_of(**more):
        given = {"start": False, "store": tmp_path / "s.jsonl", **more}
        sweep = lhkit.sweep(lhkit.payloads.matmul(64, 64, 64), "matmul_block_tile_vectorize.mlir", **given)
        return sweep._options.cut

    assert [cut_of(strategy="random", budget=n) for n in (39, 40)] == [None, 1.5]
    assert [cut_of(budget=n) for n in (39, 40)] == [None, None]  # a grid
    assert cut_of(strategy="tpe", budget=60, cut=4) == 4
    assert live_sweep.LEAST_VARIANTS == 40


@pytest.mark.parametrize(("cut", "is_plain_first"), [(None, False), (1.5, True), (2.0, False)])
def test_code_is_looked_at_first_where_little_of_it_is_wanted(cut, is_plain_first):
    from lhkit.worker.client import shared_worker

    schedule = lhkit.load_schedule(SCHEDULE)
    payloads = {"": lhkit.load_payload(PAYLOAD)}
    task = prepare_task(payloads, schedule, knobs(1), None, SweepOptions(cut=cut), shared_worker(), "e")
    assert task.subjects[""].preparation.rules.plain_first is is_plain_first
