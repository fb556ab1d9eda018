"""Payloads for generated schedules, and the kinds of ops that a schedule can match in each."""

# Kind of op: how to match it, and the type of the handle where it is not that of any op.
KINDS = {
    "func": 'ops{["func.func"]}',
    "matmul": 'ops{["linalg.matmul"]}',
    "tensormatmul": 'ops{["linalg.matmul"]}',
    "add": 'ops{["linalg.add"]}',
    "fill": 'ops{["linalg.fill"]}',
    "generic": 'ops{["linalg.generic"]}',
    "reduce": 'ops{["linalg.reduce"]}',
    "copy": 'ops{["linalg.copy"]}',
    "bufcopy": 'ops{["linalg.copy"]}',
    "transpose": 'ops{["linalg.transpose"]}',
    "softmax": 'ops{["linalg.softmax"]}',
    "conv": 'ops{["linalg.conv_2d_nhwc_hwcf"]}',
    "convf": 'ops{["linalg.conv_2d_nhwc_fhwc"]}',
    "pack": 'ops{["linalg.pack"]} -> linalg.pack',
    "unpack": 'ops{["linalg.unpack"]} -> linalg.unpack',
    "empty": 'ops{["tensor.empty"]}',
    "emptytyped": 'ops{["tensor.empty"]} -> tensor.empty',
    "inneremp": 'ops{["tensor.empty"]} attributes{inside}',
    "pad": 'ops{["tensor.pad"]}',
    "slice": 'ops{["tensor.extract_slice"]}',
    "insert": 'ops{["tensor.insert_slice"]}',
    "for": 'ops{["scf.for"]}',
    "fortyped": 'ops{["scf.for"]} -> scf.for',
    "inner": 'ops{["memref.load"]}',
    "outer": 'ops{["scf.for"]} attributes{outer}',
    "first": 'ops{["scf.for"]} attributes{first}',
    "second": 'ops{["scf.for"]} attributes{second}',
    "uneven": 'ops{["scf.for"]} attributes{uneven} -> scf.for',
    "single": 'ops{["scf.for"]} attributes{first} -> scf.for',
    "padloop": 'ops{["scf.for"]} attributes{padloop}',
    "forall": 'ops{["scf.forall"]}',
    "blocks": 'ops{["func.func"]} attributes{blocks}',
    "parallel": 'ops{["scf.parallel"]}',
    "if": 'ops{["scf.if"]}',
    "alloc": 'ops{["memref.alloc"]} attributes{buffer} -> memref.alloc',
    "alloca": 'ops{["memref.alloca"]} -> memref.alloca',
    "inneralloca": 'ops{["memref.alloca"]} attributes{inside} -> memref.alloca',
    "constant": 'ops{["arith.constant"]}',
    "scalar": 'ops{["arith.addf"]}',
    "read": 'ops{["vector.transfer_read"]}',
    "contract": 'ops{["vector.contract"]}',
    "linalg": "interface{LinalgOp}",
    "loop": "interface{LoopLikeInterface}",
}

