// A transpose whose result is used three times: by a product, by an elementwise op, and by the caller.
// The product reads it packed into tiles, so that packing it a second time is tempting: see
// schedules/transpose_pack.mlir. Source: an issue thread of IREE on transposes that are folded into packs.
#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1, d0)>

func.func @foo(%weights: tensor<512x256xf32>, %input: tensor<256x512xf32>)
    -> (tensor<256x256xf32>, tensor<256x512xf32>, tensor<256x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x512xf32>
  %transposed = linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["parallel", "parallel"]}
      ins(%weights : tensor<512x256xf32>) outs(%0 : tensor<256x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<256x512xf32>
  %1 = tensor.empty() : tensor<256x256xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%1 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %product = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%transposed, %input : tensor<256x512xf32>, tensor<256x512xf32>)
      outs(%filled : tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = tensor.empty() : tensor<256x512xf32>
  %doubled = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%transposed : tensor<256x512xf32>) outs(%2 : tensor<256x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %twice = arith.addf %in, %in : f32
    linalg.yield %twice : f32
  } -> tensor<256x512xf32>
  return %product, %transposed, %doubled : tensor<256x256xf32>, tensor<256x512xf32>, tensor<256x512xf32>
}
