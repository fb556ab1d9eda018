// Three globals: a constant, one that is mutable and never written, and one that is written and never read.
ml_program.global private @bias(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) : tensor<4xf32>
ml_program.global private mutable @scale(dense<0.5> : tensor<4xf32>) : tensor<4xf32>
ml_program.global private mutable @last(dense<0.0> : tensor<4xf32>) : tensor<4xf32>

func.func @fold_globals(%a: tensor<4xf32>) -> tensor<4xf32> {
  %scale = ml_program.global_load @scale : tensor<4xf32>
  %bias = ml_program.global_load @bias : tensor<4xf32>
  %scaled = arith.mulf %a, %scale : tensor<4xf32>
  %result = arith.addf %scaled, %bias : tensor<4xf32>
  ml_program.global_store @last = %result : tensor<4xf32>
  return %result : tensor<4xf32>
}
