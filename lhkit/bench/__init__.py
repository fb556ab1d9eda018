"""Measurements: sampling side by side, files, comparisons of runs, charts.

- ``bench_file``: ``lhkit.bench/1``: serialization of a comparison as JSON.
- ``run_comparison``: Two runs against each other: speeds of common entries as ratios with intervals.
- ``side_by_side``: Measuring kernels side by side: one worker, one core, rounds in random order until a
  budget is spent.
- ``speed_charts``: Charts of measurements: speed bars, GFLOP/s against size, rooflines.
"""
