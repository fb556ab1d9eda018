"""Payloads cut into parts, put together again, and profiled."""

from types import SimpleNamespace

import numpy as np
import pytest

import lhkit
from lhkit.model.errors import ScheduleError, UsageError, WrongResultError
from lhkit.model.measurement import CoreLimits
from lhkit.model.payload import LocalReference
from lhkit.model.target import INSTRUCTION_SETS
from tests.torch_cases import difference, imported

NAMES = ("mlp", "residual_block", "separable_block", "attention_block", "encoder_layer", "small_cnn")
CUTS = {
    "mlp": "contraction contraction contraction",
    "residual_block": "convolution convolution",
    "separable_block": "convolution convolution",
    "attention_block": "reduction contraction contraction contraction",
    "small_cnn": "convolution reduction convolution reduction contraction reduction",
}


@pytest.mark.parametrize("name", CUTS)
def test_a_model_is_cut_into_products_and_reductions_with_what_fuses(name):
    _, _, payload = imported(name)
    assert " ".join(p.kind for p in payload.parts()) == CUTS[name]


def test_equal_parts_are_one_and_know_their_layers():
    _, _, payload = imported("encoder_layer")
    norm, *_ = payload.parts()
    assert (norm.count, norm.layers) == (2, ("attention.norm LayerNorm", "norm LayerNorm"))
    assert payload.parts()[2].layers == ("attention permute, transpose, bmm, div, softmax",)


BY_HAND = (
    "residual_block",
    "separable_block",
    "encoder_layer",
)  # whose parts are of kinds that the others have
WHOLE = [pytest.param(name, marks=pytest.mark.heavy if name in BY_HAND else []) for name in NAMES]


@pytest.mark.parametrize("name", WHOLE)
def test_parts_put_together_compute_the_whole(name):
    _, inputs, payload = imported(name)
    kernel = lhkit.assemble(payload)
    assert kernel.verification.ok
    (expected,) = payload.local_reference.call(*inputs)
    assert difference(kernel(*inputs), expected) < 1e-5


def test_each_part_is_a_payload_with_the_arrays_that_flow_through_it():
    _, inputs, payload = imported("encoder_layer")
    kernel = lhkit.assemble(payload)
    arrays = kernel.operands(*inputs)
    assert list(arrays) == [p.name for p in kernel.parts]
    first = kernel.parts[0]
    (result,) = [lhkit.compile(first.payload)(*arrays[first.name])]
    rows = inputs[0]
    weights = payload.weights()
    normal = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    expected = normal * weights["attention.norm.weight"] + weights["attention.norm.bias"]
    assert difference(result, expected) < 1e-5


@pytest.mark.parametrize("target", [t for t in ("avx512", "avx2") if not INSTRUCTION_SETS[t].missing])
def test_constant_weights_of_a_part_are_packed_when_the_kernel_is_built(target):
    """Parts have their weights as arguments, of which nothing could be computed ahead of calls."""
    _, inputs, payload = imported("mlp", 8)
    kernel = lhkit.assemble(payload, target=target)
    whole = lhkit.compile(payload, "cpu.mlir", target=target)
    assert kernel.packed_bytes == whole.packed_bytes >= payload.weights()["second.weight"].nbytes
    np.testing.assert_array_equal(kernel(*inputs), whole(*inputs))


def test_a_part_has_the_schedule_that_it_is_given():
    _, _, payload = imported("mlp", 8)
    proposal = lhkit.propose(payload.parts()[0].payload)
    kernel = lhkit.assemble(payload, {"part_0": proposal.schedule})
    assert kernel.schedules["part_0"] is proposal.schedule and kernel.verification.ok
    assert kernel.schedules["part_1"].source.endswith("cpu.mlir")


def test_parts_of_a_text_are_compared_with_the_whole():
    payload = lhkit.payloads.mlp(8, (16, 16, 16, 16))
    assert lhkit.assemble(payload).verification.against == "NumPy"
    plain = lhkit.load_payload(payload.text)
    assert lhkit.assemble(plain).verification.against == "the whole payload, unscheduled"


def test_parts_that_compute_something_else_are_refused():
    import dataclasses

    _, _, payload = imported("mlp")
    wrong = LocalReference("what it should be", lambda *a: (np.zeros((1, 10), np.float32),))
    with pytest.raises(WrongResultError, match="compute something else than what it should be"):
        lhkit.assemble(dataclasses.replace(payload, local_reference=wrong))


