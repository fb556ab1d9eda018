"""cpu.mlir on products of other element types than f32."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import expected_results, verify_against
from lhkit.load.random_inputs import default_arguments
from tests.kernels.any_payloads import EXTENTS


@dataclass(frozen=True)
class Types:
    """The elements of the operands and of the result, and what the body casts each operand by."""

    lhs: str
    rhs: str
    result: str
    casts: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.lhs} x {self.rhs} -> {self.result} by {'/'.join(self.casts)}"


BF16 = Types("bf16", "bf16", "f32", ("extf", "extf"))
F16 = Types("f16", "f16", "f32", ("extf", "extf"))
I8 = Types("i8", "i8", "i32", ("extsi", "extsi"))
U8 = Types("i8", "i8", "i32", ("extui", "extsi"))
I16 = Types("i16", "i16", "i32", ("extsi", "extsi"))
I32 = Types("i32", "i32", "i32", ("", ""))
ALL_BF16 = Types("bf16", "bf16", "bf16", ("", ""))
ALL_F16 = Types("f16", "f16", "f16", ("", ""))
F64 = Types("f64", "f64", "f64", ("", ""))
F32_F64 = Types("f32", "f32", "f64", ("extf", "extf"))
I64 = Types("i64", "i64", "i64", ("", ""))
WEIGHTS_I8 = Types("f32", "i8", "f32", ("", "sitofp"))

BIAS = {
    "f32": """
  ^bb0(%x: f32, %v: f32, %o: f32):
    %sum = arith.addf %x, %v : f32
    %zero = arith.constant 0.0 : f32
    %y = arith.maximumf %sum, %zero : f32
    linalg.yield %y : f32""",
    "i32": """
  ^bb0(%x: i32, %v: f32, %o: f32):
    %whole = arith.sitofp %x : i32 to f32
    %scale = arith.constant 0.125 : f32
    %scaled = arith.mulf %whole, %scale : f32
    %y = arith.addf %scaled, %v : f32
    linalg.yield %y : f32""",
    "f64": """
  ^bb0(%x: f64, %v: f32, %o: f32):
    %narrow = arith.truncf %x : f64 to f32
    %y = arith.addf %narrow, %v : f32
    linalg.yield %y : f32""",
    "bf16": """
  ^bb0(%x: bf16, %v: f32, %o: bf16):
    %wide = arith.extf %x : bf16 to f32
    %sum = arith.addf %wide, %v : f32
    %y = arith.truncf %sum : f32 to bf16
    linalg.yield %y : bf16""",
}


def payload(spec: str, types: Types, *, dynamic: str = "", bias: bool = False, fill: bool = False) -> str:
    """Return a payload for ``np.einsum(spec, a, b)``, to which an argument is added, or with ``fill`` nothing.

    With ``bias``, a vector is then added to its rows, in f32, as a dequantized layer does it.
    """
    operands, result = spec.split("->")
    final = "bf16" if types.result == "bf16" else "f32"
    names = [*operands.split(","), result]
    dims = sorted(set(spec) - set(",->"), key=lambda d: (d not in result, d))
    a, b, r, out = (
        "tensor<" + "".join(f"{'?' if d in dynamic else EXTENTS[d]}x" for d in n) + element + ">"
        for n, element in zip([*names, result], [types.lhs, types.rhs, types.result, final], strict=True)
    )
    vector = f"tensor<{EXTENTS[result[-1]]}xf32>"
    maps = ", ".join(f"affine_map<({', '.join(dims)}) -> ({', '.join(n)})>" for n in names)
    kinds = ", ".join('"parallel"' if d in result else '"reduction"' for d in dims)
    letter = "i" if types.result.startswith("i") else "f"
    cast = [
        f"%{v}w = arith.{c} %{v} : {t} to {types.result}" if c else ""
        for v, c, t in zip("xy", types.casts, (types.lhs, types.rhs), strict=True)
    ]
    x, y = (f"%{v}w" if c else f"%{v}" for v, c in zip("xy", types.casts, strict=True))
    loops = ", ".join(result)
    end = f"""
  %empty = tensor.empty() : {out}
  %end = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({result[-1]})>,
    affine_map<({loops}) -> ({loops})>], iterator_types = [{", ".join(['"parallel"'] * len(result))}]}}
    ins(%r, %bias : {r}, {vector}) outs(%empty : {out}) {{{BIAS.get(types.result, "")}
  }} -> {out}
  return %end : {out}"""
    start = f"""
  %none = arith.constant {"0" if letter == "i" else "0.0"} : {types.result}
  %c = linalg.fill ins(%none : {types.result}) outs(%given : {r}) -> {r}"""
    return f"""func.func @product(%a: {a}, %b: {b}, {"%given" if fill else "%c"}: {r}, %bias: {vector}) -> {out if bias else r} {{
  {start if fill else ""}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins(%a, %b : {a}, {b}) outs(%c : {r}) {{
  ^bb0(%x: {types.lhs}, %y: {types.rhs}, %sum: {types.result}):
    {cast[0]}
    {cast[1]}
    %xy = arith.mul{letter} {x}, {y} : {types.result}
    %next = arith.add{letter} %sum, %xy : {types.result}
    linalg.yield %next : {types.result}
  }} -> {r}
  {end if bias else f"return %r : {r}"}
}}
"""


NAMED = """
func.func @product(%a: tensor<21x19xi8>, %b: tensor<19x37xi8>, %c: tensor<21x37xi32>) -> tensor<21x37xi32> {
  %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<21x19xi8>, tensor<19x37xi8>)
    outs(%c : tensor<21x37xi32>) -> tensor<21x37xi32>
  return %r : tensor<21x37xi32>
}
"""
PAYLOADS = {
    f"{spec}, {types}{''.join(f', {k}={v}' for k, v in options.items())}": payload(spec, types, **options)
    for spec, types, options in [
        ("mk,kn->mn", BF16, {}),
        ("mk,nk->mn", BF16, {"fill": True, "bias": True}),
        ("bmk,bnk->bnm", BF16, {}),
        ("mk,kn->mn", BF16, {"dynamic": "m"}),
        ("mk,kn->mn", F16, {"bias": True}),
        ("km,nk->mn", F16, {}),
        ("bhmd,bhnd->bhmn", F16, {"fill": True}),
        ("mk,kn->mn", I8, {"fill": True, "bias": True}),
        ("mk,nk->mn", I8, {"bias": True}),
        ("bmk,bkn->bmn", I8, {}),
        ("abkl,lnk->abn", I8, {}),
        ("mk,nk->mn", U8, {"fill": True}),
        ("km,kn->nm", U8, {}),
        ("mk,kn->mn", I16, {}),
        ("mk,nk->mn", I32, {"bias": True}),
        ("bmk,bnk->bmn", I32, {}),
        ("mk,nk->mn", WEIGHTS_I8, {"bias": True}),
        ("mk,kn->mn", ALL_BF16, {}),
        ("mk,nk->mn", ALL_BF16, {"fill": True, "bias": True}),
        ("bmk,bnk->bmn", ALL_BF16, {"fill": True}),
        ("mk,kn->mn", ALL_BF16, {"dynamic": "m"}),
        ("km,kn->nm", ALL_F16, {}),
        ("mk,kn->mn", F64, {"bias": True}),
        ("bmk,bnk->bmn", F64, {"fill": True}),
        ("mk,kn->mn", F32_F64, {}),
        ("mk,kn->mn", F64, {"dynamic": "mn"}),
        ("mk,nk->mn", I64, {}),
    ]
} | {"a named product of unsigned i8": NAMED}


@functools.cache
def schedule_for(target):
    return lhkit.load_schedule("cpu.mlir", target=target)


@functools.lru_cache(maxsize=1)
def expected_of(name):
    """The payload, arguments for it and what it returns without a schedule, for the targets one after another."""
    plain = lhkit.compile(lhkit.load_payload(PAYLOADS[name]))
    arguments = default_arguments(plain.payload, plain.function, 0)
    return plain.payload, arguments, *expected_results(plain, arguments)


def targets_of_payloads():
    """Every payload for this CPU; for the older ones by turns, and the rest by hand."""
    for number, name in enumerate(PAYLOADS):
        for target in (None, "avx2", "sse"):
            is_quick = target in (None, ("avx2", "sse")[number % 2])
            yield pytest.param(name, target, marks=[] if is_quick else pytest.mark.heavy)


@pytest.mark.parametrize(("name", "target"), list(targets_of_payloads()))
def test_products_become_vectors_and_are_right(name, target):
    payload, arguments, expected, against = expected_of(name)
    kernel = lhkit.compile(payload, schedule_for(target))
    scheduled = kernel.ir("scheduled")
    assert "linalg.matmul" not in scheduled and '"reduction"' not in scheduled
    assert re.search(r"vector\.fma|arith\.muli .* : vector", scheduled)
    assert "muli" not in scheduled or not re.search("i8 x i8|unsigned i8", name)
    assert verify_against(kernel, arguments, expected, against).ok


@pytest.mark.parametrize(
    ("types", "steps", "is_exact"), [(I8, 1024, True), (I8, 1025, False), (U8, 514, True), (U8, 515, False)]
)
def test_integers_are_added_up_in_f32_only_where_that_is_exact(types, steps, is_exact, monkeypatch):
    monkeypatch.setitem(EXTENTS, "k", steps)
    kernel = lhkit.compile(
        lhkit.load_payload(payload("mk,nk->mn", types)), "cpu.mlir", knobs={"bf16_dots": 0, "i8_dots": 0}
    )
    assert ("muli" not in kernel.ir("scheduled")) == is_exact
    largest = -128 if types == I8 else -1  # which is 255 of unsigned ones
    a, b = np.full((21, steps), largest, np.int8), np.full((37, steps), -128, np.int8)
    a[::2, 0] += 1
    start = np.arange(21 * 37, dtype=np.int32).reshape(21, 37)
    wide = a.astype(np.int32) if types == I8 else a.view(np.uint8).astype(np.int32)
    expected = start + wide @ b.astype(np.int32).T
    np.testing.assert_array_equal(kernel(a, b, start, np.zeros(37, np.float32)), expected)


@pytest.mark.parametrize("casts", [("extui", "extsi"), ("extsi", "extui"), ("extui", "extui")])
def test_integers_of_any_sign_are_multiplied_in_pairs(casts, monkeypatch):
    monkeypatch.setitem(EXTENTS, "k", 1035)
    types = Types("i8", "i8", "i32", casts)
    kernel = lhkit.compile(lhkit.load_payload(payload("mk,nk->mn", types)), "cpu.mlir", knobs={"i8_dots": 3})
    assert "linalg.matmul" not in kernel.ir("scheduled") and "dot_products" in kernel.ir("scheduled")
    rng = np.random.default_rng(0)
    a, b = (rng.choice(np.array([-128, -1, 127], np.int8), (n, 1035)) for n in (21, 37))
    start = np.arange(21 * 37, dtype=np.int32).reshape(21, 37)
    wide = [
        (x.view(np.uint8) if cast == "extui" else x).astype(np.int64)
        for x, cast in zip((a, b), casts, strict=True)
    ]
    np.testing.assert_array_equal(kernel(a, b, start, np.zeros(37, np.float32)), start + wide[0] @ wide[1].T)


def test_16_bit_floats_are_rounded_once(monkeypatch):
    monkeypatch.setitem(EXTENTS, "k", 1000)
    kernel = lhkit.compile(lhkit.load_payload(payload("mk,nk->mn", ALL_F16, fill=True)), "cpu.mlir")
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0, 1, (n, 1000)).astype(np.float16) for n in (21, 37))
    result = kernel(a, b, np.zeros((21, 37), np.float16), np.zeros(37, np.float32))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(result - exact).max() <= np.spacing(np.float16(exact.max())) * 0.51


@pytest.mark.parametrize(("lanes", "count"), [(16, 5), (32, 17), (64, 33), (128, 100)])
def test_bf16_is_moved_under_masks_of_any_width(lanes, count):
    text = f"""func.func @part(%x: tensor<{count}xbf16>) -> tensor<{count}xbf16> {{
  %c = arith.constant 0 : index
  %p = arith.constant 0.0 : bf16
  %mask = vector.constant_mask [{count}] : vector<{lanes}xi1>
  %v = vector.transfer_read %x[%c], %p, %mask {{in_bounds = [true]}} : tensor<{count}xbf16>, vector<{lanes}xbf16>
  %e = tensor.empty() : tensor<{count}xbf16>
  %r = vector.transfer_write %v, %e[%c], %mask {{in_bounds = [true]}} : vector<{lanes}xbf16>, tensor<{count}xbf16>
  return %r : tensor<{count}xbf16>
}}"""
    values = np.linspace(-3, 3, count).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(lhkit.compile(lhkit.load_payload(text))(values), values)
