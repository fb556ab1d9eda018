// Payload: data/flow/capture_dims.mlir
// Pass:    CaptureDispatchDynamicDims of IREE's Flow pipeline.
// Idea:    a piece of work is given the sizes of the dynamic tensors that it is given, and uses these. IREE ties
//          them to the tensors by an op; upstream has none, so that the body reads the arguments.
// Helps:   the piece can be compiled, and its work divided, without asking a tensor.
// Before:  call @dispatch_0(%a, %b), with tensor.dim %a in it
// After:   call @dispatch_0(%a, %b, %n, %m), with %n in it
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %regions = "lhkit.form_dispatch_regions"(%function) {no_inline = false}
      : (!transform.any_op) -> !transform.any_op
    %calls = "lhkit.outline_ops"(%regions) {name = "dispatch"} : (!transform.any_op) -> !transform.any_op
    %outlined = transform.structured.match ops{["func.func"]} attributes {sym_visibility = "private"} in %root
      : (!transform.any_op) -> !transform.any_op
    // The function is the region now.
    transform.apply_patterns to %outlined {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    "lhkit.expand_tensor_shapes"(%outlined) : (!transform.any_op) -> ()
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    transform.yield
  }
}
