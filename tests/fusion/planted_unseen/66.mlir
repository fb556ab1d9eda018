// producer: 14
// consumer: 15
// cause: wrong-order
// repair: yes
// Two layers of an audio model in double precision; their ops have names.
func.func @envelope(%x: tensor<?x?xf64>, %n: index, %m: index) -> tensor<?x?xf64> {
  %room = tensor.empty(%n, %m) : tensor<?x?xf64>
  %size = linalg.abs ins(%x : tensor<?x?xf64>) outs(%room : tensor<?x?xf64>) -> tensor<?x?xf64>
  return %size : tensor<?x?xf64>
}

func.func @compress(%x: tensor<2x?x3x512xf64>, %gain: tensor<2x?x3x512xf64>, %n: index) -> tensor<2x?x3x512xf64> {
  %room = tensor.empty(%n) : tensor<2x?x3x512xf64>
  %log = linalg.log ins(%x : tensor<2x?x3x512xf64>) outs(%room : tensor<2x?x3x512xf64>) -> tensor<2x?x3x512xf64>
  %scaled = linalg.mul ins(%log, %gain : tensor<2x?x3x512xf64>, tensor<2x?x3x512xf64>) outs(%room : tensor<2x?x3x512xf64>) -> tensor<2x?x3x512xf64>
  return %scaled : tensor<2x?x3x512xf64>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %funcs : !transform.any_op {
    ^bb0(%func: !transform.any_op):
      %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
      %named = transform.structured.match interface{LinalgOp} in %fused : (!transform.any_op) -> !transform.any_op
      %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
      %tile, %loop = transform.structured.tile_using_for %generics tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
