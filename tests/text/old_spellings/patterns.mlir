// A match by pattern.
transform.with_pdl_patterns {
^bb0(%root: !pdl.operation):
  transform.sequence %root : !pdl.operation failures(propagate) {
  ^bb0(%inner: !pdl.operation):
    %found = pdl_match @product in %inner : (!pdl.operation) -> !pdl.operation
    %v = get_closest_isolated_parent %found : (!pdl.operation) -> !pdl.operation
  }
  pdl.pattern @product : benefit(1) {
    %operands = operands
    %types = types
    %0 = pdl.operation "linalg.matmul"(%operands : !pdl.range<value>) -> (%types : !pdl.range<type>)
    rewrite %0 with "transform.dialect"
  }
}
