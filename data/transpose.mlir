// Rows become columns.
func.func @transpose(%source: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %transposed = linalg.transpose ins(%source : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) permutation = [1, 0]
  return %transposed : tensor<1024x1024xf32>
}
