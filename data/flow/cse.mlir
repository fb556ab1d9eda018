// The same exponential computed twice, as inlining and generated code leave it.
func.func @cse(%a: tensor<6x7xf32>, %b: tensor<6x7xf32>) -> tensor<6x7xf32> {
  %e0 = tensor.empty() : tensor<6x7xf32>
  %first = linalg.exp ins(%a : tensor<6x7xf32>) outs(%e0 : tensor<6x7xf32>) -> tensor<6x7xf32>
  %e1 = tensor.empty() : tensor<6x7xf32>
  %product = linalg.mul ins(%first, %b : tensor<6x7xf32>, tensor<6x7xf32>) outs(%e1 : tensor<6x7xf32>) -> tensor<6x7xf32>
  %e2 = tensor.empty() : tensor<6x7xf32>
  %second = linalg.exp ins(%a : tensor<6x7xf32>) outs(%e2 : tensor<6x7xf32>) -> tensor<6x7xf32>
  %e3 = tensor.empty() : tensor<6x7xf32>
  %sum = linalg.add ins(%product, %second : tensor<6x7xf32>, tensor<6x7xf32>) outs(%e3 : tensor<6x7xf32>) -> tensor<6x7xf32>
  return %sum : tensor<6x7xf32>
}
