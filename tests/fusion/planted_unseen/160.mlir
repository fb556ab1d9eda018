// producer: linalg.matmul
// consumer: linalg.generic
// cause: side-effects
// repair: yes
// Half of it is on buffers: the product goes through one on its way to the sigmoid.
#id = affine_map<(m, n) -> (m, n)>
func.func @half(%x: tensor<21x34xf32>, %w: tensor<34x55xf32>) -> tensor<21x55xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<21x55xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<21x55xf32>) -> tensor<21x55xf32>
  %product = linalg.matmul ins(%x, %w : tensor<21x34xf32>, tensor<34x55xf32>) outs(%zeros : tensor<21x55xf32>) -> tensor<21x55xf32>
  %buffer = bufferization.to_buffer %product : tensor<21x55xf32> to memref<21x55xf32>
  %again = bufferization.to_tensor %buffer restrict : memref<21x55xf32> to tensor<21x55xf32>
  %sigmoid = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%again : tensor<21x55xf32>) outs(%empty : tensor<21x55xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %s = arith.divf %one, %d : f32
    linalg.yield %s : f32
  } -> tensor<21x55xf32>
  return %sigmoid : tensor<21x55xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sigmoid = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %sigmoid tile_sizes [7, 11] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.apply_dce to %function : !transform.any_op
    transform.yield
  }
}
