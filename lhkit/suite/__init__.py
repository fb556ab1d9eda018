"""Benchmarks of kernel families beside rivals, measured in the same rounds.

- ``suite_results``: What a run of the suite says: ratios against each rival, shares of limits, and whether
  goals are reached.
- ``suite_file``: ``lhkit.suite/1``: a run of the suite as JSON and back; each row holds its
  ``lhkit.bench/1``.
- ``suite_comparison``: Two runs of the suite against each other: the speed of each kernel, relative to
  NumPy's in the same run.
- ``rival``: Other programs that compute the same, to be measured beside kernels.
- ``suite``: The suite: families and shapes that are measured side by side with what a user would pick
  instead.
- ``suite_bars``: Speeds against rivals as bars on a logarithmic axis: to the right of the line faster, to the
  left slower.
- ``suite_page``: A run of the suite as one self-contained HTML page.
- ``suite_tables``: A run of the suite in words: a table a family, what was left out, and which goals are
  reached.
- ``rivals_client``: Rivals from the client's side: whether they are installed, their processes, and one
  prepared task each.
- ``suite_run``: Running the suite: a row a shape, everything verified, then sampled in the same rounds.
- ``suite_selection``: The selection round: a rival is sampled briefly in each of its settings, and the
  fastest is taken.
- ``suite_table``: The suite's table, ``data/suite/table.toml``, or another one of the same form.
- ``rival_process/``: The process that rivals are timed in: ``python -m lhkit.suite.rival_process``.
"""