_TENSORS = """
func.func @f(%a: tensor<16x32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x8xf32>) outs(%i : tensor<16x8xf32>) -> tensor<16x8xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %s = linalg.add ins(%m, %c : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}
"""
_LOOPS = """
func.func @f(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %t = memref.alloca() : memref<16xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %x = memref.load %a[%i, %j] : memref<16x16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %b[%i, %j] : memref<16x16xf32>
      memref.store %y, %t[%j] : memref<16xf32>
    }
  } {outer}
  return
}
func.func @g(%a: memref<16xf32>, %b: memref<16xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.if %c {
    %x = memref.load %a[%c1] : memref<16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%c0] : memref<16xf32>
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %x = memref.load %a[%i] : memref<16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i] : memref<16xf32>
    scf.reduce
  }
  return
}
"""
_ROWS = """
func.func @f(%a: tensor<8x16xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x16xf32>) outs(%i : tensor<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %x, %acc : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %p = tensor.pad %r low[0] high[8] {
  ^bb0(%k: index):
    tensor.yield %z : f32
  } : tensor<8xf32> to tensor<16xf32>
  %q = tensor.extract_slice %p[4] [8] [1] : tensor<16xf32> to tensor<8xf32>
  return %q : tensor<8xf32>
}
"""
_LAYOUTS = """
func.func @f(%a: tensor<8x16xf32>, %b: tensor<4x8x2x2xf32>) -> (tensor<4x8x2x2xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8x2x2xf32>
  %p = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<8x16xf32> -> tensor<4x8x2x2xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %u = linalg.unpack %b inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e2 : tensor<4x8x2x2xf32> -> tensor<8x16xf32>
  %e3 = tensor.empty() : tensor<16x8xf32>
  %t = linalg.transpose ins(%a : tensor<8x16xf32>) outs(%e3 : tensor<16x8xf32>) permutation = [1, 0]
  %e4 = tensor.empty() : tensor<8x16xf32>
  %c = linalg.copy ins(%a : tensor<8x16xf32>) outs(%e4 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %x = linalg.softmax dimension(1) ins(%c : tensor<8x16xf32>) outs(%e4 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %s = tensor.extract_slice %t[0, 0] [8, 8] [1, 1] : tensor<16x8xf32> to tensor<8x8xf32>
  %n = tensor.insert_slice %s into %x[0, 0] [8, 8] [1, 1] : tensor<8x8xf32> into tensor<8x16xf32>
  return %p, %u, %n : tensor<4x8x2x2xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
"""
_IMAGES = """
func.func @f(%r: tensor<1x1x8x4xf32>, %a: tensor<1x8x8x4xf32>, %k: tensor<1x3x4x2xf32>, %w: tensor<2x3x3x4xf32>, %q: tensor<1x1x6x2xf32>, %o: tensor<1x6x6x2xf32>) -> (tensor<1x1x6x2xf32>, tensor<1x6x6x2xf32>) {
  %x = linalg.conv_2d_nhwc_hwcf ins(%r, %k : tensor<1x1x8x4xf32>, tensor<1x3x4x2xf32>) outs(%q : tensor<1x1x6x2xf32>) -> tensor<1x1x6x2xf32>
  %y = linalg.conv_2d_nhwc_fhwc ins(%a, %w : tensor<1x8x8x4xf32>, tensor<2x3x3x4xf32>) outs(%o : tensor<1x6x6x2xf32>) -> tensor<1x6x6x2xf32>
  return %x, %y : tensor<1x1x6x2xf32>, tensor<1x6x6x2xf32>
}
"""
_BUFFERS = """
func.func @f(%a: memref<16x16xf32>, %b: memref<16x16xf32>) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %twice = memref.alloc() {buffer} : memref<16x16xf32>
  %dead = memref.alloc() : memref<16x16xf32>
  memref.store %z, %dead[%c0, %c0] : memref<16x16xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %t = memref.alloc() : memref<16x16xf32>
    memref.copy %a, %twice : memref<16x16xf32> to memref<16x16xf32>
    %s = memref.alloca(%i) {inside} : memref<?xf32>
    memref.store %z, %s[%c0] : memref<?xf32>
    memref.copy %a, %t : memref<16x16xf32> to memref<16x16xf32>
    linalg.matmul ins(%t, %a : memref<16x16xf32>, memref<16x16xf32>) outs(%b : memref<16x16xf32>)
    linalg.copy ins(%t : memref<16x16xf32>) outs(%b : memref<16x16xf32>)
  }
  scf.forall (%i, %j) in (4, 4) {
    %x = memref.load %a[%i, %j] : memref<16x16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i, %j] : memref<16x16xf32>
  }
  return
}
"""
_BLOCKS = """
func.func @f(%a: memref<16xf32>) attributes {blocks} {
  scf.forall (%i) in (4) {
    scf.forall (%j) in (4) {
      %x = memref.load %a[%j] : memref<16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i] : memref<16xf32>
    } {mapping = [#gpu.thread<x>]}
  } {mapping = [#gpu.block<x>]}
  return
}
"""
_SIBLINGS = """
func.func @f(%a: memref<17xf32>, %b: memref<17xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c17 = arith.constant 17 : index
  scf.for %i = %c0 to %c17 step %c1 {
    %x = memref.load %a[%i] : memref<17xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i] : memref<17xf32>
  } {first}
  scf.for %i = %c0 to %c17 step %c1 {
    %x = memref.load %a[%i] : memref<17xf32>
    %y = arith.mulf %x, %x : f32
    memref.store %y, %b[%i] : memref<17xf32>
  } {second}
  scf.for %i = %c0 to %c17 step %c2 {
    %x = memref.load %a[%i] : memref<17xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i] : memref<17xf32>
  } {uneven}
  scf.for %i = %c0 to %c1 step %c1 {
    %x = memref.load %a[%i] : memref<17xf32>
    memref.store %x, %b[%i] : memref<17xf32>
  }
  return
}
"""
_PADDED = """
func.func @f(%a: tensor<16x12xf32>, %b: tensor<12x8xf32>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %e = tensor.empty() : tensor<5x8xf32>
  %r = scf.for %i = %c0 to %c16 step %c5 iter_args(%all = %c) -> (tensor<16x8xf32>) {
    %n = affine.min affine_map<(d0) -> (5, -d0 + 16)>(%i)
    %w = tensor.empty(%n) {inside} : tensor<?x8xf32>
    %x = tensor.extract_slice %a[%i, 0] [%n, 12] [1, 1] : tensor<16x12xf32> to tensor<?x12xf32>
    %d = affine.apply affine_map<(d0) -> (5 - d0)>(%n)
    %p = tensor.pad %x nofold low[0, 0] high[%d, 0] {
    ^bb0(%k: index, %l: index):
      tensor.yield %z : f32
    } : tensor<?x12xf32> to tensor<5x12xf32>
    %m = linalg.matmul ins(%p, %b : tensor<5x12xf32>, tensor<12x8xf32>) outs(%e : tensor<5x8xf32>) -> tensor<5x8xf32>
    %s = tensor.extract_slice %m[0, 0] [%n, 8] [1, 1] : tensor<5x8xf32> to tensor<?x8xf32>
    %t = tensor.insert_slice %s into %all[%i, 0] [%n, 8] [1, 1] : tensor<?x8xf32> into tensor<16x8xf32>
    scf.yield %t : tensor<16x8xf32>
  } {padloop}
  return %r : tensor<16x8xf32>
}
"""
_VECTORS = """
#row = affine_map<(d0, d1, d2) -> (d0, d2)>
#column = affine_map<(d0, d1, d2) -> (d2, d1)>
#both = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @f(%a: memref<4x8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>, %m: memref<1x4xf32>) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
  %y = vector.transfer_read %b[%c0, %c0], %z {in_bounds = [true, true]} : memref<8x4xf32>, vector<8x4xf32>
  %s = vector.transfer_read %c[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
  %d = vector.contract {indexing_maps = [#row, #column, #both], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %s : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  %t = vector.transpose %d, [1, 0] : vector<4x4xf32> to vector<4x4xf32>
  %g = vector.broadcast %z : f32 to vector<4xf32>
  %r = vector.multi_reduction <add>, %t, %g [1] : vector<4x4xf32> to vector<4xf32>
  %h = vector.shape_cast %r : vector<4xf32> to vector<1x4xf32>
  %p = arith.addf %h, %h : vector<1x4xf32>
  vector.transfer_write %p, %m[%c0, %c0] {in_bounds = [true, true]} : vector<1x4xf32>, memref<1x4xf32>
  vector.transfer_write %t, %c[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %q = memref.load %c[%i, %c0] : memref<4x4xf32>
    %n = arith.addf %q, %q : f32
    memref.store %n, %c[%i, %c0] : memref<4x4xf32>
  }
  return
}
"""

