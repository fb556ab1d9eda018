"""The process that rivals are timed in: ``python -m lhkit.suite.rival_process``.

- ``rival_handlers``: What the process of a rival does for each request: prepares a task, runs it once, times
  it.
"""
