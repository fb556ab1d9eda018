// producer: linalg.exp
// consumer: linalg.abs
// cause: not-tileable
// repair: yes
// why: a collapse_shape is between; no tiling passes it (planted as "repair: no"; the pass for elementwise ops moves it away)
func.func @f(%x: tensor<64x32xf32>) -> tensor<2048xf32> {
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.exp ins(%x : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %flat = tensor.collapse_shape %0 [[0, 1]] : tensor<64x32xf32> into tensor<2048xf32>
  %f = tensor.empty() : tensor<2048xf32>
  %1 = linalg.abs ins(%flat : tensor<2048xf32>) outs(%f : tensor<2048xf32>) -> tensor<2048xf32>
  return %1 : tensor<2048xf32>
}

// -----

