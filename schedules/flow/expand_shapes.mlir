// Payload: data/flow/expand_shapes.mlir
// Pass:    ExpandTensorShapes of IREE's Flow pipeline.
// Idea:    a dynamic tensor is passed to a function with its sizes beside it, and returned so. IREE does it for
//          globals and branches too.
// Helps:   sizes are computed with before the tensors are there, and bounds of loops follow from arguments.
// Before:  %sum = call @twice(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
// After:   %sum, %n = call @twice(%a, %m) : (tensor<?x4xf32>, index) -> (tensor<?x4xf32>, index)
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %callee = transform.structured.match ops{["func.func"]} attributes {sym_visibility = "private"} in %root
      : (!transform.any_op) -> !transform.any_op
    "lhkit.expand_tensor_shapes"(%callee) : (!transform.any_op) -> ()
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    transform.yield
  }
}
