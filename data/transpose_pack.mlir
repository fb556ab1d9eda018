// A transpose whose result is used three times: by a product, by an elementwise op, and by the caller.
// The product is to read it packed into tiles, so folding the transpose into that pack is tempting; see
// schedules/packing/transpose_pack.mlir. After an issue thread of IREE on folds that inhibit fusion.
func.func @transpose_pack(%weights: tensor<512x256xf32>, %inputs: tensor<256x512xf32>) -> (tensor<256x256xf32>, tensor<256x512xf32>, tensor<256x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %transposed_empty = tensor.empty() : tensor<256x512xf32>
  %transposed = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]}
      ins(%weights : tensor<512x256xf32>) outs(%transposed_empty : tensor<256x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<256x512xf32>
  %product_init_empty = tensor.empty() : tensor<256x256xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_init_empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %product = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%transposed, %inputs : tensor<256x512xf32>, tensor<256x512xf32>) outs(%product_init : tensor<256x256xf32>) -> tensor<256x256xf32>
  %doubled_empty = tensor.empty() : tensor<256x512xf32>
  %doubled = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%transposed : tensor<256x512xf32>) outs(%doubled_empty : tensor<256x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = arith.addf %in, %in : f32
    linalg.yield %value : f32
  } -> tensor<256x512xf32>
  return %product, %transposed, %doubled : tensor<256x256xf32>, tensor<256x512xf32>, tensor<256x512xf32>
}
