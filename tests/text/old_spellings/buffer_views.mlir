// A function as a whole compiler sees it: buffer views in and out.
func.func @shrink(%view: !hal.buffer_view, %other: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
  %zero = arith.constant 0.000000e+00 : f32
  %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<8x16xf32>
  %1 = hal.tensor.import %other : !hal.buffer_view -> tensor<4x16xf32>
  %2 = linalg.init_tensor [8, 4] : tensor<8x4xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = linalg.matmul_transpose_b ins(%0, %1 : tensor<8x16xf32>, tensor<4x16xf32>) outs(%3 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = tensor.expand_shape %4 [[0, 1], [2]] : tensor<8x4xf32> into tensor<2x4x4xf32>
  %6 = hal.tensor.export %5 : tensor<2x4x4xf32> -> !hal.buffer_view
  return %6 : !hal.buffer_view
}
