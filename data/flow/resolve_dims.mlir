// A chain of ops on tensors of unknown length; the last buffer's size is asked of the chain's result.
func.func @resolve_dims(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e0 = tensor.empty(%n) : tensor<?xf32>
  %sum = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
  %m = tensor.dim %sum, %c0 : tensor<?xf32>
  %e1 = tensor.empty(%m) : tensor<?xf32>
  %result = linalg.mul ins(%sum, %b : tensor<?xf32>, tensor<?xf32>) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  return %result : tensor<?xf32>
}