# Payload: its text, and the kinds of ops in it.
PAYLOADS = {
    "tensors": (_TENSORS, "func matmul tensormatmul add fill empty emptytyped linalg constant"),
    "loops": (_LOOPS, "func for fortyped outer inner parallel if alloca constant scalar loop"),
    "rows": (_ROWS, "func fill generic pad slice empty emptytyped constant scalar linalg"),
    "layouts": (_LAYOUTS, "func pack unpack transpose copy softmax slice insert empty emptytyped"),
    "images": (_IMAGES, "func conv convf linalg"),
    "buffers": (
        _BUFFERS,
        "func matmul bufcopy for fortyped forall inner alloc inneralloca constant scalar linalg",
    ),
    "blocks": (_BLOCKS, "func blocks inner scalar loop"),
    "siblings": (_SIBLINGS, "func for fortyped first second uneven single inner scalar constant loop"),
    "padded": (_PADDED, "func matmul tensormatmul pad padloop slice insert inneremp linalg"),
    "vectors": (_VECTORS, "func for fortyped read contract inner scalar constant loop"),
}
# What contains what: consuming a handle to the first kills handles to the second.
INSIDE = {
    "func": (
        "matmul",
        "add",
        "fill",
        "generic",
        "for",
        "inner",
        "pack",
        "copy",
        "conv",
        "read",
        "scalar",
        "constant",
    ),
    "for": ("inner", "scalar"),
    "outer": ("inner", "scalar"),
    "forall": ("inner", "scalar"),
    "parallel": ("inner", "scalar"),
    "generic": ("scalar",),
}
