// A product and a bias, written to the caller's buffer.
func.func @matmul_add(%lhs: tensor<512x512xf32>, %rhs: tensor<512x512xf32>, %bias: tensor<512x512xf32>, %out: memref<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %init_empty = tensor.empty() : tensor<512x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%init_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<512x512xf32>, tensor<512x512xf32>) outs(%init : tensor<512x512xf32>) -> tensor<512x512xf32>
  %sum_empty = tensor.empty() : tensor<512x512xf32>
  %sum = linalg.add ins(%product, %bias : tensor<512x512xf32>, tensor<512x512xf32>) outs(%sum_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  bufferization.materialize_in_destination %sum in restrict writable %out : (tensor<512x512xf32>, memref<512x512xf32>) -> ()
  return
}
