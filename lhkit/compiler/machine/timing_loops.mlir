// Loops of timing_loops.py; $words are filled in (string.Template).

llvm.func @repeat(%function: !llvm.ptr, %arguments: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^done
^body:
  llvm.call %function(%arguments) : !llvm.ptr, (!llvm.ptr) -> ()
  %next = llvm.add %i, %one : i64
  llvm.br ^head(%next : i64)
^done:
  llvm.return
}
llvm.func @nothing() {
  llvm.return
}

llvm.func @$name(%data: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %factor = llvm.load %data {alignment = 64 : i64} : !llvm.ptr -> $vector
  %term_place = llvm.getelementptr %data[64] : (!llvm.ptr) -> !llvm.ptr, i8
  %term = llvm.load %term_place {alignment = 64 : i64} : !llvm.ptr -> $vector
  llvm.br ^loop(%zero, $starts : i64, $types)
^loop(%i: i64, $arguments):
$body
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, $ends : i64, $types), ^done
^done:
$sums
  %sum_place = llvm.getelementptr %data[128] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store $sum, %sum_place {alignment = 64 : i64} : $vector, !llvm.ptr
  llvm.return
}

llvm.func @$name(%target: !llvm.ptr, %source: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %block = llvm.mlir.constant($block : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %offset = llvm.mul %i, %block : i64
  %from = llvm.getelementptr %source[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %to = llvm.getelementptr %target[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
$body
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^done
^done:
  llvm.return
}

llvm.func @$name(%target: !llvm.ptr, %source: !llvm.ptr, %count: i64) {
  %block = llvm.mlir.constant($block : i64) : i64
  %size = llvm.mul %count, %block : i64
  "llvm.intr.memcpy"(%target, %source, %size) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
}

llvm.func @$name(%sums: !llvm.ptr, %source: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %block = llvm.mlir.constant($block : i64) : i64
  %start = llvm.load %sums {alignment = 64 : i64} : !llvm.ptr -> $vector
  llvm.br ^loop(%zero, $starts : i64, $types)
^loop(%i: i64, $arguments):
  %offset = llvm.mul %i, %block : i64
  %from = llvm.getelementptr %source[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
$body
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, $ends : i64, $types), ^done
^done:
$stores
  llvm.return
}
