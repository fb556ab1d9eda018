// A sequence that gives its handles to whoever applies it, as LLVM 16 took it.
%found:2 = transform.sequence -> !pdl.operation, !pdl.operation failures(propagate) {
^bb0(%root: !pdl.operation):
  %products = transform.structured.match ops{["linalg.matmul"]} in %root
  %inner = transform.sequence %root -> !pdl.operation failures(propagate) {
  ^bb1(%within: !pdl.operation):
    %sums = transform.structured.match ops{["linalg.elemwise_binary"]} in %within
    transform.yield %sums : !pdl.operation
  }
  transform.yield %products, %inner : !pdl.operation, !pdl.operation
}
