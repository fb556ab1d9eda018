"""Pass pipelines, pass by pass: run in the worker, or read from the logs of other compilers.

- ``pass_run``: Runs of pass pipelines in the worker, pass by pass, also of lhkit's own lowering.
- ``print_ir_log``: Logs of ``mlir-opt`` and IREE that print the IR before and after passes, read without
  parsing the IR.
- ``iree_passes``: IREE's pipeline on a payload, pass by pass: its compiler runs as a process with limits; its
  log is read.
- ``pass_views``: Passes as text, as a table, as op counts over the passes, and the diff of one.
- ``linked_code``: Machine code of the hot loops, linked to payload ops and steps.
- ``pass_page``: The page of a pipeline; texts stay compressed in it until they are looked at.
"""
