// A difference of equal sums and one of equal products. CSE has to run before %x - %y is seen to be zero, and again
// before the products are seen to be equal.
func.func @fixed_point(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> {
  %x = arith.addi %a, %b : tensor<6xi32>
  %y = arith.addi %b, %a : tensor<6xi32>
  %zero = arith.subi %x, %y : tensor<6xi32>
  %c = arith.addi %a, %zero : tensor<6xi32>
  %p = arith.muli %c, %b : tensor<6xi32>
  %q = arith.muli %a, %b : tensor<6xi32>
  %zero_again = arith.subi %p, %q : tensor<6xi32>
  %result = arith.addi %b, %zero_again : tensor<6xi32>
  return %result : tensor<6xi32>
}
