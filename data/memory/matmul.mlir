// The example of "Linalg on tensors", in the document's sizes: a product added to what the third argument holds.
func.func @matmul(%lhs: tensor<16x1024xf32>, %rhs: tensor<1024x33xf32>, %init: tensor<16x33xf32>) -> tensor<16x33xf32> {
  %product = linalg.matmul ins(%lhs, %rhs : tensor<16x1024xf32>, tensor<1024x33xf32>) outs(%init : tensor<16x33xf32>) -> tensor<16x33xf32>
  return %product : tensor<16x33xf32>
}
