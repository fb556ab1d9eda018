// Payload ops as LLVM 13 wrote them.
func @all(%a: f32, %b: f32, %i: i32, %j: i32, %m: memref<4x4xf32>, %x: index) -> f32 {
  %c0 = constant 0 : index
  %f0 = constant 0.0 : f32
  %0 = addf %a, %b : f32
  %1 = mulf %0, %b : f32
  %2 = cmpf "ogt", %1, %a : f32
  %3 = select %2, %1, %a : f32
  %4 = addi %i, %j : i32
  %5 = cmpi slt, %4, %j : i32
  %6 = divi_signed %i, %j : i32
  %7 = std.subf %3, %f0 : f32
  %8 = sexti %i : i32 to i64
  %9 = index_cast %8 : i64 to index
  %10 = memref.load %m[%c0, %9] : memref<4x4xf32>
  %11 = shift_left %i, %j : i32
  %12 = and %i, %j : i32
  %13 = sitofp %12 : i32 to f32
  %14 = absf %13 : f32
  linalg.fill(%f0, %m) : f32, memref<4x4xf32>
  %t = memref.tensor_load %m : memref<4x4xf32>
  %bb = memref.buffer_cast %t : memref<4x4xf32>
  %cl = memref.clone %bb : memref<4x4xf32> to memref<4x4xf32>
  linalg.copy(%bb, %cl) : memref<4x4xf32>, memref<4x4xf32>
  %s = tensor.extract_slice %t[0, 0] [2, 4] [1, 1] : tensor<4x4xf32> to tensor<2x4xf32>
  %e = linalg.init_tensor [%x, 4] : tensor<?x4xf32>
  %fe = linalg.fill(%f0, %e) : f32, tensor<?x4xf32> -> tensor<?x4xf32>
  %d = tensor.dim %fe, %c0 : tensor<?x4xf32>
  %p = linalg.pad_tensor %s low[0, 0] high[2, 0] {
  ^bb0(%u: index, %w: index):
    linalg.yield %f0 : f32
  } : tensor<2x4xf32> to tensor<4x4xf32>
  %cs = linalg.tensor_collapse_shape %p [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %es = linalg.tensor_expand_shape %cs [[0, 1]] : tensor<16xf32> into tensor<4x4xf32>
  memref.tensor_store %es, %m : memref<4x4xf32>
  %sp = splat %a : vector<4xf32>
  %ex = vector.extract %sp[1] : vector<4xf32>
  cond_br %5, ^bb1(%14 : f32), ^bb2
^bb1(%q: f32):
  br ^bb2
^bb2:
  return %7 : f32
}
