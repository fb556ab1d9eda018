// producer: 11
// consumer: 29
// cause: outside-the-loop
// repair: yes
// Weights kept as i8 with a scale per column are dequantized by a helper of its own, which two layers call.
module {
  func.func private @dequant(%q: tensor<?x384xi8>, %scale: tensor<384xf16>) -> tensor<?x384xf16> {
    %c0 = arith.constant 0 : index
    %rows = tensor.dim %q, %c0 : tensor<?x384xi8>
    %empty = tensor.empty(%rows) : tensor<?x384xf16>
    %w = linalg.generic {
        indexing_maps = [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> (n)>, affine_map<(k, n) -> (k, n)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%q, %scale : tensor<?x384xi8>, tensor<384xf16>) outs(%empty : tensor<?x384xf16>) {
    ^bb0(%a: i8, %s: f16, %o: f16):
      %f = arith.sitofp %a : i8 to f16
      %v = arith.mulf %f, %s : f16
      linalg.yield %v : f16
    } -> tensor<?x384xf16>
    return %w : tensor<?x384xf16>
  }
  func.func @gate(%x: tensor<384xf16>, %q: tensor<?x384xi8>, %scale: tensor<384xf16>, %acc: tensor<?xf16>) -> tensor<?xf16> {
    %w = call @dequant(%q, %scale) : (tensor<?x384xi8>, tensor<384xf16>) -> tensor<?x384xf16>
    %y = linalg.matvec ins(%w, %x : tensor<?x384xf16>, tensor<384xf16>) outs(%acc : tensor<?xf16>) -> tensor<?xf16>
    return %y : tensor<?xf16>
  }
  func.func @project(%x: tensor<16x?xf16>, %q: tensor<?x384xi8>, %scale: tensor<384xf16>, %acc: tensor<16x384xf16>) -> tensor<16x384xf16> {
    %w = call @dequant(%q, %scale) : (tensor<?x384xi8>, tensor<384xf16>) -> tensor<?x384xf16>
    %y = linalg.matmul ins(%x, %w : tensor<16x?xf16>, tensor<?x384xf16>) outs(%acc : tensor<16x384xf16>) -> tensor<16x384xf16>
    return %y : tensor<16x384xf16>
  }
}

// -----

// Columns of the projection in parallel; the weights of those columns are dequantized where they are used.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %y = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %w = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %y num_threads [0, 6]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %w_in, %loop_1 = transform.structured.fuse_into_containing_op %w into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
