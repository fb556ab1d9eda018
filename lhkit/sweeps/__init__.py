"""Sweeps over the knobs of a schedule: space, strategies, executors, store, winner, charts.

- ``variant_record``: Variants as a sweep found them: one record each, a line of the store.
- ``space``: The space of a sweep: its axes (knobs and payloads), constraints, and its points: by backtracking
  up to an effort, else drawn.
- ``constraints``: Constraints between the values of a point: expressions, Python functions, and common ones
  by name.
- ``engine``: Engine of sweeps: asks a strategy for points, has an executor try the variants, and appends
  their records.
- ``paired_executor``: Two processes of one machine: one compiles while the other times, one timing at a time.
- ``dask_executor``: Dask executor: tries variants on the machines of one kind of a Dask cluster.
- ``machine_pool``: Machines of a cluster, as they come and go: kinds, refusals, and who shares cores with whom.
- ``dask_cluster``: Connection to a Dask cluster: its workers, their versions, calls on one of them.
- ``dask_host``: What a sweep runs on the workers of a Dask cluster, each with a persistent worker of lhkit.
- ``core_sharing``: Interference probe: which machines of a cluster disturb each other's timings.
- ``sweep_task``: The task of a sweep: options, schedule, and for each payload the inputs and expected results.
- ``record_store``: Stores of sweeps: append-only files of JSON lines, locked, and repaired after a kill.
- ``confirmation``: The result of a confirmation run, and the sequential test for the fastest of a few programs.
- ``confirmation_run``: Confirmation of a sweep's winner: the best few and the baseline, side by side, in
  fresh processes.
- ``sweep_files``: Stores of sweeps on disk: default path, export as tables, comparison of two stores by knobs.
- ``optuna_study``: Sweeps as studies of Optuna: a SQLite file that ``optuna-dashboard`` opens.
- ``sweep_summary``: The result of a sweep as a value: times, choices per payload, analysis of variance by knob.
- ``live_sweep``: ``lhkit.sweep`` and the `Sweep` object: state, events, stopping, confirmation.
- ``strategy_replay``: Replay of strategies on a stored grid, without running a variant.
- ``sweep_table``: The result of a sweep as tables and lines of text.
- ``sweep_page``: The page of a sweep, written anew while it runs; its chart of contenders.
- ``sweep_board``: Live board of a running sweep in a notebook: progress, best so far, heat map, stop button.
- ``strategies/``: Strategies: in which order the points of a space are tried.
- ``sweep_charts``: Charts of a sweep: heat maps, history, and counts of outcomes.
- ``parallel_coordinates``: Parallel coordinates of a sweep, and what each knob explains.
"""
