// Payload: data/flow/initialize_empty.mlir
// Pass:    InitializeEmptyTensors of IREE's Flow pipeline.
// Idea:    tensor.empty is a shape without storage; what needs storage says so with bufferization.alloc_tensor.
// Helps:   from here on allocations are ops: they can be counted and moved, CSE does not make one of two.
// Before:  %empty = tensor.empty()
// After:   %buffer = bufferization.alloc_tensor()
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %empty = transform.structured.match ops{["tensor.empty"]} in %root : (!transform.any_op) -> !transform.any_op
    %typed = transform.cast %empty : !transform.any_op to !transform.op<"tensor.empty">
    %buffer = transform.bufferization.empty_tensor_to_alloc_tensor %typed
      : (!transform.op<"tensor.empty">) -> !transform.op<"bufferization.alloc_tensor">
    transform.yield
  }
}
