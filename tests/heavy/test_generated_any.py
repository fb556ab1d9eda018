"""240 generated payloads through cpu.mlir: none fails, none has a wrong number."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from generic_generator import generate_generic, generate_product

import lhkit

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64} | {
    f"i{bits}": np.dtype(f"int{bits}").type for bits in (8, 32, 64)
}
# With the first seed of each.
GENERATORS = {"generics": (generate_generic, 2000), "products": (generate_product, 0)}


def problem_of(generated, name, schedule, seed):
    """Return what is wrong with a generated payload, or None."""
    dtype = DTYPES[re.search(r"%arg0: tensor<(?:[\d?]+x)*(\w+)>", generated.text)[1]]
    rng = np.random.default_rng(seed)
    draw = (lambda s: rng.integers(-9, 9, s)) if np.dtype(dtype).kind == "i" else rng.standard_normal
    arguments = [np.asarray(draw(shape)).astype(dtype) for shape in generated.shapes]
    try:
        result = lhkit.verify(lhkit.compile(lhkit.load_payload(generated.text), schedule), arguments)
    except lhkit.LhkitError as error:  # one that kills the compiler does not keep the others from being tried
        return f"{name} {seed}: {error}"
    return None if result.ok else f"{name} {seed}: {result.difference}"


@pytest.mark.heavy
@pytest.mark.parametrize("target", [None, "avx2"], ids=["native", "avx2"])
@pytest.mark.parametrize("name", GENERATORS)
def test_generated_payloads_are_computed_right(name, target, monkeypatch):
    if target:
        monkeypatch.setenv("LHKIT_TARGET", target)
    schedule = lhkit.load_schedule("cpu.mlir")
    generate, first = GENERATORS[name]
    problems = [problem_of(generate(s), name, schedule, s) for s in range(first, first + 120)]
    assert [problem for problem in problems if problem] == []
