"""``lhkit.memrefs_to_tensors``: which functions it takes, and that they compute the same."""

import re

import numpy as np
import pytest

import lhkit

SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.memrefs_to_tensors"(%functions) : (!transform.any_op) -> ()
    transform.yield
  }
}"""
M = "memref<12x12xf32>"
ARGUMENTS = f"(%a: {M}, %b: {M}, %c: {M})"
ADD = f"linalg.add ins(%a, %b : {M}, {M}) outs(%c : {M})"
IDENTITY, TURNED = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (j, i)>"


def negated(source, to, source_map=IDENTITY):
    return f"""linalg.generic {{indexing_maps = [{source_map}, {IDENTITY}], iterator_types = ["parallel", "parallel"]}}
      ins({source} : {M}) outs({to} : {M}) {{
    ^bb0(%in: f32, %out: f32):
      %z = arith.negf %in : f32
      linalg.yield %z : f32
    }}"""


TAKEN = {
    "product": f"""func.func @f{ARGUMENTS} {{
  linalg.matmul ins(%a, %b : {M}, {M}) outs(%c : {M})
  return
}}""",
    "in place": f"""func.func @f{ARGUMENTS} {{
  {negated("%a", "%a").replace("arith.negf", "math.exp")}
  {negated("%b", "%c")}
  {negated("%c", "%c")}
  return
}}""",
    "temporary": f"""func.func @f{ARGUMENTS} {{
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : {M}
  linalg.fill ins(%zero : f32) outs(%t : {M})
  linalg.matmul ins(%a, %b : {M}, {M}) outs(%t : {M})
  {negated("%t", "%t")}
  memref.copy %t, %c : {M} to {M}
  memref.dealloc %t : {M}
  return
}}""",
    "written, read, and written again": f"""func.func @f{ARGUMENTS} {{
  {ADD}
  {negated("%c", "%a")}
  linalg.add ins(%a, %c : {M}, {M}) outs(%b : {M})
  linalg.matmul ins(%b, %a : {M}, {M}) outs(%c : {M})
  return
}}""",
    "returned": f"""func.func @f(%a: {M}, %b: {M}) -> {M} {{
  %t = memref.alloc() : {M}
  linalg.add ins(%a, %b : {M}, {M}) outs(%t : {M})
  return %t : {M}
}}""",
    "constant": f"""memref.global "private" constant @w : {M} = dense<1.5>
func.func @f{ARGUMENTS} {{
  %w = memref.get_global @w : {M}
  linalg.mul ins(%a, %w : {M}, {M}) outs(%c : {M})
  return
}}""",
    "dynamic": """func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.dim %a, %zero : memref<?x?xf32>
  %n = memref.dim %a, %one : memref<?x?xf32>
  %t = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.exp ins(%a : memref<?x?xf32>) outs(%t : memref<?x?xf32>)
  linalg.add ins(%a, %t : memref<?x?xf32>, memref<?x?xf32>) outs(%b : memref<?x?xf32>)
  return
}""",
}

CALL = f"""func.func private @g(%x: {M}, %y: {M}) {{
  {negated("%x", "%y", TURNED)}
  return
}}
func.func @f{ARGUMENTS} {{
  CALLS
  return
}}"""
OWN = f"""%t = memref.alloc() : {M}
  func.call @g(%s, %t) : ({M}, {M}) -> ()"""
ONCE = f"func.call @g(%a, %c) : ({M}, {M}) -> ()"


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("schedule", [SCHEDULE, "cpu.mlir"], ids=["alone", "cpu.mlir"])
def test_it_computes_the_same_on_tensors(text, schedule):
    payload = lhkit.load_payload(text)
    rng = np.random.default_rng(3)
    arguments = [rng.standard_normal((12, 12), dtype=np.float32) for _ in range(2 if "%c:" not in text else 3)]
    results = []
    for each in (None, lhkit.load_schedule(schedule)):
        kernel = lhkit.compile(payload, each)
        given = [argument.copy() for argument in arguments]
        returned = kernel(*given)
        results.append([*given, *([returned] if isinstance(returned, np.ndarray) else [])])
    for expected, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    scheduled = lhkit.compile(payload, lhkit.load_schedule(SCHEDULE)).ir("scheduled")
    assert not re.search(r"linalg\.[^\n]*memref<", scheduled)


def test_a_function_that_is_called_with_its_callers_own_buffers_is_taken():
    calls = f"""%s = memref.alloc() : {M}
  memref.copy %a, %s : {M} to {M}
  {OWN}
  memref.copy %t, %c : {M} to {M}"""
    payload = lhkit.load_payload(CALL.replace("CALLS", calls))
    kernel = lhkit.compile(payload, lhkit.load_schedule("cpu.mlir"), function="f")
    assert "bufferization.to_tensor" in kernel.ir("scheduled")
    a, b, c = (np.full((12, 12), i, np.float32) for i in range(3))
    a[1] = 7
    kernel(a, b, c)
    np.testing.assert_array_equal(c, -a.T)


def test_arrays_that_share_memory_are_refused_where_they_were_taken_to_be_apart():
    kernel = lhkit.compile(lhkit.load_payload(TAKEN["product"]), lhkit.load_schedule("cpu.mlir"))
    a, b = (np.ones((12, 12), np.float32) for _ in range(2))
    with pytest.raises(lhkit.LhkitError, match="arguments 0 and 2 share memory: argument 2 is written"):
        kernel(a, b, a)
    kernel(a, a, b)  # Both are only read.
    np.testing.assert_array_equal(b, np.full((12, 12), 13, np.float32))
    plain = lhkit.compile(lhkit.load_payload(TAKEN["product"]))
    plain(a, a, a)


REFUSED = {
    "swap": (
        f"""func.func @f{ARGUMENTS} {{
  %t = memref.alloc() : {M}
  memref.copy %a, %t : {M} to {M}
  memref.copy %b, %a : {M} to {M}
  memref.copy %t, %b : {M} to {M}
  return
}}""",
        "an argument takes the place",
    ),
    "loop": (
        f"""func.func @f{ARGUMENTS} {{
  %zero = arith.constant 0 : index
  %x = memref.load %a[%zero, %zero] : {M}
  memref.store %x, %b[%zero, %zero] : {M}
  {ADD}
  return
}}""",
        "memref.load uses a memref",
    ),
    "part": (
        f"""func.func @f{ARGUMENTS} {{
  %p = memref.subview %a[0, 0] [6, 12] [1, 1] : {M} to memref<6x12xf32, strided<[12, 1]>>
  {ADD}
  return
}}""",
        "memref.subview uses a memref",
    ),
    "turned in place": (
        f"func.func @f{ARGUMENTS} {{\n{negated('%a', '%a', TURNED)}\nreturn\n}}",
        "reads other elements",
    ),
    "added up in place": (
        f"""func.func @f{ARGUMENTS} {{
  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0, i)>, affine_map<(i, j) -> (0, i)>], iterator_types = ["parallel", "reduction"]}} ins(%a, %b : {M}, {M}) outs(%b : {M}) {{
  ^bb0(%x: f32, %so_far: f32, %o: f32):
    %sum = arith.addf %x, %so_far : f32
    linalg.yield %sum : f32
  }}
  return
}}""",
        "reads other elements",
    ),
    "buffers returned to calls": (
        f"""func.func @f{ARGUMENTS} {{
  %s = func.call @g() : () -> {M}
  %t = func.call @g() : () -> {M}
  linalg.matmul ins(%a, %b : {M}, {M}) outs(%s : {M})
  linalg.matmul ins(%s, %b : {M}, {M}) outs(%t : {M})
  linalg.matmul ins(%t, %b : {M}, {M}) outs(%c : {M})
  return
}}
func.func @g() -> {M} {{
  %zero = arith.constant 0.0 : f32
  %new = memref.alloc() : {M}
  linalg.fill ins(%zero : f32) outs(%new : {M})
  return %new : {M}
}}""",
        "returns a buffer to a call|uses a memref",
    ),
    "constant written": (
        f"""memref.global "private" constant @w : {M} = dense<1.5>
