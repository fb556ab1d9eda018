// Three elementwise ops in a row: three passes over memory, two of them over temporaries.
func.func @fuse_elementwise(%a: tensor<6x7xf32>, %b: tensor<6x7xf32>) -> tensor<6x7xf32> {
  %e0 = tensor.empty() : tensor<6x7xf32>
  %product = linalg.mul ins(%a, %b : tensor<6x7xf32>, tensor<6x7xf32>) outs(%e0 : tensor<6x7xf32>) -> tensor<6x7xf32>
  %e1 = tensor.empty() : tensor<6x7xf32>
  %sum = linalg.add ins(%product, %a : tensor<6x7xf32>, tensor<6x7xf32>) outs(%e1 : tensor<6x7xf32>) -> tensor<6x7xf32>
  %e2 = tensor.empty() : tensor<6x7xf32>
  %result = linalg.abs ins(%sum : tensor<6x7xf32>) outs(%e2 : tensor<6x7xf32>) -> tensor<6x7xf32>
  return %result : tensor<6x7xf32>
}
