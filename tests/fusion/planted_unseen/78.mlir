// producer: 11
// consumer: 12
// cause: dead-handle
// repair: yes
// The lengths of projected vectors: y = A x, then the root of |y|, in f64.
func.func @lengths(%a: tensor<512x256xf64>, %x: tensor<256xf64>) -> tensor<512xf64> {
  %zero = arith.constant 0.0 : f64
  %room = tensor.empty() : tensor<512xf64>
  %init = linalg.fill ins(%zero : f64) outs(%room : tensor<512xf64>) -> tensor<512xf64>
  %y = linalg.matvec ins(%a, %x : tensor<512x256xf64>, tensor<256xf64>) outs(%init : tensor<512xf64>) -> tensor<512xf64>
  %size = linalg.abs ins(%y : tensor<512xf64>) outs(%room : tensor<512xf64>) -> tensor<512xf64>
  %root = linalg.sqrt ins(%size : tensor<512xf64>) outs(%room : tensor<512xf64>) -> tensor<512xf64>
  return %root : tensor<512xf64>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %root_op = transform.structured.match ops{["linalg.sqrt"]} in %root : (!transform.any_op) -> !transform.any_op
    %abs = transform.get_producer_of_operand %root_op[0] : (!transform.any_op) -> !transform.any_op
    %matvec = transform.get_producer_of_operand %abs[0] : (!transform.any_op) -> !transform.any_op

    // The vectorizer of ours wants generics for what is elementwise.
    %elementwise = transform.merge_handles %abs, %root_op : !transform.any_op
    %generics = transform.structured.generalize %elementwise : (!transform.any_op) -> !transform.any_op
    %abs_g, %root_g = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    %tile, %loop = transform.structured.tile_using_for %root_g tile_sizes [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %abs_tile, %l0 = transform.structured.fuse_into_containing_op %abs into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matvec_tile, %l1 = transform.structured.fuse_into_containing_op %matvec into %l0
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
