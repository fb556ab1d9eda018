// producer: %transpose
// consumer: %pack
// cause: folded-transpose
// step: lhkit.fold_transpose_into_pack
// repair: yes
// why: the transpose is folded without a gate; the fusion is then given an empty handle and says nothing
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

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.op<"linalg.matmul">
    %packed = transform.structured.pack %product packed_sizes = [8, 8, 1] : (!transform.op<"linalg.matmul">) -> !transform.op<"linalg.generic">
    %pack = transform.get_producer_of_operand %packed[0] : (!transform.op<"linalg.generic">) -> !transform.any_op
    %transpose = transform.get_producer_of_operand %pack[0] : (!transform.any_op) -> !transform.any_op
    %function = transform.get_parent_op %pack {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %folded = "lhkit.fold_transpose_into_pack"(%function) : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %folded tile_sizes [8, 64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %empty = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    %inside, %grown = transform.structured.fuse_into_containing_op %empty into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
