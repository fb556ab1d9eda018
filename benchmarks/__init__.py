"""Benchmarks of kernel families beside rivals, measured in the same rounds; run from a checkout.

- ``suite``: The suite: families and shapes that are measured side by side with what a user would pick
  instead.
- ``suite_table``: The table of the suite, ``benchmarks/table.toml`` or another file of the same form.
- ``rivals_client``: Rivals from the client's side: whether they are installed, their processes, and one
  prepared task each.
- ``rival_process``: ``python -m benchmarks.rival_process``: the process of a rival, which prepares a task,
  runs and times it.
- ``suite_run``: Running the suite: a row a shape, everything verified, then sampled in the same rounds.
- ``suite_results``: What a run of the suite says: ratios against each rival, shares of limits, and whether
  goals are reached.
- ``suite_file``: ``lhkit.suite/1``: a run of the suite as JSON and back; each row holds its
  ``lhkit.bench/1``.
- ``suite_tables``: A run of the suite in words: a table a family, what was left out, and which goals are
  reached.
- ``suite_bars``: Speeds against rivals as bars on a logarithmic axis: to the right of the line faster, to the
  left slower.
- ``suite_page``: A run of the suite as one self-contained HTML page.
- ``suite_program``: ``lhkit bench --suite``: runs the suite, shows it, and writes its files.
"""
