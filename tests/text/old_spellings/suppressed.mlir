// A sequence that goes on after a failure, and one more in the same file.
transform.sequence failures(suppress) {
^bb0(%root: !pdl.operation):
  %m = transform.structured.match ops{["linalg.matmul"]} in %root
  %t, %loops:2 = transform.structured.tile_to_scf_for %m [8, 8]
}
// -----
transform.sequence failures(propagate) {
^bb0(%root: !pdl.operation):
  sequence %root : !pdl.operation failures(suppress) {
  ^bb1(%inner: !pdl.operation):
    %m = structured.match ops{["linalg.matmul"]} in %inner
    %r:2 = transform.structured.tile_to_forall_op %m num_threads [2]
    test_print_remark_at_operand %r#1, "the piece" : !pdl.operation
  }
}
