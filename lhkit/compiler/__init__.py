"""The only room that imports MLIR. It runs in the worker process, never in the user's."""
