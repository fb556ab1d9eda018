"""The wall: MLIR runs in another process, one request at a time, with limits; what dies is replaced."""