BRANCHES = """
func.func @f(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
NOTHING = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n return %x : tensor<4xf32>\n}"
ON_MEMREFS = """
func.func @f(%x: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [(BRANCHES, "has branches"), (NOTHING, "no op on tensors"), (ON_MEMREFS, "no op on tensors")],
    ids=["branches", "nothing", "memrefs"],
)
def test_what_cannot_be_cut_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        lhkit.load_payload(text).parts()


def test_an_unknown_part_is_refused_with_those_that_there_are():
    _, _, payload = imported("mlp")
    with pytest.raises(UsageError, match="no part 'part_9'") as caught:
        lhkit.assemble(payload, {"part_9": "cpu.mlir"})
    assert "part_0: contraction to tensor<1x1024xf32> (first Linear, relu)" in str(caught.value)


def test_a_schedule_that_does_not_apply_to_a_part_says_to_which():
    _, _, payload = imported("small_cnn")
    with pytest.raises(ScheduleError, match="small_cnn, part_1"):
        lhkit.assemble(payload, {"part_1": "softmax.mlir"})


DYNAMIC = """
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %y, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.matmul ins(%x, %y : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %q = linalg.exp ins(%p : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%q, %p : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""


def test_dynamic_shapes_are_cut_too():
    payload = lhkit.load_payload(DYNAMIC)
    kernel = lhkit.assemble(payload, check=False)
    x = np.random.default_rng(0).standard_normal((13, 13)).astype(np.float32) / 8
    product = x @ x
    assert difference(kernel(x, x), np.exp(product) @ product) < 1e-5


def test_a_profile_times_every_place_and_adds_up():
    _, inputs, payload = imported("encoder_layer")
    kernel = lhkit.assemble(payload)
    # Of one run, and loosely: where other tests run beside it, one of three is enough.
    for _ in range(3):
        profile = lhkit.profile(kernel, inputs, seconds=0.5)
        if 0.7 < profile.parts_ns / profile.kernel_ns < 1.4:
            break
    else:
        pytest.fail(f"parts {profile.parts_ns} ns, kernel {profile.kernel_ns} ns")
    assert [t.part.name for t in profile.times].count("part_0") == 2 and len(profile.times) == 7
    assert all(t.time_ns > 0 for t in profile.times)
    assert {t.layer for t in profile.times} >= {"attention.norm LayerNorm", "norm LayerNorm"}
    frame = profile.to_frame()
    assert list(frame["distance_ns"]) == sorted(frame["distance_ns"], reverse=True)
    assert frame["share"].sum() == pytest.approx(1)
    bundle = profile._repr_mimebundle_()
    assert "Most is to be gained in" in bundle["text/plain"] and "<svg" in bundle["text/html"]


@pytest.mark.parametrize(("cache_bytes", "bound"), [(1 << 40, "compute"), (0, "memory")])
def test_bytes_limit_a_part_only_where_the_caches_do_not_hold_all_that_a_call_touches(
    cache_bytes, bound, monkeypatch
):
    slow_memory = CoreLimits(1e3, 1e3, 1e-3)
    measured = SimpleNamespace(limits=slow_memory)
    monkeypatch.setattr("lhkit.parts.part_profile.measure", lambda *_, **__: measured)
    monkeypatch.setattr("lhkit.parts.part_profile.last_level_cache_bytes", lambda: cache_bytes)
    profile = lhkit.profile(lhkit.assemble(lhkit.payloads.mlp(16, (32, 32, 32, 32))), seconds=0.1)
    assert {t.bound for t in profile.times} == {bound}


def test_a_kernel_with_one_schedule_is_profiled_by_its_parts():
    payload = lhkit.payloads.mlp(16, (32, 32, 32, 32))
    profile = lhkit.profile(lhkit.compile(payload, "cpu.mlir"), seconds=0.2)
    assert len(profile.times) == 3 and sum(part.count for part in payload.parts()) == 3
    with pytest.raises(UsageError, match="has no schedule"):
        lhkit.profile(lhkit.compile(payload))


def test_of_several_functions_one_is_cut():
    other = DYNAMIC.replace("@f(", "@g(")
    payload = lhkit.load_payload(DYNAMIC + other)
    kernel = lhkit.assemble(payload, function="g", check=False)
    x = np.eye(5, dtype=np.float32)
    assert kernel.function.name == "g"
    assert all(np.array_equal(a, x) for a in kernel.operands(x, x)["part_0"])
