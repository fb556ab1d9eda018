"""The generator of intents: the judge on pairs that are known, and three broken schedules measured."""

import itertools
import json

import pytest

import lhkit
from benchmarks.intents import product_bases, step_writer
from benchmarks.intents.base_schedules import Base, base_schedules
from benchmarks.intents.breakages import BREAKAGES, Broken, broken_schedules, changes_of
from benchmarks.intents.judge import Judge, structure
from benchmarks.intents.measuring import Measurer, warning_kinds
from benchmarks.intents.summary import save, table

SHAPE = (16, 16, 8)
RIGHT = product_bases.layer_by_forall("[8, 4]")
NEGATED = """
func.func @payload(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %empty = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.sub ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.fixture(scope="module")
def base():
    payload = lhkit.load_payload(product_bases.layer(SHAPE))
    return Base("layer", payload, RIGHT)


@pytest.fixture(scope="module")
def judge(base):
    return Judge(base.payload, base.text)


def test_the_same_in_another_spelling_is_right(judge):
    """Handles have other names, and a step that changes nothing is there twice."""
    other = RIGHT.replace("%sum", "%added").replace(
        step_writer.cse("%f"), "\n    ".join([step_writer.cse("%f")] * 2)
    )
    assert other != RIGHT
    assert judge.verdict(other)[0] == "right"


def test_dead_code_is_not_counted(judge):
    """Without the clean-up, what was fused leaves its original behind, unused."""
    text = judge.trace.snapshot_text(judge.trace.step_records[-3].index)
    dead = text.replace("    return ", "    %dead = tensor.empty() : tensor<16x16xf32>\n    return ", 1)
    assert structure(dead) == structure(text)


def test_other_loops_are_wrong(judge):
    verdict, trace = judge.verdict(product_bases.layer_by_forall("[4, 8]"))
    assert verdict == "applies-but-wrong"
    assert "scf.forall 4x2" in judge.difference(trace.last_snapshot_text())


def test_a_producer_left_outside_is_wrong(judge, base):
    left = next(c for c in changes_of("forgotten_fuse", base.text, base.payload.text) if "%zeros" in c.what)
    assert judge.verdict(left.text)[0] == "applies-but-wrong"


def test_other_numbers_are_wrong():
    """The schedule exchanges operands: the loops are the same."""
    payload = lhkit.load_payload(NEGATED)
    steps = [
        step_writer.match("%sub", "linalg.sub"),
        step_writer.generalize("%g", "%sub"),
        step_writer.tile("%t, %l", "%g", "[4]"),
    ]
    judge = Judge(payload, step_writer.schedule(*steps))
    expected = judge._expected
    assert expected is not None
    judge._expected = tuple(-array for array in expected)
    other = step_writer.schedule(*steps, step_writer.match("%f", "func.func"), step_writer.patterns("%f"))
    assert judge.verdict(other)[0] == "applies-but-wrong"
    judge._expected = expected
    judge._known.clear()
    assert judge.verdict(other)[0] == "right"


def test_what_fails_and_what_does_not_load_do_not_apply(judge):
    verdict, trace = judge.verdict(RIGHT.replace("%product[2]", "%product[7]"))
    assert verdict == "does-not-apply" and trace.outcome.status == "failed"
    assert judge.verdict(RIGHT.replace("into %l1", "into %never")) == ("does-not-apply", None)


def test_loops_and_trip_counts_are_read():
    text = """
func.func @f(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c3 {
    scf.for %j = %c0 to %n step %c3 {
      linalg.add ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%b : memref<8x8xf32>)
    }
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      outs(%b : memref<8x8xf32>) {
    ^bb0(%out: f32):
      %sum = arith.addf %out, %out : f32
      linalg.yield %sum : f32
    }
  }
  return
}
"""
    assert structure(text) == {
        ("linalg.add 8x8 8x8 8x8", ("scf.for 3", "scf.for ?")): 1,
        ("linalg.generic 8x8", ("scf.for 3",)): 1,
    }


def test_what_is_drawn_depends_on_the_seed_alone(base):
    one, two = ([b.text for b in itertools.islice(broken_schedules([base], 3), 5)] for _ in range(2))
    assert one == two
    assert one != [b.text for b in itertools.islice(broken_schedules([base], 4), 5)]


def test_there_are_sixty_bases_and_every_breakage_finds_some():
    bases = base_schedules()
    assert len({base.name for base in bases}) == len(bases) == 60
    for kind in BREAKAGES:
        assert any(changes_of(kind, base.text, base.payload.text) for base in bases), kind


@pytest.mark.heavy
def test_bases_apply_without_a_warning_and_compute_what_the_payload_does():
    for base in base_schedules():
        trace = lhkit.trace(base.payload, base.schedule)
        assert trace.outcome.status == "ok" and not warning_kinds(trace), base.name
        kernel = lhkit.compile(base.payload, base.schedule)
        assert lhkit.verify(kernel).ok, base.name
        kernel.forget()


def test_three_broken_schedules_are_measured(base, judge, tmp_path):
    measurer, results = Measurer(judge), []
    for kind, which in (("loop_for_op", 0), ("fused_in_wrong_order", 0), ("too_large_tile", 1)):
        broken = Broken(base, (kind,), (changes_of(kind, base.text, base.payload.text)[which],))
        results.append(measurer.measure(broken))
    assert [m.status for m in results] == ["fails", "fails", "silent"]
    assert "tile-size-too-large" in results[2].warnings
    assert all(
        tried.outcome in ("right", "applies-but-wrong", "does-not-apply") for tried in results[0].repairs
    )
    said = table(results, {"layer": []})
    assert "0 of 1 (0 %)" in said and "too_large_tile" in said
    save(tmp_path / "intents.json", results, {"layer": []}, {"seeds": [1]})
    saved = json.loads((tmp_path / "intents.json").read_text(encoding="utf-8"))
    assert saved["format"] == "lhkit.intents/1" and len(saved["broken"]) == 3
