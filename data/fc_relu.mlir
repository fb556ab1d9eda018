// A fully connected layer with bias and ReLU: max(lhs * rhs + bias, 0).
func.func @fc_relu(%lhs: tensor<512x512xf32>, %rhs: tensor<512x512xf32>, %bias: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %product_init_empty = tensor.empty() : tensor<512x512xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_init_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<512x512xf32>, tensor<512x512xf32>) outs(%product_init : tensor<512x512xf32>) -> tensor<512x512xf32>
  %sum_empty = tensor.empty() : tensor<512x512xf32>
  %sum = linalg.add ins(%product, %bias : tensor<512x512xf32>, tensor<512x512xf32>) outs(%sum_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %zeros_empty = tensor.empty() : tensor<512x512xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%zeros_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %relu_empty = tensor.empty() : tensor<512x512xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<512x512xf32>, tensor<512x512xf32>) outs(%relu_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %relu : tensor<512x512xf32>
}
