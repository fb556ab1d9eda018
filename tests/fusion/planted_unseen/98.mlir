// producer: 21
// consumer: 23
// cause: wrong-order
// repair: yes
// An integer product of unknown shape, requantized to i8; and a second function that has nothing to do with it.
#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
module {
  func.func private @clip(%x: tensor<?xi32>, %into: tensor<?xi32>) -> tensor<?xi32> {
    %r = linalg.max ins(%x, %into : tensor<?xi32>, tensor<?xi32>) outs(%into : tensor<?xi32>) -> tensor<?xi32>
    return %r : tensor<?xi32>
  }
  func.func @quantized(%a: tensor<?x?xi8>, %b: tensor<?x?xi8>, %shift: tensor<?xi32>) -> tensor<?x?xi8> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %m = tensor.dim %a, %c0 : tensor<?x?xi8>
    %n = tensor.dim %b, %c1 : tensor<?x?xi8>
    %acc_empty = tensor.empty(%m, %n) : tensor<?x?xi32>
    %acc = linalg.fill ins(%zero : i32) outs(%acc_empty : tensor<?x?xi32>) -> tensor<?x?xi32>
    %product = linalg.matmul ins(%a, %b : tensor<?x?xi8>, tensor<?x?xi8>) outs(%acc : tensor<?x?xi32>) -> tensor<?x?xi32>
    %empty = tensor.empty(%m, %n) : tensor<?x?xi8>
    %requantized = linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
        ins(%product, %shift : tensor<?x?xi32>, tensor<?xi32>) outs(%empty : tensor<?x?xi8>) {
    ^bb0(%v: i32, %s: i32, %out: i8):
      %shifted = arith.shrsi %v, %s : i32
      %narrow = arith.trunci %shifted : i32 to i8
      linalg.yield %narrow : i8
    } -> tensor<?x?xi8>
    return %requantized : tensor<?x?xi8>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %func = transform.structured.match ops{["func.func"]} attributes{sym_name = "quantized"} in %root : (!transform.any_op) -> !transform.any_op
    // The reduction by steps of 32, so that a strip of the right side stays in the cache.
    %product = transform.structured.match ops{["linalg.matmul"]} in %func : (!transform.any_op) -> !transform.any_op
    %product_k, %k_loop = transform.structured.tile_using_for %product tile_sizes [0, 0, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // Tiles of the result over threads, with the product inside.
    %requantize = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %threads = transform.structured.tile_using_forall %requantize tile_sizes [64, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %threads_1 = transform.structured.fuse_into_containing_op %product_k into %threads
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
