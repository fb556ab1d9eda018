"""The Flow pipeline as one schedule: payloads and models become calls of dispatches, and compute the same."""

import re

import numpy as np
import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import UsageError
from tests.torch_cases import difference, imported

PIPELINE = "pipelines/flow.mlir"
PAYLOADS = sorted(p.stem for p in shipped_folder("data").glob("*.mlir"))
# Dispatches and calls of each payload: a product with what ends it, or the two passes of a softmax or a norm.
COUNTS = dict.fromkeys(PAYLOADS, (1, 1)) | {
    "attention": (4, 4),
    "layernorm": (2, 2),
    "mlp": (3, 3),
    "softmax": (2, 2),
    "transpose_pack": (3, 3),
}
MODELS = ("mlp", "residual_block", "separable_block", "attention_block", "encoder_layer", "small_cnn")


def cut(text):
    """Return the text of the functions that are not dispatches, and the names of dispatches as they are called."""
    first, *others = re.split(r"\n  func\.func private ", text)
    assert all(other.startswith("@dispatch_") for other in others)
    assert len(others) == len(set(others))
    return first, re.findall(r"call (@dispatch_\d+)", first)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_becomes_calls_of_dispatches_and_its_numbers_stay(name):
    payload = lhkit.load_payload(f"{name}.mlir")
    dispatches = payload.apply(PIPELINE)
    caller, calls = cut(dispatches.text)
    assert (len(set(calls)), len(calls)) == COUNTS[name]
    assert "linalg." not in caller
    kernel = lhkit.compile(payload, PIPELINE)
    assert lhkit.verify(kernel).ok


def test_dispatches_are_the_parts_and_equal_ones_are_one():
    layers = lhkit.load_payload("flow/outline_dispatches.mlir")
    dispatches = layers.apply(PIPELINE)
    (part,) = dispatches.parts()
    assert (part.name, part.kind, part.count) == ("dispatch_0", "contraction", 2)
    alone = lhkit.compile(part.payload, "cpu.mlir")
    assert lhkit.verify(alone).ok
    kernel = lhkit.assemble(dispatches)
    assert kernel.verification.ok and set(kernel.operands(*arguments_of(dispatches))) == {"dispatch_0"}


def arguments_of(payload):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(a.shape).astype(np.float32) for a in payload.function().arguments]


def test_each_call_of_a_dispatch_is_timed():
    dispatches = lhkit.load_payload("flow/outline_dispatches.mlir").apply(PIPELINE)
    profile = lhkit.profile(lhkit.assemble(dispatches), seconds=0.01)
    assert [t.part.name for t in profile.times] == ["dispatch_0", "dispatch_0"]
    assert all(t.time_ns > 0 for t in profile.times)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_dispatches_computes_what_pytorch_does(name):
    _, inputs, payload = imported(name)
    dispatches = payload.apply(PIPELINE)
    assert "linalg." not in cut(dispatches.text)[0] and dispatches.weights().keys() == payload.weights().keys()
    kernel = lhkit.assemble(dispatches)
    assert kernel.verification.ok and kernel.verification.against == "the PyTorch module"
    (expected,) = payload.local_reference.call(*inputs)
    assert difference(kernel(*inputs), expected) < 1e-5


def test_dynamic_extents_pass_through():
    text = """func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %i: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%i : tensor<?x?xf32>) -> tensor<?x?xf32>
      %1 = arith.mulf %0, %0 : tensor<?x?xf32>
      return %1 : tensor<?x?xf32>
    }"""
    dispatches = lhkit.load_payload(text).apply(PIPELINE)
    assert len(cut(dispatches.text)[1]) == 1
    rng = np.random.default_rng(0)
    a, b, start = (rng.standard_normal(s).astype(np.float32) for s in ((5, 7), (7, 3), (5, 3)))
    assert np.allclose(lhkit.compile(dispatches)(a, b, start), (start + a @ b) ** 2, atol=1e-5)


def test_what_is_fused_into_a_product_is_not_computed_for_each_column():
    text = """func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
      %e = tensor.empty() : tensor<4x8xf32>
      %x = linalg.exp ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
      %zero = arith.constant 0.0 : f32
      %o = tensor.empty() : tensor<4x6xf32>
      %z = linalg.fill ins(%zero : f32) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
      %p = linalg.matmul ins(%x, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
      return %p : tensor<4x6xf32>
    }"""
    kinds = [p.kind for p in lhkit.load_payload(text).apply(PIPELINE).parts()]
    assert kinds == ["elementwise", "contraction"]


def test_a_transpose_that_a_product_alone_reads_is_in_its_dispatch():
    _, _, payload = imported("mlp")
    first = payload.apply(PIPELINE).parts()[0]
    assert [op for op in first.ops if "fill" not in op][:2] == ["linalg.generic", "linalg.matmul"]


def test_functions_that_call_others_or_are_public_are_no_parts():
    text = """module {
      func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = call @public(%a) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = call @calls(%0) : (tensor<4xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
      func.func @public(%a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
      func.func private @calls(%a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = call @public(%a) : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }"""
    with pytest.raises(UsageError, match="no op on tensors that makes a part"):
        lhkit.load_payload(text).parts("main")


def test_a_payload_that_a_schedule_does_not_change_is_itself():
    payload = lhkit.load_payload("flow/verify_legality.mlir")
    assert payload.apply("flow/verify_legality.mlir") is payload


@pytest.mark.heavy
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("name", MODELS)
def test_times_of_dispatches_sum_up_to_the_whole(name, batch):
    _, _, payload = imported(name, batch)
    kernel = lhkit.assemble(payload.apply(PIPELINE))
    shares = []
    for _ in range(5):  # a busy machine disturbs one of the two
        profile = lhkit.profile(kernel)
        shares.append(profile.parts_ns / profile.kernel_ns)
    assert abs(sorted(shares)[2] - 1) < 0.05, shares


def test_dispatches_print_their_times_by_the_clock_of_the_profile():
    times = """module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op) {
        %calls = transform.structured.match ops{["func.call"]} in %root : (!transform.any_op) -> !transform.any_op
        "lhkit.trace_dispatches"(%calls) {times} : (!transform.any_op) -> ()
        transform.yield
      }
    }"""
    dispatches = lhkit.load_payload("flow/outline_dispatches.mlir").apply(PIPELINE)
    kernel = lhkit.compile(dispatches, times)
    assert lhkit.verify(kernel).ok
    assert kernel.printed.splitlines()[::2] == ["dispatch_0: seconds"] * 2
