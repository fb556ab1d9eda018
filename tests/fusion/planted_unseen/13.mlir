// producer: linalg.mul
// consumer: linalg.sub
// cause: dead-handle
// step: transform.include
// repair: yes
// A product, a gate and a bias.
func.func @gated(%x: tensor<64x128xf32>, %w: tensor<128x64xf32>, %gate: tensor<64x64xf32>, %bias: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  %gated = linalg.mul ins(%product, %gate : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %sum = linalg.sub ins(%gated, %bias : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %sum : tensor<64x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @prepare(%ops: !transform.any_op {transform.consumed}) {
    %generic = transform.structured.generalize %ops : (!transform.any_op) -> !transform.any_op
    transform.annotate %generic "elementwise" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %gated = transform.get_consumers_of_result %product[0] : (!transform.any_op) -> !transform.any_op
    %last = transform.structured.match ops{["linalg.sub"]} in %root : (!transform.any_op) -> !transform.any_op
    %both = transform.merge_handles %gated, %last : !transform.any_op
    transform.include @prepare failures(propagate) (%both) : (!transform.any_op) -> ()
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %return = transform.structured.match ops{["func.return"]} in %func : (!transform.any_op) -> !transform.any_op
    %end = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %end num_threads [4, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %gated_tile, %loop_1 = transform.structured.fuse_into_containing_op %gated into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %loop_2 = transform.structured.fuse_into_containing_op %product into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
