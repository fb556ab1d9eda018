"""Benchmarks of kernel families beside rivals, measured in the same rounds; run from a checkout.

- ``suite``: Values of the suite: rivals, families, shapes, goals, and results.
- ``suite_table``: The table of the suite, ``benchmarks/table.toml`` or another file of the same form.
- ``suite_payloads``: Payloads that `lhkit.payloads` has no generator for: einsums, reductions, convolutions.
- ``suite_references``: Their NumPy references.
- ``rivals_client``: Rivals from the client's side: processes, prepared tasks, and the fastest setting.
- ``rival_process``: ``python -m benchmarks.rival_process``: the process of a rival, which prepares a task,
  runs and times it.
- ``instruction_caps``: Rivals held to the instructions of the target, by variables that their libraries read
  at start.
- ``beside_unscheduled``: ``python -m benchmarks.beside_unscheduled``: KernelBench's problems by ``cpu.mlir``
  beside the unscheduled payload.
- ``repair_times``: ``python -m benchmarks.repair_times``: times to the first repair of a broken schedule.
- ``suite_run``: Runs the suite: one row per shape, every entry verified, then sampled in the same rounds.
- ``suite_results``: Ratios against each rival, shares of limits, goals, and two runs against each other.
- ``suite_file``: ``lhkit.suite/1``: serialization of a run of the suite as JSON; each row holds its
  ``lhkit.bench/1``.
- ``suite_tables``: A run of the suite as text: one table per family, omitted entries, settings, and goals.
- ``suite_bars``: Speeds against rivals as bars on a logarithmic axis.
- ``suite_page``: A run of the suite as one self-contained HTML page.
- ``suite_collection``: Runs of the suite on several machines and targets: one file each in ``data/suite``,
  shown side by side.
- ``kernelbench_models``: The problems of ``kernelbench.toml`` as PyTorch modules.
- ``kernelbench_page``: The page on KernelBench: the result of each problem on each machine.
- ``call_costs``: ``python -m benchmarks.call_costs``: a call of a kernel through its worker's wall beside
  NumPy, as a table.
- ``sweep_grids``: Stored grids of sweeps: every variant tried once, with what it cost; data in ``grids``.
- ``cluster_simulation``: ``python -m benchmarks.cluster_simulation``: 200 simulated machines beside one.
- ``sweep_speed``: ``python -m benchmarks.sweep_speed``: searches beside trying everything.
- ``pass_logs``: ``python -m benchmarks.pass_logs``: how long logs of 18 MB take to read, show, walk.
- ``intents``: ``python -m benchmarks.intents``: how far repairs and warnings can be trusted; a folder.
- ``suite_program``: ``lhkit bench --suite``: runs the suite, shows it, and writes its files.
"""
