// The signal handler of code_samples.py; $$counter is filled in (string.Template). It touches nothing but its buffer:
// [samples so far, room for samples, program counters …], whose address came with the timer.
llvm.func @note(%signal: i32, %info: !llvm.ptr, %context: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %value = llvm.getelementptr %info[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %buffer = llvm.load %value : !llvm.ptr -> !llvm.ptr
  %most_place = llvm.getelementptr %buffer[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %count = llvm.load %buffer : !llvm.ptr -> i64
  %most = llvm.load %most_place : !llvm.ptr -> i64
  %fits = llvm.icmp "slt" %count, %most : i64
  llvm.cond_br %fits, ^keep, ^done
^keep:
  %counter_place = llvm.getelementptr %context[$counter] : (!llvm.ptr) -> !llvm.ptr, i8
  %counter = llvm.load %counter_place : !llvm.ptr -> i64
  %at = llvm.add %count, %two : i64
  %slot = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %counter, %slot : i64, !llvm.ptr
  %next = llvm.add %count, %one : i64
  llvm.store %next, %buffer : i64, !llvm.ptr
  llvm.br ^done
^done:
  llvm.return
}
llvm.func @address_of_note(%place: !llvm.ptr) {
  %note = llvm.mlir.addressof @note : !llvm.ptr
  llvm.store %note, %place : !llvm.ptr, !llvm.ptr
  llvm.return
}
