// producer: 16
// consumer: 18
// cause: wrong-order
// repair: yes
// Per-channel requantization of a feature map, rank 4, dynamic batch and spatial size: (x * scale + shift), then clamped at zero.
#id = affine_map<(b, h, w, c) -> (b, h, w, c)>
func.func @requant(%x: tensor<?x?x?x32xf64>, %scale: tensor<?x?x?x32xf64>, %shift: tensor<32xf64>) -> tensor<?x?x?x32xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %b = tensor.dim %x, %c0 : tensor<?x?x?x32xf64>
  %h = tensor.dim %x, %c1 : tensor<?x?x?x32xf64>
  %w = tensor.dim %x, %c2 : tensor<?x?x?x32xf64>
  %empty = tensor.empty(%b, %h, %w) : tensor<?x?x?x32xf64>
  %scaled = linalg.mul ins(%x, %scale : tensor<?x?x?x32xf64>, tensor<?x?x?x32xf64>)
                       outs(%empty : tensor<?x?x?x32xf64>) -> tensor<?x?x?x32xf64>
  %out = linalg.generic {
      indexing_maps = [#id, affine_map<(b, h, w, c) -> (c)>, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%scaled, %shift : tensor<?x?x?x32xf64>, tensor<32xf64>) outs(%empty : tensor<?x?x?x32xf64>) {
  ^bb0(%s: f64, %t: f64, %o: f64):
    %sum = arith.addf %s, %t : f64
    %relu = arith.maximumf %sum, %zero : f64
    linalg.yield %relu : f64
  } -> tensor<?x?x?x32xf64>
  return %out : tensor<?x?x?x32xf64>
}

// -----

// Merge elementwise ops into one, then bring what is left into one form and tile it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func
      : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.match ops{["linalg.mul"]} in %merged : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %merged : !transform.any_op
    transform.yield
  }
}
