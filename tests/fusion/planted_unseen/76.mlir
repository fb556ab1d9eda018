// producer: 20
// consumer: 31
// cause: outside-the-loop
// repair: yes
// An activation with dropout for training, as it comes out of the exporter; this build is for inference.
func.func @head(%x: tensor<?x768xf32>, %keep: tensor<768xf32>, %w: tensor<768x10xf32>, %acc: tensor<?x10xf32>, %n: index) -> tensor<?x10xf32> {
  %training = arith.constant false
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %room = tensor.empty(%n) : tensor<?x768xf32>
  %hidden = scf.if %training -> (tensor<?x768xf32>) {
    %dropped = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%x, %keep : tensor<?x768xf32>, tensor<768xf32>) outs(%room : tensor<?x768xf32>) {
    ^bb0(%v: f32, %k: f32, %out: f32):
      %p = arith.mulf %v, %k : f32
      linalg.yield %p : f32
    } -> tensor<?x768xf32>
    scf.yield %dropped : tensor<?x768xf32>
  } else {
    %gelu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<?x768xf32>) outs(%room : tensor<?x768xf32>) attrs = {gelu} {
    ^bb0(%v: f32, %out: f32):
      %e = math.erf %v : f32
      %s = arith.addf %e, %one : f32
      %h = arith.mulf %s, %half : f32
      %g = arith.mulf %v, %h : f32
      linalg.yield %g : f32
    } -> tensor<?x768xf32>
    scf.yield %gelu : tensor<?x768xf32>
  }
  %logits = linalg.matmul ins(%hidden, %w : tensor<?x768xf32>, tensor<768x10xf32>) outs(%acc : tensor<?x10xf32>) -> tensor<?x10xf32>
  return %logits : tensor<?x10xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %gelu = transform.structured.match attributes {gelu} in %root : (!transform.any_op) -> !transform.any_op
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %row_block, %rows = transform.structured.tile_using_for %matmul tile_sizes [32, 0, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %row_gelu, %rows_1 = transform.structured.fuse_into_containing_op %gelu into %rows
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %k_block, %ks = transform.structured.tile_using_for %row_block tile_sizes [0, 0, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %gelu_tile, %both = transform.structured.fuse_into_containing_op %row_gelu into %ks
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
