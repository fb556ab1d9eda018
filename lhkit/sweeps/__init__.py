"""Sweeps over the knobs of a schedule: space, strategies, executors, store, winner, charts.

- ``variant_record``: Variants as a sweep found them: one record each, a line of the store.
- ``space``: The space of a sweep: axes, and the constraints between their values.
- ``axes``: Axes of a space: the knobs of a schedule, and payloads.
- ``constraints``: Constraints: what the values of a point have to be to one another.
- ``space_plan``: How a space is counted: all its constraints at once where that is quick, else some of them
  on every draw.
- ``engine``: The engine of sweeps: asks a strategy for points, has them tried, and keeps what came of it.
- ``executors``: What tries variants: a worker on this machine.
- ``dask_executor``: Tries variants on a Dask cluster, one at a time a machine.
- ``dask_host``: What runs in the worker processes of a Dask cluster: one persistent worker of lhkit in each.
- ``sweep_task``: What a sweep is of: a schedule, and a payload or several with all that trying a variant
  takes.
- ``record_store``: The store of sweeps: a file of JSON lines that only grows, and that nothing can damage but
  the disk.
- ``confirmation``: What a confirmation run found: the winner or that there is none, its speed-up, and what
  bounds it.
- ``confirmation_run``: Confirming the winner of a sweep: the best few and the baseline again, side by side,
  in fresh processes.
- ``winner``: Which of a few programs is the fastest, or that none is: decided over processes, not over calls.
- ``knob_importance``: Which knobs decide the time: how much of its variance each explains.
- ``sweep_files``: Stores of sweeps on disk: where they lie if nobody says, and what they hold for other
  programs.
- ``store_comparison``: Two stores of sweeps against each other: speeds of common variants as ratios with
  intervals.
- ``sweep_summary``: What a sweep found, from its records: the way to the best, and what failed.
- ``live_sweep``: A sweep while it runs and afterwards: its state, its confirmation, and what may be asked of
  it.
- ``sweep_options``: Sweeps: a schedule's knobs tried out, in the background of a notebook or to the end in a
  script.
- ``strategy_replay``: Strategies on a stored grid: how many variants each would have tried, without running
  one.
- ``sweep_heat``: A sweep over two or three knobs as heat maps: what to draw, and its drawing in matplotlib.
- ``sweep_parallel``: A sweep over many knobs: parallel coordinates, and how much each knob explains.
- ``sweep_history``: How a sweep went: the best so far after each variant, and what failed in which way.
- ``sweep_table``: The result of a sweep as tables and lines of text.
- ``sweep_board``: A running sweep in a notebook: progress, best so far, a heat map that fills, and a button
  that stops it.
- ``best_schedule``: The winner of a sweep: which one it is, whether it really is, and its schedule.
- ``executor_choice``: Where the variants of a sweep are tried, by the name that users give it.
- ``strategies/``: strategies
"""
