// Weights that every call transposes and scales anew, although they never change.
func.func @hoist_into_globals(%x: tensor<5x3xf32>) -> tensor<5x2xf32> {
  %weights = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %half = arith.constant dense<0.5> : tensor<3x2xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2xf32>
  %turned = linalg.transpose ins(%weights : tensor<2x3xf32>) outs(%e0 : tensor<3x2xf32>) permutation = [1, 0]
  %scaled = arith.mulf %turned, %half : tensor<3x2xf32>
  %e1 = tensor.empty() : tensor<5x2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<5x2xf32>) -> tensor<5x2xf32>
  %result = linalg.matmul ins(%x, %scaled : tensor<5x3xf32>, tensor<3x2xf32>)
      outs(%init : tensor<5x2xf32>) -> tensor<5x2xf32>
  return %result : tensor<5x2xf32>
}
