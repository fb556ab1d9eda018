"""Measurements: sampling side by side, files, comparisons of runs, charts.

- ``bench_file``: ``lhkit.bench/1``: serialization of a comparison as JSON.
- ``run_comparison``: Two runs against each other: speeds of common entries as ratios with intervals.
- ``bar_chart``: Bar charts of speeds with intervals, in matplotlib.
- ``size_chart``: GFLOP/s against size, with intervals and the core's peak.
- ``roofline``: Roofline charts: speed against arithmetic intensity, below the limits of the core.
- ``side_by_side``: Measuring kernels side by side: one worker, one core, rounds in random order.
- ``sampler``: Sampling in a worker: preparation, warm-up, and rounds until the budget is spent.
"""
