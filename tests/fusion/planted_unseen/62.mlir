// producer: 10
// consumer: 17
// cause: dead-handle
// repair: yes
// A masked row: compare and select in two ops, on as many elements as come.
#id = affine_map<(i) -> (i)>
func.func @clip_rare(%counts: tensor<?xi64>, %values: tensor<?xf32>, %least: i64, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %em = tensor.empty(%n) : tensor<?xi1>
  %often = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%counts : tensor<?xi64>) outs(%em : tensor<?xi1>) attrs = {tag = "often"} {
  ^bb0(%c: i64, %o: i1):
    %v = arith.cmpi sge, %c, %least : i64
    linalg.yield %v : i1
  } -> tensor<?xi1>
  %ev = tensor.empty(%n) : tensor<?xf32>
  %kept = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%often, %values : tensor<?xi1>, tensor<?xf32>) outs(%ev : tensor<?xf32>) attrs = {tag = "keep"} {
  ^bb0(%m: i1, %x: f32, %o: f32):
    %v = arith.select %m, %x, %zero : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %kept : tensor<?xf32>
}

// -----

// A loop over whole vectors and one over what is left; the comparison goes in.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %often, %keep = transform.include @two failures(propagate) (%root) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_for %keep tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.op<"scf.for">)
    %main, %rest = transform.loop.peel %loop : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    %often_in, %loop_1 = transform.structured.fuse_into_containing_op %often into %loop
      : (!transform.any_op, !transform.op<"scf.for">) -> (!transform.any_op, !transform.op<"scf.for">)
    transform.yield
  }

  transform.named_sequence private @two(%root: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_op) {
    %often = transform.structured.match attributes {tag = "often"} in %root : (!transform.any_op) -> !transform.any_op
    %keep = transform.structured.match attributes {tag = "keep"} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield %often, %keep : !transform.any_op, !transform.any_op
  }
}
