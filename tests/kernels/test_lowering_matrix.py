"""The lowering matrix: payload × element type × {static, dynamic, 0, 1, odd}, each cell against NumPy."""

import dataclasses
import itertools
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import as_tuple

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
# Extents m, n, k that the text has, and those of the calls.
STATIC = {"static": (4, 8, 6), "zero": (0, 8, 6), "one": (1, 1, 1), "odd": (5, 7, 3)}
DYNAMIC_CALLS = ((4, 8, 6), (1, 1, 1), (0, 7, 3), (5, 0, 2), (3, 2, 0), (5, 7, 3))
CASES = (*STATIC, "dynamic")


class Writer:
    """Payload text of one element type, with extents as numbers or ``?``."""

    def __init__(self, element, extents):
        self.e = element
        self.extents = dict(zip("mnk", extents, strict=True))
        family = {"i1": 0}.get(element, 1 if element[0] == "i" else 2)
        self.add, self.mul, self.max = (
            ("arith.ori", "arith.andi", "arith.ori"),
            ("arith.addi", "arith.muli", "arith.maxsi"),
            ("arith.addf", "arith.mulf", "arith.maximumf"),
        )[family]
        self.zero = f"%zero = arith.constant {('false', '0', '0.0')[family]}" + (
            "" if family == 0 else f" : {element}"
        )

    def tensor(self, dims):
        return self.shaped("tensor", dims)

    def memref(self, dims):
        return self.shaped("memref", dims)

    def shaped(self, kind, dims):
        return f"{kind}<{''.join(f'{self.extents[d]}x' for d in dims)}{self.e}>"

    def empty(self, name, dims, sources):
        """Return the lines that make an empty tensor; a source is (value, type, axis) for each dimension."""
        lines, sizes = [], []
        for i, (d, (value, type_, axis)) in enumerate(zip(dims, sources, strict=True)):
            if self.extents[d] == "?":
                lines.append(f"{name}_c{i} = arith.constant {axis} : index")
                op = type_.partition("<")[0]
                lines.append(f"{name}_d{i} = {op}.dim {value}, {name}_c{i} : {type_}")
                sizes.append(f"{name}_d{i}")
        return "\n".join([*lines, f"{name} = tensor.empty({', '.join(sizes)}) : {self.tensor(dims)}"])

    def generic(self, result, maps, iterators, ins, out, body):
        """Return a linalg.generic; a map is a string of letters, operands are (value, type)."""
        letters = {"ij": "(i, j)", "ijk": "(i, j, k)"}["ij" if len(iterators) == 2 else "ijk"]
        written = ", ".join(f"affine_map<{letters} -> ({', '.join(m)})>" for m in maps)
        kinds = ", ".join({"p": '"parallel"', "r": '"reduction"'}[i] for i in iterators)
        names = [f"%x{i}" for i in range(len(ins))] + ["%acc"]
        block = ", ".join(f"{n}: {self.e}" for n in names)
        values, types = ", ".join(v for v, _ in ins), ", ".join(t for _, t in ins)
        return (
            f"{result} = linalg.generic {{indexing_maps = [{written}], iterator_types = [{kinds}]}} "
            f"ins({values} : {types}) outs({out[0]} : {out[1]}) {{\n^bb0({block}):\n{body}\n}} -> {out[1]}"
        )


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of payload: its text, the dimensions of its arguments, and what NumPy says of them."""

    text: Callable[[Writer], str]
    arguments: tuple[str, ...]
    reference: Callable[..., tuple]
    written: tuple[int, ...] = ()
    terms: str = ""


def elementwise_chain(w):
    t = w.tensor("mn")
    return f"""func.func @f(%a: {t}, %b: {t}, %c: {t}) -> {t} {{
      %product = {w.mul} %a, %b : {t}
      %sum = {w.add} %product, %c : {t}
      %result = {w.max} %sum, %c : {t}
      return %result : {t} }}"""


def matmul(w):
    a, b, t = w.tensor("mk"), w.tensor("kn"), w.tensor("mn")
    if w.e == "index":  # the named op takes no index
        body = f"%p = {w.mul} %x0, %x1 : {w.e}\n%s = {w.add} %acc, %p : {w.e}\nlinalg.yield %s : {w.e}"
        product = w.generic("%r", ("ik", "kj", "ij"), "ppr", (("%a", a), ("%b", b)), ("%init", t), body)
    else:
        product = f"%r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%init : {t}) -> {t}"
    return f"""func.func @f(%a: {a}, %b: {b}) -> {t} {{
      {w.zero}
      {w.empty("%e", "mn", (("%a", a, 0), ("%b", b, 1)))}
      %init = linalg.fill ins(%zero : {w.e}) outs(%e : {t}) -> {t}
      {product}
      return %r : {t} }}"""


def row_reduction(w):
    a, t = w.tensor("mn"), w.tensor("m")
    return f"""func.func @f(%a: {a}) -> {t} {{
      {w.zero}
      {w.empty("%e", "m", (("%a", a, 0),))}
      %init = linalg.fill ins(%zero : {w.e}) outs(%e : {t}) -> {t}
      %r = linalg.reduce {{ {w.add} }} ins(%a : {a}) outs(%init : {t}) dimensions = [1]
      return %r : {t} }}"""


def transpose(w):
    a, t = w.tensor("mn"), w.tensor("nm")
    return f"""func.func @f(%a: {a}) -> {t} {{
      {w.empty("%e", "nm", (("%a", a, 1), ("%a", a, 0)))}
      %r = linalg.transpose ins(%a : {a}) outs(%e : {t}) permutation = [1, 0]
      return %r : {t} }}"""


def fill_only(w):
    t = w.tensor("mn")
    return f"""func.func @f(%like: {t}, %value: {w.e}) -> {t} {{
      {w.empty("%e", "mn", (("%like", t, 0), ("%like", t, 1)))}
      %r = linalg.fill ins(%value : {w.e}) outs(%e : {t}) -> {t}
      return %r : {t} }}"""


def broadcast_add(w):
    a, b = w.tensor("mn"), w.tensor("n")
    return f"""func.func @f(%a: {a}, %b: {b}) -> {a} {{
      {w.empty("%e", "mn", (("%a", a, 0), ("%a", a, 1)))}
      %wide = linalg.broadcast ins(%b : {b}) outs(%e : {a}) dimensions = [0]
      %r = {w.add} %a, %wide : {a}
      return %r : {a} }}"""


def memref_update(w):
    a = w.memref("mn")
    return f"""func.func @f(%a: {a}, %scale: {w.e}) {{
      linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}} outs(%a : {a}) {{
      ^bb0(%x: {w.e}):
        %y = {w.mul} %x, %scale : {w.e}
        linalg.yield %y : {w.e} }}
      return }}"""


def generic_outer(w):
    a, b, t = w.tensor("m"), w.tensor("n"), w.tensor("mn")
    body = f"%p = {w.mul} %x0, %x1 : {w.e}\nlinalg.yield %p : {w.e}"
    return f"""func.func @f(%a: {a}, %b: {b}) -> {t} {{
      {w.empty("%e", "mn", (("%a", a, 0), ("%b", b, 0)))}
      {w.generic("%r", ("i", "j", "ij"), "pp", (("%a", a), ("%b", b)), ("%e", t), body)}
      return %r : {t} }}"""


def scalars(w):
    a = w.tensor("mn")
    return f"""func.func @f(%x: {w.e}, %y: {w.e}, %a: {a}) -> ({w.e}, {w.e}, index) {{
      %axis = arith.constant 0 : index
      %s = {w.add} %x, %y : {w.e}
      %p = {w.mul} %s, %y : {w.e}
      %n = tensor.dim %a, %axis : {a}
      return %s, %p, %n : {w.e}, {w.e}, index }}"""


def several_results(w):
    a, m = w.tensor("mn"), w.memref("mn")
    return f"""func.func @f(%a: {a}, %b: {a}, %m: {m}) -> ({a}, {w.e}, {a}, {a}, {m}) {{
      {w.zero}
      %s = {w.add} %a, %b : {a}
      return %s, %zero, %a, %s, %m : {a}, {w.e}, {a}, {a}, {m} }}"""


def call_chain(w):
    a = w.tensor("mn")
    body = f"%y = {w.add} %x0, %x0 : {w.e}\nlinalg.yield %y : {w.e}"
    return f"""func.func private @twice(%a: {a}) -> {a} {{
      {w.empty("%e", "mn", (("%a", a, 0), ("%a", a, 1)))}
      {w.generic("%r", ("ij", "ij"), "pp", (("%a", a),), ("%e", a), body)}
      return %r : {a} }}
    func.func private @both(%a: {a}) -> ({a}, {a}) {{
      %r = call @twice(%a) : ({a}) -> {a}
      return %r, %a : {a}, {a} }}
    func.func @f(%a: {a}) -> ({a}, {a}) {{
      %r:2 = call @both(%a) : ({a}) -> ({a}, {a})
      %s = call @twice(%r#0) : ({a}) -> {a}
      return %s, %r#1 : {a}, {a} }}"""


def loop_of_updates(w):
    a = w.tensor("mn")
    return f"""func.func @f(%a: {a}, %n: index) -> {a} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> ({a}) {{
        %u = {w.add} %t, %a : {a}
        scf.yield %u : {a} }}
      return %r : {a} }}"""


def widened(a):
    """Return an array in which NumPy computes as the payload's type does, up to rounding."""
    return a.astype(np.float64) if a.dtype.kind not in "iub" else a


def matmul_of(a, b):
    return (a @ b if a.dtype != np.bool_ else (a.astype(int) @ b.astype(int)) > 0,)


def sum_rows(a):
    return (a.any(1) if a.dtype == np.bool_ else a.sum(1, dtype=a.dtype),)


KINDS = {
    "elementwise chain": Kind(
        elementwise_chain, ("mn", "mn", "mn"), lambda a, b, c: (np.maximum(a * b + c, c),)
    ),
    "matmul": Kind(matmul, ("mk", "kn"), matmul_of, terms="k"),
    "row reduction": Kind(row_reduction, ("mn",), sum_rows, terms="n"),
    "transpose": Kind(transpose, ("mn",), lambda a: (a.T,)),
    "fill only": Kind(fill_only, ("mn", ""), lambda a, x: (np.full_like(a, x),)),
    "broadcast add": Kind(broadcast_add, ("mn", "n"), lambda a, b: (a + b,)),
    "memref update": Kind(memref_update, ("mn", ""), lambda a, x: (a * x,), written=(0,)),
    "generic": Kind(generic_outer, ("m", "n"), lambda a, b: (a[:, None] * b,)),
    "scalars": Kind(scalars, ("", "", "mn"), lambda x, y, a: (x + y, (x + y) * y, np.int64(len(a)))),
    "several results": Kind(
        several_results, ("mn", "mn", "mn"), lambda a, b, m: (a + b, a.dtype.type(0), a, a + b, m)
    ),
    "call chain": Kind(call_chain, ("mn",), lambda a: ((a + a) + (a + a), a)),
    "loop": Kind(loop_of_updates, ("mn", "3"), lambda a, n: (a + a + a + a,)),
}


def arguments_for(kind, dtype, extents, seed):
    generator = np.random.default_rng(seed)
    sizes = dict(zip("mnk", extents, strict=True))
    made = []
    for dims in kind.arguments:
        if dims.isdigit():
            made.append(np.asarray(int(dims)))
            continue
        shape = [sizes[d] for d in dims]
        floats = np.dtype(dtype).kind not in "iub"
        drawn = generator.standard_normal(shape) if floats else generator.integers(-8, 8, shape)
        made.append(np.asarray(drawn % 2 == 0 if dtype is np.bool_ else drawn).astype(dtype))
    return made


def check_call(kernel, kind, dtype, extents, seed=0):
    """Call a kernel and compare results, written arguments and untouched ones with NumPy."""
    arguments = arguments_for(kind, dtype, extents, seed)
    before = [a.copy() for a in arguments]
    results = as_tuple(kernel(*(a[()] if a.ndim == 0 else a for a in arguments)))
    with np.errstate(over="ignore"):
        expected = kind.reference(*map(widened, before))
    outputs = (*results, *(arguments[i] for i in kind.written))
    assert len(outputs) == len(expected)
    terms = dict(zip("mnk", extents, strict=True)).get(kind.terms, 4)
    for output, wanted in zip(map(np.asarray, outputs), map(np.asarray, expected), strict=True):
        assert output.shape == wanted.shape
        if output.dtype.kind in "iub":
            np.testing.assert_array_equal(output, wanted)
        else:
            assert output.dtype == dtype
            epsilon = float(ml_dtypes.finfo(dtype).eps)
            scale = np.abs(wanted).max(initial=1.0)
            np.testing.assert_allclose(
                output.astype(np.float64), wanted, rtol=0, atol=2 * (terms + 2) * epsilon * scale
            )
    for i, (after, was) in enumerate(zip(arguments, before, strict=True)):
        if i not in kind.written:
            np.testing.assert_array_equal(after, was)


def cells():
    """Return all cells; the quick run has every pair of payload, element type and case, the heavy one the rest."""
    for (i, name), (j, element), (k, case) in itertools.product(*map(enumerate, (KINDS, DTYPES, CASES))):
        is_quick = (i + j) % len(CASES) == k
        yield pytest.param(name, element, case, marks=() if is_quick else pytest.mark.heavy)


@pytest.mark.parametrize(("name", "element", "case"), list(cells()))
def test_cell(name, element, case):
    kind = KINDS[name]
    text = kind.text(Writer(element, STATIC.get(case, "???")))
    # Optimization takes most of the time, so not every cell has it.
    opt_level = 3 if case == "dynamic" and element in ("i1", "bf16", "f32") else 0
    kernel = lhkit.compile(lhkit.load_payload(text), function="f", opt_level=opt_level)
    for extents in DYNAMIC_CALLS if case == "dynamic" else (STATIC[case],):
        check_call(kernel, kind, DTYPES[element], extents)


TILE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %ops = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}"""
SCHEDULED = ("matmul", "row reduction", "transpose", "fill only", "broadcast add", "generic", "memref update")
# The interpreter itself dies of tiling a transpose into an empty result.
TILED_CELLS = [(n, c) for n in SCHEDULED for c in CASES if (n, c) != ("transpose", "zero")]


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule(TILE)


@pytest.mark.parametrize("element", ["i8", "f32"])
@pytest.mark.parametrize(("name", "case"), TILED_CELLS)
def test_cell_tiled_by_what_does_not_divide(name, case, element, schedule):
    kind = KINDS[name]
    payload = lhkit.load_payload(kind.text(Writer(element, STATIC.get(case, "???"))))
    kernel = lhkit.compile(payload, schedule, opt_level=3 if case == "odd" else 0)
    for extents in DYNAMIC_CALLS if case == "dynamic" else (STATIC[case],):
        check_call(kernel, kind, DTYPES[element], extents, seed=1)


MASKED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [2, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.structured.vectorize %tiled vector_sizes [2, 4] : !transform.any_op
    transform.yield
  }
}"""


@pytest.mark.parametrize("element", ["i1", "i8", "index", "bf16", "f32"])
def test_masked_vectors_of_dynamic_extents(element):
    kind = KINDS["generic"]
    payload = lhkit.load_payload(kind.text(Writer(element, "???")))
    kernel = lhkit.compile(payload, lhkit.load_schedule(MASKED))
    assert "vector.create_mask" in kernel.ir("bufferized")
    for extents in DYNAMIC_CALLS:
        check_call(kernel, kind, DTYPES[element], extents)


def test_the_quick_cells_have_every_pair():
    quick = [p.values for p in cells() if not p.marks]
    for places, pairs in (((0, 1), (KINDS, DTYPES)), ((0, 2), (KINDS, CASES)), ((1, 2), (DTYPES, CASES))):
        assert {tuple(v[p] for p in places) for v in quick} == set(itertools.product(*pairs))
