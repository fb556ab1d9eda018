// The same product; the caller hands in the buffer that holds the start and takes the result.
func.func @matmul_into(%lhs: tensor<16x1024xf32>, %rhs: tensor<1024x33xf32>, %out: memref<16x33xf32>) {
  %init = bufferization.to_tensor %out restrict writable : memref<16x33xf32> to tensor<16x33xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<16x1024xf32>, tensor<1024x33xf32>) outs(%init : tensor<16x33xf32>) -> tensor<16x33xf32>
  bufferization.materialize_in_destination %product in restrict writable %out : (tensor<16x33xf32>, memref<16x33xf32>) -> ()
  return
}
