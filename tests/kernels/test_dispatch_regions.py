"""``lhkit.form_dispatch_regions``: what is grouped, what is not, and that the numbers stay."""

import re

import pytest
from one_step import ANY, after, apply, compiled, match

import lhkit

FORM = match("func.func", f'%regions = "lhkit.form_dispatch_regions"(%op) : ({ANY}) -> {ANY}')
OUTLINE = f'{FORM}\n    %calls = "lhkit.outline_ops"(%regions) : ({ANY}) -> {ANY}'
T = "tensor<4x4xf32>"


def payload(*ops, result):
    """Return a function of ``NAME = OP INPUTS``, elementwise ones with a buffer of their own."""
    lines = []
    for op in ops:
        name, _, rest = op.partition(" = ")
        kind, *inputs = rest.split()
        types = ", ".join([T] * len(inputs))
        lines.append(f"  %e_{name} = tensor.empty() : {T}")
        lines.append(f"  %{name} = linalg.{kind} ins({', '.join(f'%{i}' for i in inputs)} : {types})")
        out = "b" if kind == "matmul" else f"e_{name}"  # a product adds to what is there
        lines.append(f"      outs(%{out} : {T}) -> {T}")
    returned = ", ".join(f"%{r}" for r in result)
    types = ", ".join([T] * len(result))
    body = "\n".join(lines)
    return f"func.func @f(%a: {T}, %b: {T}) -> ({types}) {{\n{body}\n  return {returned} : {types}\n}}"


def groups(text):
    """Return the ops of linalg in each region, and those outside."""
    found = re.findall(r"scf\.execute_region.*?scf\.yield", text, re.DOTALL)
    outside = re.sub(r"scf\.execute_region.*?scf\.yield", "", text, flags=re.DOTALL)
    return [re.findall(r"linalg\.(\w+) ", each) for each in found], re.findall(r"linalg\.(\w+) ", outside)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (payload("p = matmul a b", "s = add p a", "r = abs s", result=["r"]), [["matmul", "add", "abs"]]),
        # A value that two ops read ends its group: no group gives two results.
        (payload("p = matmul a b", "s = add p a", "r = add s p", result=["r"]), [["matmul"], ["add", "add"]]),
        (payload("p = matmul a b", "s = add p a", result=["p", "s"]), [["matmul"], ["add"]]),
        # A reduction that reads another is a piece of work of its own.
        (payload("p = matmul a b", "q = matmul p b", result=["q"]), [["matmul"], ["matmul"]]),
        # The sum of two products goes with the first, which waits for the second.
        (
            payload("p = matmul a b", "q = matmul b a", "s = sub p q", result=["s"]),
            [["matmul"], ["matmul", "sub"]],
        ),
        # What comes before a reduction is not pulled into it.
        (payload("n = abs a", "p = matmul n b", result=["p"]), [["abs"], ["matmul"]]),
        (payload("s = add a b", "r = mul s s", result=["r"]), [["add", "mul"]]),
    ],
    ids=["chain", "two readers", "returned", "two products", "sum of products", "before", "elementwise"],
)
def test_groups(text, expected, worker):
    inside, outside = groups(after(text, FORM, worker))
    assert (inside, outside) == (expected, [])
    for steps in (FORM, OUTLINE):
        assert lhkit.verify(compiled(text, steps, worker, function="f")).ok


@pytest.mark.parametrize(
    "name", ["attention", "layernorm", "mlp", "softmax", "fc_relu", "conv2d_nhwc", "relu_dynamic"]
)
@pytest.mark.parametrize("steps", [FORM, OUTLINE], ids=["regions", "functions"])
def test_the_numbers_of_the_gallery_stay(name, steps, worker):
    sizes = {"mlp": (5, (7, 9, 3)), "relu_dynamic": (), "conv2d_nhwc": (2, 5, 7, 3, 4, 3)}.get(name, (9, 6))
    sizes = (9, 6, 5) if name == "fc_relu" else sizes
    source = getattr(lhkit.payloads, name)(*sizes)
    kernel = compiled(source.text, steps, worker, function=name)
    assert "scf.execute_region" in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


def test_what_is_cheap_is_cloned_and_weights_are_not(worker):
    text = f"""func.func @f(%a: {T}) -> ({T}, {T}) {{
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 0.0, 4.0]]> : {T}
  %e = tensor.empty() : {T}
  %f = linalg.fill ins(%zero : f32) outs(%e : {T}) -> {T}
  %0 = linalg.matmul ins(%a, %w : {T}, {T}) outs(%f : {T}) -> {T}
  %1 = linalg.matmul ins(%0, %w : {T}, {T}) outs(%f : {T}) -> {T}
  return %0, %1 : {T}, {T}
}}"""
    left = after(text, FORM, worker)
    assert groups(left) == ([["fill", "matmul"], ["fill", "matmul"]], ["fill"])
    assert left.count("dense<") == 1
    assert lhkit.verify(compiled(text, OUTLINE, worker, function="f")).ok


def test_handles_to_what_moves_stay(worker):
    text = payload("p = matmul a b", "s = add p a", result=["s"])
    first = match("linalg.matmul", "%matmul = transform.merge_handles %op : !transform.any_op")
    form = f"""%function = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    %regions = "lhkit.form_dispatch_regions"(%function) : ({ANY}) -> {ANY}
    %tile, %loop = transform.structured.tile_using_for %matmul tile_sizes [2] : ({ANY}) -> ({ANY}, {ANY})"""
    left = after(text, f"{first}{form}", worker)
    assert re.search(r"execute_region.*scf\.for.*linalg\.matmul.*linalg\.add", left, re.DOTALL)
    trace = lhkit.trace(*apply(text, f"{first}{form}", worker), worker=worker)
    assert trace.outcome.status == "ok"


def test_ops_in_loops_and_ops_without_maps_stay(worker):
    text = f"""func.func @f(%a: {T}, %n: index) -> tensor<2x2x2x2xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : {T}
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> ({T}) {{
    %y = linalg.abs ins(%x : {T}) outs(%e : {T}) -> {T}
    scf.yield %y : {T}
  }}
  %d = tensor.empty() : tensor<2x2x2x2xf32>
  %1 = linalg.pack %0 inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %d : {T} -> tensor<2x2x2x2xf32>
  return %1 : tensor<2x2x2x2xf32>
}}"""
    assert "scf.execute_region" not in after(text, FORM, worker)


def test_what_reads_a_buffer_stays_before_what_writes_it(worker):
    text = f"""func.func @f(%m: memref<f32>, %a: {T}) -> {T} {{
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : {T}
  %0 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      outs(%e : {T}) {{
  ^bb0(%out: f32):
    %x = memref.load %m[] : memref<f32>
    linalg.yield %x : f32
  }} -> {T}
  memref.store %two, %m[] : memref<f32>
  %1 = linalg.add ins(%0, %a : {T}, {T}) outs(%e : {T}) -> {T}
  return %1 : {T}
}}"""
    assert groups(after(text, FORM, worker)) == ([["add"]], ["generic", "yield"])
