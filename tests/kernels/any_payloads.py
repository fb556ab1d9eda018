"""Payloads of every class, at small and odd sizes, for the schedule that takes any payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

EXTENTS = {"m": 21, "n": 37, "k": 19, "b": 3, "h": 2, "d": 24, "a": 5, "c": 7, "e": 4, "l": 6, "f": 8}


def product(spec: str, element: str = "f32", *, dynamic: str = "", start: bool = False) -> str:
    """Return a payload for ``np.einsum(spec, a, b)``; with ``start``, an argument to which it is added."""
    operands, result = spec.split("->")
    lhs, rhs = operands.split(",")
    dims = sorted({*lhs, *rhs, *result}, key=lambda d: (d not in result, d))

    def tensor(names: str) -> str:
        return _tensor(["?" if d in dynamic else EXTENTS[d] for d in names], element)

    begin, given = [], ""
    if start:
        given = f", %start: {tensor(result)}"
    else:
        sizes = [_size(d, lhs, rhs, tensor) for d in result if d in dynamic]
        begin = [line for lines, _ in sizes for line in lines]
        begin += [
            f"%empty = tensor.empty({', '.join(name for _, name in sizes)}) : {tensor(result)}",
            f"%zero = arith.constant {_zero(element)} : {element}",
            f"%start = linalg.fill ins(%zero : {element}) outs(%empty : {tensor(result)}) -> {tensor(result)}",
        ]
    before = "\n  ".join(begin)
    kind = "f" if element.startswith(("f", "bf")) else "i"
    maps = ", ".join(_map(dims, list(names)) for names in (lhs, rhs, result))
    iterators = ", ".join('"parallel"' if d in result else '"reduction"' for d in dims)
    body = f"""
  ^bb0(%x: {element}, %y: {element}, %sum: {element}):
    %xy = arith.mul{kind} %x, %y : {element}
    %next = arith.add{kind} %sum, %xy : {element}
    linalg.yield %next : {element}"""
    return f"""func.func @product(%a: {tensor(lhs)}, %b: {tensor(rhs)}{given}) -> {tensor(result)} {{
  {before}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
    ins(%a, %b : {tensor(lhs)}, {tensor(rhs)}) outs(%start : {tensor(result)}) {{{body}
  }} -> {tensor(result)}
  return %r : {tensor(result)}
}}
"""


def _size(dim: str, lhs: str, rhs: str, tensor: object) -> tuple[list[str], str]:
    value, names = ("%a", lhs) if dim in lhs else ("%b", rhs)
    place = f"%at_{dim} = arith.constant {names.index(dim)} : index"
    return [place, f"%size_{dim} = tensor.dim {value}, %at_{dim} : {tensor(names)}"], f"%size_{dim}"  # type: ignore[operator]


def _tensor(extents: Sequence[object], element: str) -> str:
    return "tensor<" + "".join(f"{n}x" for n in extents) + element + ">"


def _map(dims: Sequence[str], results: Sequence[str]) -> str:
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"


def _zero(element: str) -> str:
    return "0.0" if element.startswith(("f", "bf")) else "0"


PRODUCTS: Mapping[str, str] = {
    spec: product(spec)
    for spec in [
        "mk,kn->mn",
        "mk,nk->mn",
        "km,kn->mn",
        "km,nk->mn",
        "mk,kn->nm",
        "km,nk->nm",
        "bmk,bkn->bmn",
        "bmk,bnk->bmn",
        "bkm,bkn->bnm",
        "bhmd,bhnd->bhmn",
        "bmhd,bnhd->bhmn",
        "mbk,nbk->mbn",
        "mkb,knb->mnb",
        "bmk,kn->bmn",
        "abkl,lnk->abn",
        "akbl,lckd->abdc",
        "abcd,efcd->abef",
        "mkl,lkn->mn",
        "mk,k->m",
        "k,kn->n",
        "k,k->",
        "bmk,bk->bm",
        "m,n->mn",
        "ab,cd->acbd",
    ]
} | {
    "mk,kn->mn from a start": product("mk,kn->mn", start=True),
    "bmk,bnk->bnm from a start": product("bmk,bnk->bnm", start=True),
    "mk,kn->mn, rows dynamic": product("mk,kn->mn", dynamic="m"),
    "mk,kn->mn, columns dynamic": product("mk,kn->mn", dynamic="n"),
    "mk,nk->mn, all dynamic": product("mk,nk->mn", dynamic="mnk"),
    "bmk,bnk->bmn, all dynamic": product("bmk,bnk->bmn", dynamic="bmnk"),
    "abkl,lnk->abn, all dynamic": product("abkl,lnk->abn", dynamic="abnkl"),
    "mk,kn->mn of f64": product("mk,kn->mn", "f64"),
    "mk,nk->mn of i32": product("mk,nk->mn", "i32"),
    "bmk,bnk->bmn of i64": product("bmk,bnk->bmn", "i64"),
}

_NAMED = """
func.func @matmul(%a: tensor<9x20xf32>, %b: tensor<20x33xf32>, %c: tensor<9x33xf32>) -> tensor<9x33xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<9x20xf32>, tensor<20x33xf32>) outs(%c : tensor<9x33xf32>) -> tensor<9x33xf32>
  return %r : tensor<9x33xf32>
}
// ---
func.func @transposed_maps(%a: tensor<20x9xf32>, %b: tensor<33x20xf32>, %c: tensor<9x33xf32>) -> tensor<9x33xf32> {
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>,
    affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : tensor<20x9xf32>, tensor<33x20xf32>) outs(%c : tensor<9x33xf32>) -> tensor<9x33xf32>
  return %r : tensor<9x33xf32>
}
// ---
func.func @batch(%a: tensor<3x9x20xf32>, %b: tensor<3x20x33xf32>, %c: tensor<3x9x33xf32>) -> tensor<3x9x33xf32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x9x20xf32>, tensor<3x20x33xf32>)
    outs(%c : tensor<3x9x33xf32>) -> tensor<3x9x33xf32>
  return %r : tensor<3x9x33xf32>
}
// ---
func.func @matvec(%a: tensor<29x40xf32>, %b: tensor<40xf32>, %c: tensor<29xf32>) -> tensor<29xf32> {
  %r = linalg.matvec ins(%a, %b : tensor<29x40xf32>, tensor<40xf32>) outs(%c : tensor<29xf32>) -> tensor<29xf32>
  return %r : tensor<29xf32>
}
// ---
func.func @vecmat(%a: tensor<29xf32>, %b: tensor<29x40xf32>, %c: tensor<40xf32>) -> tensor<40xf32> {
  %r = linalg.vecmat ins(%a, %b : tensor<29xf32>, tensor<29x40xf32>) outs(%c : tensor<40xf32>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}
// ---
func.func @dot(%a: tensor<131xf32>, %b: tensor<131xf32>, %c: tensor<f32>) -> tensor<f32> {
  %r = linalg.dot ins(%a, %b : tensor<131xf32>, tensor<131xf32>) outs(%c : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
// ---
func.func @mmt4d(%a: tensor<3x4x8x1xf32>, %b: tensor<2x4x16x1xf32>, %c: tensor<3x2x8x16xf32>) -> tensor<3x2x8x16xf32> {
  %r = linalg.mmt4d ins(%a, %b : tensor<3x4x8x1xf32>, tensor<2x4x16x1xf32>)
    outs(%c : tensor<3x2x8x16xf32>) -> tensor<3x2x8x16xf32>
  return %r : tensor<3x2x8x16xf32>
}
// ---
func.func @linear(%x: tensor<17x24xf32>, %w: tensor<37x24xf32>, %b: tensor<37xf32>) -> tensor<17x37xf32> {
  %zero = arith.constant 0.0 : f32
  %t0 = tensor.empty() : tensor<24x37xf32>
  %t = linalg.transpose ins(%w : tensor<37x24xf32>) outs(%t0 : tensor<24x37xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<17x37xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<17x37xf32>) -> tensor<17x37xf32>
  %p = linalg.matmul ins(%x, %t : tensor<17x24xf32>, tensor<24x37xf32>) outs(%z : tensor<17x37xf32>) -> tensor<17x37xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<17x37xf32>, tensor<37xf32>) outs(%e : tensor<17x37xf32>) {
  ^bb0(%q: f32, %bias: f32, %o: f32):
    %s = arith.addf %q, %bias : f32
    %f = math.erf %s : f32
    %g = arith.mulf %s, %f : f32
    linalg.yield %g : f32
  } -> tensor<17x37xf32>
  return %r : tensor<17x37xf32>
}
// ---
func.func @two_layers_one_read_twice(%x: tensor<17x24xf32>, %w: tensor<24x37xf32>, %v: tensor<37x18xf32>)
    -> (tensor<17x18xf32>, tensor<17x37xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x37xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<17x37xf32>) -> tensor<17x37xf32>
  %p = linalg.matmul ins(%x, %w : tensor<17x24xf32>, tensor<24x37xf32>) outs(%z : tensor<17x37xf32>) -> tensor<17x37xf32>
  %q = linalg.exp ins(%p : tensor<17x37xf32>) outs(%e : tensor<17x37xf32>) -> tensor<17x37xf32>
  %e2 = tensor.empty() : tensor<17x18xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<17x18xf32>) -> tensor<17x18xf32>
  %r = linalg.matmul ins(%q, %v : tensor<17x37xf32>, tensor<37x18xf32>) outs(%z2 : tensor<17x18xf32>) -> tensor<17x18xf32>
  return %r, %p : tensor<17x18xf32>, tensor<17x37xf32>
}
// ---
func.func @attention(%q: tensor<2x19x24xf32>, %k: tensor<2x21x24xf32>, %v: tensor<2x21x24xf32>) -> tensor<2x19x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x19x21xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x19x21xf32>) -> tensor<2x19x21xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
    affine_map<(b, i, j, d) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x19x24xf32>, tensor<2x21x24xf32>) outs(%z : tensor<2x19x21xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %a = arith.addf %o, %m : f32
    linalg.yield %a : f32
  } -> tensor<2x19x21xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x19x21xf32>) outs(%e : tensor<2x19x21xf32>) -> tensor<2x19x21xf32>
  %e2 = tensor.empty() : tensor<2x19x24xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x19x24xf32>) -> tensor<2x19x24xf32>
  %r = linalg.batch_matmul ins(%p, %v : tensor<2x19x21xf32>, tensor<2x21x24xf32>)
    outs(%z2 : tensor<2x19x24xf32>) -> tensor<2x19x24xf32>
  return %r : tensor<2x19x24xf32>
}
// ---
func.func @sums(%x: tensor<23x41xf32>) -> (tensor<23xf32>, tensor<41xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<23xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<23xf32>) -> tensor<23xf32>
  %r0 = linalg.reduce {arith.addf} ins(%x : tensor<23x41xf32>) outs(%z0 : tensor<23xf32>) dimensions = [1]
  %e1 = tensor.empty() : tensor<41xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<41xf32>) -> tensor<41xf32>
  %r1 = linalg.reduce {arith.addf} ins(%x : tensor<23x41xf32>) outs(%z1 : tensor<41xf32>) dimensions = [0]
  %e2 = tensor.empty() : tensor<f32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %r2 = linalg.reduce {arith.addf} ins(%x : tensor<23x41xf32>) outs(%z2 : tensor<f32>) dimensions = [0, 1]
  return %r0, %r1, %r2 : tensor<23xf32>, tensor<41xf32>, tensor<f32>
}
// ---
func.func @moments(%x: tensor<5x23x41xf32>) -> (tensor<5x23xf32>, tensor<5x23xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x23xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x23xf32>) -> tensor<5x23xf32>
  %s, %q = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b)>,
    affine_map<(a, b, c) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x : tensor<5x23x41xf32>) outs(%z, %z : tensor<5x23xf32>, tensor<5x23xf32>) {
  ^bb0(%v: f32, %sum: f32, %squares: f32):
    %0 = arith.addf %sum, %v : f32
    %1 = arith.mulf %v, %v : f32
    %2 = arith.addf %squares, %1 : f32
    linalg.yield %0, %2 : f32, f32
  } -> (tensor<5x23xf32>, tensor<5x23xf32>)
  return %s, %q : tensor<5x23xf32>, tensor<5x23xf32>
}
// ---
func.func @largest_place(%x: tensor<11x43xf32>) -> tensor<11xi32> {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<11xf32>
  %e1 = tensor.empty() : tensor<11xi32>
  %z0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<11xf32>) -> tensor<11xf32>
  %z1 = linalg.fill ins(%none : i32) outs(%e1 : tensor<11xi32>) -> tensor<11xi32>
  %v, %i = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a)>],
    iterator_types = ["parallel", "reduction"]} ins(%x : tensor<11x43xf32>) outs(%z0, %z1 : tensor<11xf32>, tensor<11xi32>) {
  ^bb0(%new: f32, %best: f32, %place: i32):
    %at = linalg.index 1 : index
    %here = arith.index_cast %at : index to i32
    %more = arith.cmpf ogt, %new, %best : f32
    %0 = arith.select %more, %new, %best : f32
    %1 = arith.select %more, %here, %place : i32
    linalg.yield %0, %1 : f32, i32
  } -> (tensor<11xf32>, tensor<11xi32>)
  return %i : tensor<11xi32>
}
// ---
func.func @softmax(%x: tensor<4x9x35xf32>) -> tensor<4x9x35xf32> {
  %e = tensor.empty() : tensor<4x9x35xf32>
  %r = linalg.softmax dimension(2) ins(%x : tensor<4x9x35xf32>) outs(%e : tensor<4x9x35xf32>) -> tensor<4x9x35xf32>
  return %r : tensor<4x9x35xf32>
}
// ---
func.func @softmax_over_columns_dynamic(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n0, %n1) : tensor<?x?xf32>
  %r = linalg.softmax dimension(0) ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
