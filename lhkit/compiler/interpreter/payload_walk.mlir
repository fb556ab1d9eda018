// The walk of payload_walk.py. %calls: addresses of functions of MLIR's C API, in the order of its _CALLS.

// Writes (op, op around it, hash) of an op and of all in it, outer before inner, as far as there is room for them, and
// returns how many there are. Successors, which the hash leaves out, are mixed into it.
llvm.func @walk(%calls: !llvm.ptr, %op: !llvm.ptr, %around: i64, %out: !llvm.ptr, %count: i64, %most: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %three = llvm.mlir.constant(3 : i64) : i64
  %factor = llvm.mlir.constant(1099511628211 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %self = llvm.ptrtoint %op : !llvm.ptr to i64
  %next_count = llvm.add %count, %one : i64
  %fits = llvm.icmp "slt" %count, %most : i64
  llvm.cond_br %fits, ^hash, ^inside
^hash:
  %hash_of = llvm.load %calls : !llvm.ptr -> !llvm.ptr
  %plain = llvm.call %hash_of(%op) : !llvm.ptr, (!llvm.ptr) -> i64
  %place1 = llvm.getelementptr %calls[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %successors_of = llvm.load %place1 : !llvm.ptr -> !llvm.ptr
  %successors = llvm.call %successors_of(%op) : !llvm.ptr, (!llvm.ptr) -> i64
  llvm.br ^mix(%zero, %plain : i64, i64)
^mix(%i: i64, %mixed: i64):
  %more = llvm.icmp "slt" %i, %successors : i64
  llvm.cond_br %more, ^successor, ^write
^successor:
  %place2 = llvm.getelementptr %calls[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %successor_of = llvm.load %place2 : !llvm.ptr -> !llvm.ptr
  %successor = llvm.call %successor_of(%op, %i) : !llvm.ptr, (!llvm.ptr, i64) -> !llvm.ptr
  %bits = llvm.ptrtoint %successor : !llvm.ptr to i64
  %turned = llvm.mul %mixed, %factor : i64
  %with = llvm.xor %turned, %bits : i64
  %following = llvm.add %i, %one : i64
  llvm.br ^mix(%following, %with : i64, i64)
^write:
  %at = llvm.mul %count, %three : i64
  %first = llvm.getelementptr %out[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %second = llvm.getelementptr %first[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %third = llvm.getelementptr %first[2] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %self, %first : i64, !llvm.ptr
  llvm.store %around, %second : i64, !llvm.ptr
  llvm.store %mixed, %third : i64, !llvm.ptr
  llvm.br ^inside
^inside:
  %place3 = llvm.getelementptr %calls[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %first_region = llvm.load %place3 : !llvm.ptr -> !llvm.ptr
  %region0 = llvm.call %first_region(%op) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.br ^region(%region0, %next_count : !llvm.ptr, i64)
^region(%region: !llvm.ptr, %before_region: i64):
  %is_region = llvm.icmp "ne" %region, %null : !llvm.ptr
  llvm.cond_br %is_region, ^in_region, ^done
^in_region:
  %place4 = llvm.getelementptr %calls[4] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %first_block = llvm.load %place4 : !llvm.ptr -> !llvm.ptr
  %block0 = llvm.call %first_block(%region) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.br ^block(%block0, %before_region : !llvm.ptr, i64)
^block(%block: !llvm.ptr, %before_block: i64):
  %is_block = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %is_block, ^in_block, ^next_region
^in_block:
  %place5 = llvm.getelementptr %calls[5] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %first_op = llvm.load %place5 : !llvm.ptr -> !llvm.ptr
  %op0 = llvm.call %first_op(%block) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.br ^op(%op0, %before_block : !llvm.ptr, i64)
^op(%inner: !llvm.ptr, %before_op: i64):
  %is_op = llvm.icmp "ne" %inner, %null : !llvm.ptr
  llvm.cond_br %is_op, ^in_op, ^next_block
^in_op:
  %behind = llvm.call @walk(%calls, %inner, %self, %out, %before_op, %most) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64) -> i64
  %place6 = llvm.getelementptr %calls[6] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %next_op = llvm.load %place6 : !llvm.ptr -> !llvm.ptr
  %op1 = llvm.call %next_op(%inner) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.br ^op(%op1, %behind : !llvm.ptr, i64)
^next_block:
  %place7 = llvm.getelementptr %calls[7] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %next_block = llvm.load %place7 : !llvm.ptr -> !llvm.ptr
  %block1 = llvm.call %next_block(%block) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.br ^block(%block1, %before_op : !llvm.ptr, i64)
^next_region:
  %place8 = llvm.getelementptr %calls[8] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %next_region = llvm.load %place8 : !llvm.ptr -> !llvm.ptr
  %region1 = llvm.call %next_region(%region) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.br ^region(%region1, %before_block : !llvm.ptr, i64)
^done:
  llvm.return %before_region : i64
}

// %count: how many there are before, and then with those of the root.
llvm.func @look(%calls: !llvm.ptr, %root: !llvm.ptr, %out: !llvm.ptr, %count: !llvm.ptr, %most: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %before = llvm.load %count : !llvm.ptr -> i64
  %behind = llvm.call @walk(%calls, %root, %zero, %out, %before, %most) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64) -> i64
  llvm.store %behind, %count : i64, !llvm.ptr
  llvm.return
}
