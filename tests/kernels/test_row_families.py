"""Softmax, layernorm and elementwise chains as schedules: right for every class of shapes, and vectors throughout."""

import re

import numpy as np
import pytest

import lhkit
from lhkit.model.errors import ScheduleError
from lhkit.model.target import VECTORS

FAMILIES = ("softmax", "layernorm", "elementwise_chain")
SHAPES = {
    "whole tiles": (3, 128),
    "a tile and ends": (4, 203),
    "a tile and a vector": (2, 80),
    "below a tile": (5, 63),
    "below a vector": (7, 3),
    "one row": (1, 1000),
    "one column": (9, 1),
    "1 throughout": (1, 1),
}


@pytest.fixture(scope="module")
def families(worker):
    return {name: lhkit.load_schedule(f"{name}.mlir", worker=worker) for name in FAMILIES}


def payload_of(name, *shape):
    return getattr(lhkit.payloads, name)(*shape)


def dynamic(name, m, n):
    """Return the payload of that shape with dynamic extents, and no reference."""
    text = payload_of(name, m, n).text
    text = text.replace(f"tensor<{m}x{n}xf32>", "tensor<?x?xf32>").replace(f"tensor<{m}xf32>", "tensor<?xf32>")
    sizes = """%zero_index = arith.constant 0 : index
  %one_index = arith.constant 1 : index
  %m = tensor.dim %SOURCE, %zero_index : tensor<?x?xf32>
  %n = tensor.dim %SOURCE, %one_index : tensor<?x?xf32>
""".replace("SOURCE", re.search(r"\(%(\w+)", text)[1])
    text = text.replace("tensor.empty() : tensor<?x?xf32>", "tensor.empty(%m, %n) : tensor<?x?xf32>")
    text = text.replace("tensor.empty() : tensor<?xf32>", "tensor.empty(%m) : tensor<?xf32>")
    return lhkit.load_payload(text.replace("{\n", "{\n  " + sizes, 1), name=f"<{name} of any shape>")


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_class_of_shapes(name, shape, families, worker):
    kernel = lhkit.compile(payload_of(name, *shape), families[name], worker=worker)
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("name", ["softmax", "elementwise_chain"])
def test_dynamic_shapes(name, families, worker):
    kernel = lhkit.compile(dynamic(name, 999, 888), families[name], worker=worker)
    rng = np.random.default_rng(0)
    for shape in [(1, 1), (3, 64), (2, 70), (5, 131), (4, 16)]:
        arguments = [rng.standard_normal(shape, dtype=np.float32) for _ in kernel.function.arguments]
        assert lhkit.verify(kernel, arguments).ok, shape


def test_a_dynamic_count_of_rows(families, worker):
    text = payload_of("layernorm", 999, 70).text
    text = re.sub(r"tensor<999x", "tensor<?x", text).replace(
        "tensor.empty() : tensor<?x", "tensor.empty(%m) : tensor<?x"
    )
    sizes = "\n  %first = arith.constant 0 : index\n  %m = tensor.dim %source, %first : tensor<?x70xf32>\n"
    kernel = lhkit.compile(
        lhkit.load_payload(text.replace("{\n", "{" + sizes, 1)), families["layernorm"], worker=worker
    )
    rng = np.random.default_rng(0)
    for rows in (1, 6):
        arguments = [rng.standard_normal(shape, dtype=np.float32) for shape in ((rows, 70), 70, 70)]
        assert lhkit.verify(kernel, arguments).ok, rows


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize("name", FAMILIES)
def test_the_code_is_vectors_and_calls_nothing(name, target, worker):
    schedule = lhkit.load_schedule(f"{name}.mlir", target=target, worker=worker)
    kernel = lhkit.compile(payload_of(name, 4, 203), schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert not re.search(r"linalg\.|math\.exp", scheduled)
    longest = max(int(n) for n in re.findall(r"vector<(?:1x)?(\d+)xf32>", scheduled))
    # Sums and maxima have that many parts on every target.
    parts = 64 if name != "elementwise_chain" else 0
    assert longest == max(schedule.values["columns"], parts)
    assert not re.search(r"\b(call|bl)\b", kernel.assembly())


def test_softmax_of_rows_that_are_not_finite(families, worker):
    kernel = lhkit.compile(payload_of("softmax", 5, 70), families["softmax"], worker=worker)
    source = np.random.default_rng(0).standard_normal((5, 70), dtype=np.float32)
    source[0, 3], source[1, 69], source[2, 65], source[3] = np.nan, np.inf, -np.inf, -np.inf
    result = kernel(source)
    assert np.isnan(result[[0, 1, 3]]).all()
    assert result[2, 65] == 0 and np.isfinite(result[[2, 4]]).all()
    assert np.allclose(result[[2, 4]].sum(axis=1), 1, atol=1e-6)


def test_a_mean_far_from_zero_keeps_its_digits(families, worker):
    """The squares are of distances from the mean, as in the payload, not squares less the squared mean."""
    kernel = lhkit.compile(payload_of("layernorm", 3, 203), families["layernorm"], worker=worker)
    source = (np.random.default_rng(0).standard_normal((3, 203)) + 1000).astype(np.float32)
    result = kernel(source, np.ones(203, np.float32), np.zeros(203, np.float32))
    wide = source.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    assert np.abs(result - expected).max() < 1e-3


@pytest.mark.parametrize(
    ("element_type", "call"), [("f32", "powf ins(%sum, %zeros : T, T)"), ("f64", "tanh ins(%sum : T)")]
)
def test_what_would_be_called_for_each_element_is_refused(element_type, call, families, worker):
    text = payload_of("elementwise_chain", 4, 64).text.replace("f32", element_type)
    call = call.replace("T", f"tensor<4x64x{element_type}>")
    text = re.sub(r"linalg\.max ins\(.*?\)", f"linalg.{call}", text)
    with pytest.raises(ScheduleError, match=r"cpu\.mlir") as caught:
        lhkit.compile(lhkit.load_payload(text), families["elementwise_chain"], worker=worker)
    assert "match.param.cmpi" in str(caught.value)