// ---
func.func @chain(%x: tensor<7x33xf32>, %y: tensor<33xf32>, %s: f32) -> tensor<33x7xf32> {
  %e = tensor.empty() : tensor<7x33xf32>
  %w = linalg.broadcast ins(%y : tensor<33xf32>) outs(%e : tensor<7x33xf32>) dimensions = [0]
  %a = linalg.add ins(%x, %w : tensor<7x33xf32>, tensor<7x33xf32>) outs(%e : tensor<7x33xf32>) -> tensor<7x33xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<7x33xf32>) -> tensor<7x33xf32>
  %m = linalg.max ins(%a, %f : tensor<7x33xf32>, tensor<7x33xf32>) outs(%e : tensor<7x33xf32>) -> tensor<7x33xf32>
  %t = linalg.tanh ins(%m : tensor<7x33xf32>) outs(%e : tensor<7x33xf32>) -> tensor<7x33xf32>
  %o = tensor.empty() : tensor<33x7xf32>
  %r = linalg.transpose ins(%t : tensor<7x33xf32>) outs(%o : tensor<33x7xf32>) permutation = [1, 0]
  return %r : tensor<33x7xf32>
}
// ---
func.func @permuted(%x: tensor<3x5x4x2x17xf32>) -> tensor<17x4x3x2x5xf32> {
  %o = tensor.empty() : tensor<17x4x3x2x5xf32>
  %r = linalg.transpose ins(%x : tensor<3x5x4x2x17xf32>) outs(%o : tensor<17x4x3x2x5xf32>) permutation = [4, 2, 0, 3, 1]
  return %r : tensor<17x4x3x2x5xf32>
}
// ---
func.func @every_second(%x: tensor<9x70xf32>) -> tensor<9x35xf32> {
  %o = tensor.empty() : tensor<9x35xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j * 2)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%x : tensor<9x70xf32>) outs(%o : tensor<9x35xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<9x35xf32>
  return %r : tensor<9x35xf32>
}
// ---
func.func @gathered(%x: tensor<13x20xf32>, %i: tensor<9xindex>) -> tensor<9x20xf32> {
  %c13 = arith.constant 13 : index
  %o = tensor.empty() : tensor<9x20xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%i : tensor<9xindex>) outs(%o : tensor<9x20xf32>) {
  ^bb0(%at: index, %b: f32):
    %inside = arith.remui %at, %c13 : index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%inside, %j] : tensor<13x20xf32>
    linalg.yield %v : f32
  } -> tensor<9x20xf32>
  return %r : tensor<9x20xf32>
}
// ---
func.func @mask(%n: tensor<1xi32>) -> tensor<12x19xi1> {
  %o = tensor.empty() : tensor<12x19xi1>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    outs(%o : tensor<12x19xi1>) {
  ^bb0(%b: i1):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %v = arith.cmpi ule, %j, %i : index
    linalg.yield %v : i1
  } -> tensor<12x19xi1>
  return %r : tensor<12x19xi1>
}
// ---
func.func @other_types(%x: tensor<6x50xi8>, %y: tensor<6x50xbf16>, %z: tensor<6x50xf64>) -> (tensor<6x50xi32>, tensor<6x50xf32>, tensor<6x50xf64>) {
  %o0 = tensor.empty() : tensor<6x50xi32>
  %o1 = tensor.empty() : tensor<6x50xf32>
  %o2 = tensor.empty() : tensor<6x50xf64>
  %r:3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
    affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%x, %y, %z : tensor<6x50xi8>, tensor<6x50xbf16>, tensor<6x50xf64>)
    outs(%o0, %o1, %o2 : tensor<6x50xi32>, tensor<6x50xf32>, tensor<6x50xf64>) {
  ^bb0(%a: i8, %b: bf16, %c: f64, %d: i32, %e: f32, %f: f64):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.sitofp %0 : i32 to f64
    %3 = arith.addf %2, %c : f64
    linalg.yield %0, %1, %3 : i32, f32, f64
  } -> (tensor<6x50xi32>, tensor<6x50xf32>, tensor<6x50xf64>)
  return %r#0, %r#1, %r#2 : tensor<6x50xi32>, tensor<6x50xf32>, tensor<6x50xf64>
}
// ---
func.func @scalars(%x: tensor<f32>, %y: tensor<1xf32>) -> (tensor<f32>, tensor<1xf32>) {
  %e = tensor.empty() : tensor<f32>
  %a = linalg.exp ins(%x : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  %f = tensor.empty() : tensor<1xf32>
  %b = linalg.negf ins(%y : tensor<1xf32>) outs(%f : tensor<1xf32>) -> tensor<1xf32>
  return %a, %b : tensor<f32>, tensor<1xf32>
}
// ---
func.func @padded_and_packed(%x: tensor<9x20xf32>, %d: tensor<3x6x4x4xf32>) -> (tensor<11x22xf32>, tensor<3x6x4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<9x20xf32> to tensor<11x22xf32>
  %q = linalg.pack %p padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %d
    : tensor<11x22xf32> -> tensor<3x6x4x4xf32>
  return %p, %q : tensor<11x22xf32>, tensor<3x6x4x4xf32>
}
// ---
func.func @convolved_nchw(%x: tensor<1x3x14x14xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x12x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x12x12xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x3x14x14xf32>, tensor<8x3x3x3xf32>)
    outs(%z : tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32>
  return %r : tensor<1x8x12x12xf32>
}
// ---
func.func @in_a_loop(%a: tensor<12x12xf32>, %x: tensor<12x12xf32>) -> tensor<12x12xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> (tensor<12x12xf32>) {
    %e = tensor.empty() : tensor<12x12xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x12xf32>) -> tensor<12x12xf32>
    %p = linalg.matmul ins(%a, %v : tensor<12x12xf32>, tensor<12x12xf32>) outs(%z : tensor<12x12xf32>) -> tensor<12x12xf32>
    %q = linalg.tanh ins(%p : tensor<12x12xf32>) outs(%e : tensor<12x12xf32>) -> tensor<12x12xf32>
    scf.yield %q : tensor<12x12xf32>
  }
  return %r : tensor<12x12xf32>
}
// ---
func.func @memrefs(%a: memref<9x20xf32>, %b: memref<20x33xf32>, %c: memref<9x33xf32>) {
  linalg.matmul ins(%a, %b : memref<9x20xf32>, memref<20x33xf32>) outs(%c : memref<9x33xf32>)
  return
}
// ---
func.func @nothing_structured(%x: f32, %y: f32) -> f32 {
  %r = arith.addf %x, %y : f32
  return %r : f32
}
// ---
func.func private @half(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.mul ins(%x, %f : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
func.func @calls(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = call @half(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%h, %h : tensor<8x8xf32>, tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""


def _named() -> dict[str, str]:
    texts = [text.strip() + "\n" for text in _NAMED.split("// ---\n")]
    return {text.rpartition("func.func @")[2].partition("(")[0]: text for text in texts}


PAYLOADS = {**PRODUCTS, **_named()}