func.func @f{ARGUMENTS} {{
  %w = memref.get_global @w : {M}
  {negated("%a", "%w")}
  return
}}""",
        "writes a constant",
    ),
    "argument returned": (
        f"func.func @f{ARGUMENTS} -> {M} {{\n{ADD}\nreturn %a : {M}\n}}",
        "not the function's own",
    ),
    "blocks": (f"func.func @f{ARGUMENTS} {{\n{ADD}\ncf.br ^bb1\n^bb1:\nreturn\n}}", "2 blocks"),
    "given arguments": (CALL.replace("CALLS", ONCE), "may be given one buffer twice"),
    "called twice": (
        CALL.replace(
            "CALLS",
            f"%s = memref.alloc() : {M}\nmemref.copy %a, %s : {M} to {M}\n{OWN}\n"
            f"func.call @g(%t, %s) : ({M}, {M}) -> ()",
        ),
        "called beside others",
    ),
    "called in a loop": (
        CALL.replace(
            "CALLS",
            f"""%zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = memref.alloc() : {M}
  memref.copy %a, %s : {M} to {M}
  scf.for %i = %zero to %one step %one {{
    {OWN}
  }}""",
        ),
        "or in a loop",
    ),
}


def test_elements_that_are_written_over_stay_where_they_are():
    text = f"""func.func @f{ARGUMENTS} {{
  {negated("%b", "%c")}
  {negated("%a", "%a")}
  return
}}"""
    payload = lhkit.load_payload(text)
    with pytest.raises(lhkit.LhkitError, match="works by elements, in the place of what it reads"):
        lhkit.compile(payload, lhkit.load_schedule(SCHEDULE))
    kernel = lhkit.compile(payload, "cpu.mlir")
    assert str(kernel.assembly()) == str(lhkit.compile(payload).assembly()) and lhkit.verify(kernel).ok


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_take_stays_as_it_is(text, why):
    payload = lhkit.load_payload(text)
    with pytest.raises(lhkit.LhkitError, match=why):
        lhkit.compile(payload, lhkit.load_schedule(SCHEDULE), function="f")
    kernel = lhkit.compile(payload, lhkit.load_schedule("cpu.mlir"), function="f")
    plain = lhkit.compile(payload, function="f")
    rng = np.random.default_rng(4)
    arguments = [rng.standard_normal((12, 12), dtype=np.float32) for _ in range(3)]
    both = [[argument.copy() for argument in arguments] for _ in range(2)]
    kernel(*both[0]), plain(*both[1])
    for got, expected in zip(*both, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
