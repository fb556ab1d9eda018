// producer: 12
// consumer: 19
// cause: map
// repair: yes
// The exponentials of a softmax, as a framework writes them: the maximum keeps its dimension of extent 1.
#all = affine_map<(d0, d1) -> (d0, d1)>
#kept = affine_map<(d0, d1) -> (d0, 0)>
func.func @exponentials(%source: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %minus_infinity = arith.constant 0xFF800000 : f32
  %rows = tensor.empty() : tensor<64x1xf32>
  %init = linalg.fill ins(%minus_infinity : f32) outs(%rows : tensor<64x1xf32>) -> tensor<64x1xf32>
  %highest = linalg.generic {indexing_maps = [#all, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%source : tensor<64x128xf32>) outs(%init : tensor<64x1xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %m = arith.maximumf %x, %acc : f32
    linalg.yield %m : f32
  } -> tensor<64x1xf32>
  %empty = tensor.empty() : tensor<64x128xf32>
  %powers = linalg.generic {indexing_maps = [#all, #kept, #all], iterator_types = ["parallel", "parallel"]}
      ins(%source, %highest : tensor<64x128xf32>, tensor<64x1xf32>) outs(%empty : tensor<64x128xf32>) {
  ^bb0(%x: f32, %h: f32, %out: f32):
    %d = arith.subf %x, %h : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<64x128xf32>
  return %powers : tensor<64x128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %highest, %powers = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %highest "highest" : !transform.any_op
    %tile, %loop = transform.structured.fuse %powers tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
