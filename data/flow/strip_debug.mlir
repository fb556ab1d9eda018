// A sum that checks its sizes and prints what it computed last, with the places of the Python code it came from.
func.func @strip_debug(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32> loc("model.py":12:9)
  %m = tensor.dim %b, %c0 : tensor<?xf32> loc("model.py":12:13)
  %same = arith.cmpi eq, %n, %m : index loc("model.py":12:9)
  cf.assert %same, "the operands have different sizes" loc("model.py":12:9)
  %empty = tensor.empty(%n) : tensor<?xf32>
  %sum = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) -> tensor<?xf32> loc("model.py":12:9)
  %first = tensor.extract %sum[%c0] : tensor<?xf32> loc("model.py":13:3)
  vector.print str "the first element is "
  vector.print %first : f32 loc("model.py":13:3)
  return %sum : tensor<?xf32>
}
