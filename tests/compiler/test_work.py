import pytest

from lhkit.compiler.ir.work_estimate import work_of
from lhkit.model.measurement import Work
from lhkit.worker.requests import Source

GEMM = """
func.func @f(%a: tensor<6x5xf32>, %b: tensor<5x7xf32>) -> tensor<6x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x7xf32>
  %i = linalg.fill ins(%zero : f32)
    outs(%e : tensor<6x7xf32>) -> tensor<6x7xf32>
  %r = linalg.matmul ins(%a, %b : tensor<6x5xf32>, tensor<5x7xf32>)
    outs(%i : tensor<6x7xf32>) -> tensor<6x7xf32>
  return %r : tensor<6x7xf32>
}"""

DYNAMIC = """
func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %i = linalg.fill ins(%zero : f32)
    outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
    outs(%i : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.exp ins(%p : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""

BATCH = """
func.func @f(%a: tensor<2x3x4xbf16>, %b: tensor<2x4x5xbf16>, %c: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<2x3x4xbf16>, tensor<2x4x5xbf16>)
    outs(%c : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %r : tensor<2x3x5xf32>
}"""

CONV = """
func.func @f(%x: tensor<1x10x11x3xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<1x4x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x5x8xf32>
  %i = linalg.fill ins(%zero : f32)
    outs(%e : tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>}
    ins(%x, %w : tensor<1x10x11x3xf32>, tensor<3x3x3x8xf32>)
    outs(%i : tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  return %r : tensor<1x4x5x8xf32>
}"""

POOL = """
func.func @f(%x: memref<1x8x8x4xf32>, %y: memref<1x4x4x4xf32>) {
  %w = memref.alloc() : memref<2x2xf32>
  linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>}
    ins(%x, %w : memref<1x8x8x4xf32>, memref<2x2xf32>)
    outs(%y : memref<1x4x4x4xf32>)
  return
}"""

ROW_SUM = """
func.func @f(%x: tensor<6x9xf64>, %y: tensor<6xf64>) -> tensor<6xf64> {
  %r = linalg.reduce { arith.addf } ins(%x : tensor<6x9xf64>) outs(%y : tensor<6xf64>) dimensions = [1]
  return %r : tensor<6xf64>
}"""

TRANSPOSE = """
func.func @f(%x: tensor<4x5xi8>) -> tensor<5x4xi8> {
  %e = tensor.empty() : tensor<5x4xi8>
  %r = linalg.transpose ins(%x : tensor<4x5xi8>) outs(%e : tensor<5x4xi8>) permutation = [1, 0]
  return %r : tensor<5x4xi8>
}"""

# Of each row: maximum, exp of the difference, their sum, the quotient: 5 operations an element.
SOFTMAX = """
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @f(%x: tensor<8x16xf32>, %low: tensor<8xf32>, %zeros: tensor<8xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<8x16xf32>) outs(%low : tensor<8xf32>) dimensions = [1]
  %exp = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%a: f32, %m: f32, %o: f32):
      %d = arith.subf %a, %m : f32
      %v = math.exp %d : f32
      linalg.yield %v : f32
  } -> tensor<8x16xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<8x16xf32>) outs(%zeros : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %v = arith.addf %a, %o : f32
      linalg.yield %v : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%a: f32, %s: f32, %o: f32):
      %v = arith.divf %a, %s : f32
      linalg.yield %v : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}"""

NAMED_SOFTMAX = """
func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}"""

CALLS = """
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @f(%x: tensor<4xf32>, %y: tensor<9xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %dx = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %dy = tensor.cast %y : tensor<9xf32> to tensor<?xf32>
  %a = func.call @twice(%dx) : (tensor<?xf32>) -> tensor<?xf32>
  %b = func.call @twice(%dy) : (tensor<?xf32>) -> tensor<?xf32>
  return %a, %b : tensor<?xf32>, tensor<?xf32>
}"""

# A dot product: 25 iterations of 4 lanes, a fused multiply-add each, then 3 additions of lanes.
SCF_DOT = """
func.func @f(%x: memref<100xf32>, %y: memref<100xf32>, %out: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %pad = arith.constant 0.0 : f32
  %acc = scf.for %i = %c0 to %c100 step %c4 iter_args(%s = %zero) -> vector<4xf32> {
    %twice = arith.addi %i, %i : index
    %a = vector.load %x[%i] : memref<100xf32>, vector<4xf32>
    %b = vector.transfer_read %y[%i], %pad : memref<100xf32>, vector<4xf32>
    %n = vector.fma %a, %b, %s : vector<4xf32>
    scf.yield %n : vector<4xf32>
  }
  %r = vector.reduction <add>, %acc : vector<4xf32> into f32
  memref.store %r, %out[] : memref<f32>
  return
}"""

BUFFER_LOOPS = """
func.func @f(%x: memref<6x9xf32>, %out: memref<6xf32>) {
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 9 {
      %a = affine.load %x[%i, %j] : memref<6x9xf32>
      %o = affine.load %out[%i] : memref<6xf32>
      %s = arith.addf %a, %o : f32
      affine.store %s, %out[%i] : memref<6xf32>
    }
  }
  return
}"""

TILED = """
func.func @f(%a: tensor<8x12xf32>, %b: tensor<12x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  %r = scf.forall (%i) in (2) shared_outs(%o = %c) -> tensor<8x8xf32> {
    %at = affine.apply affine_map<(d0) -> (d0 * 4)>(%i)
    %t = tensor.extract_slice %o[%at, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
    %s = scf.for %k = %c0 to %c12 step %c4 iter_args(%acc = %t) -> tensor<4x8xf32> {
      %x = tensor.extract_slice %a[%at, %k] [4, 4] [1, 1] : tensor<8x12xf32> to tensor<4x4xf32>
      %y = tensor.extract_slice %b[%k, 0] [4, 8] [1, 1] : tensor<12x8xf32> to tensor<4x8xf32>
      %m = linalg.matmul ins(%x, %y : tensor<4x4xf32>, tensor<4x8xf32>)
    outs(%acc : tensor<4x8xf32>) -> tensor<4x8xf32>
      scf.yield %m : tensor<4x8xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%at, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
    }
  }
  return %r : tensor<8x8xf32>
}"""

CONTRACT = """
func.func @f(%x: vector<4x8xf32>, %y: vector<8x3xf32>, %z: vector<4x3xf32>) -> vector<4x3xf32> {
  %r = vector.contract {indexing_maps = [affine_map<(i,j,k) -> (i,k)>, affine_map<(i,j,k) -> (k,j)>,
    affine_map<(i,j,k) -> (i,j)>], iterator_types = ["parallel", "parallel", "reduction"],
    kind = #vector.kind<add>} %x, %y, %z : vector<4x8xf32>, vector<8x3xf32> into vector<4x3xf32>
  return %r : vector<4x3xf32>
}"""

COMPLEX = """
func.func @f(%a: tensor<3x4xcomplex<f32>>, %b: tensor<4x5xcomplex<f32>>, %c: tensor<3x5xcomplex<f32>>)
    -> tensor<3x5xcomplex<f32>> {
  %r = linalg.matmul ins(%a, %b : tensor<3x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>)
    outs(%c : tensor<3x5xcomplex<f32>>) -> tensor<3x5xcomplex<f32>>
  return %r : tensor<3x5xcomplex<f32>>
}"""

IN_PLACE = """
func.func @f(%x: memref<10xf32>, %n: index, %unused: memref<7xf32>) -> memref<10xf32> {
  %v = memref.cast %x : memref<10xf32> to memref<?xf32>
  linalg.exp ins(%v : memref<?xf32>) outs(%v : memref<?xf32>)
  return %x : memref<10xf32>
}"""

WHILE = """
func.func @f(%x: f32) -> f32 {
  %r = scf.while (%a = %x) : (f32) -> f32 {
    %go = arith.cmpf olt, %a, %x : f32
    scf.condition(%go) %a : f32
  } do {
  ^bb0(%b: f32):
    %n = arith.addf %b, %b : f32
    scf.yield %n : f32
  }
  return %r : f32
}"""

BRANCHES = """
func.func @f(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = scf.if %c -> tensor<4xf32> {
    %a = arith.addf %x, %x : tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    %SECOND = arith.mulf %x, %x : tensor<4xf32>
    scf.yield %SECOND : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"""
UNEQUAL = BRANCHES.replace(
    "%SECOND = arith.mulf %x, %x", "%m = arith.mulf %x, %x : tensor<4xf32>\n%SECOND = math.exp %m"
)

# The condition is known; the shapes of both branches are the same, whichever is taken.
TAKEN = """
func.func @f(%x: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %false = arith.constant false
  %a = scf.if %false -> tensor<?xf32> {
    %m = math.exp %x : tensor<?xf32>
    scf.yield %m : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  %b = scf.if %c -> tensor<?xf32> {
    scf.yield %a : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  %r = tensor.concat dim(0) %b, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %s = arith.addf %r, %r : tensor<?xf32>
  return %s : tensor<?xf32>
}"""

EXTERNAL = """
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""

F32, F64 = 2.0**-23, 2.0**-52


def work(flops, nbytes, terms, epsilon=F32):
    """Return what is expected where so many terms are added up in one type."""
    return Work(flops, nbytes, pytest.approx(epsilon * terms**0.5, rel=1e-12, abs=0))


CASES = {
    "matmul": (GEMM, None, work(2 * 6 * 5 * 7, 4 * (30 + 35 + 42), 5)),
    "dynamic, shapes given": (DYNAMIC, [(6, 5), (5, 7)], work(2 * 210 + 42, 4 * (30 + 35 + 42), 5)),
    "dynamic, size 0": (DYNAMIC, [(0, 5), (5, 7)], work(0, 4 * 35, 5)),
    "dynamic, nothing given": (DYNAMIC, None, work(None, None, 1)),
    "batch matmul, mixed precision": (BATCH, None, work(2 * 120, 2 * 24 + 2 * 40 + 2 * 4 * 30, 4)),
    "strided convolution": (CONV, None, work(2 * 160 * 27, 4 * (330 + 216 + 160), 27)),
    "pooling": (POOL, None, work(64 * 4, 4 * (256 + 2 * 64), 0)),
    "row sum": (ROW_SUM, None, work(54, 8 * (54 + 6 + 6), 9, F64)),
    "transpose": (TRANSPOSE, None, work(0, 40, 0)),
    "softmax of generics": (SOFTMAX, None, work(5 * 128, 4 * (128 + 8 + 8 + 128), 16)),
    "softmax by name": (NAMED_SOFTMAX, None, work(5 * 128, 4 * 256, 16)),
    "calls with two shapes": (CALLS, None, work(13, 4 * 26, 1)),
    "vector dot product": (SCF_DOT, None, work(25 * 8 + 3, 4 * 201, 25)),
    "buffer loops": (BUFFER_LOOPS, None, work(54, 4 * (54 + 12), 9)),
    "tiled by hand": (TILED, None, work(2 * 768, 4 * (96 + 96 + 128), 12)),
    "vector contraction": (CONTRACT, None, work(2 * 96, 0, 1)),
    "complex": (COMPLEX, None, work(60 * 8, 8 * (12 + 20 + 15 + 15), 4)),
    "in place": (IN_PLACE, None, work(10, 80, 1)),
    "while": (WHILE, None, work(None, 0, 1)),
    "equal branches": (BRANCHES, None, work(4, 32, 1)),
    "unequal branches": (UNEQUAL, None, work(None, 32, 4)),
    "branches of one shape": (TAKEN, [(5,), ()], work(10, 4 * 15, 1)),
    "external function": (EXTERNAL, None, work(None, None, 4)),
}


@pytest.mark.parametrize("case", CASES)
def test_work_is_what_one_counts_by_hand(case, tmp_path, monkeypatch):
    text, shapes, expected = CASES[case]
    monkeypatch.chdir(tmp_path)
    assert work_of(Source("payload", "payload", "<payload>", text.encode()), "f", shapes) == expected
