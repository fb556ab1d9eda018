// Payload: data/flow/trace_dispatches.mlir
// Pass:    InjectDispatchTracing of IREE's Flow pipeline.
// Idea:    each call prints what it is given and what it returns; a kernel keeps what its last call printed.
//          With {times} each call prints its seconds instead: the clock that lhkit.profile reads.
// Helps:   where a result is wrong, to find the first piece of work that gives wrong numbers.
// Before:  %0 = call @layer(%x, %scale)
// After:   vector.print str "layer: argument 0\n"; call @printMemrefF32(…); …; %0 = call @layer(%x, %scale); …
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %calls = transform.structured.match ops{["func.call"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.trace_dispatches"(%calls) : (!transform.any_op) -> ()
    transform.yield
  }
}
