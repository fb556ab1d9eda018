// Sizes that follow from an argument and are asked of a tensor, and a rank that its type knows.
func.func @cleanup_shapes(%value: f32, %n: index) -> (tensor<?x4xf32>, index) {
  %c0 = arith.constant 0 : index
  %e0 = tensor.empty(%n) : tensor<?x4xf32>
  %filled = linalg.fill ins(%value : f32) outs(%e0 : tensor<?x4xf32>) -> tensor<?x4xf32>
  %m = tensor.dim %filled, %c0 : tensor<?x4xf32>
  %rank = tensor.rank %filled : tensor<?x4xf32>
  %e1 = tensor.empty(%m) : tensor<?x4xf32>
  %result = linalg.exp ins(%filled : tensor<?x4xf32>) outs(%e1 : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %result, %rank : tensor<?x4xf32>, index
}
