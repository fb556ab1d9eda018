"""The words of the project as frozen values: no MLIR object, no I/O, only the standard library."""
