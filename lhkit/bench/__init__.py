"""Measurements: sampling side by side, files, comparisons of runs, charts.

- ``bench_file``: ``lhkit.bench/1``: a comparison as JSON and back, strictly.
- ``run_comparison``: Two runs against each other: speeds of common entries as ratios with intervals.
- ``bar_chart``: Speeds as bars with intervals, in matplotlib: for notebooks, pages and papers.
- ``size_chart``: GFLOP/s against size, with intervals and the core's peak: one payload family, measured at
  several sizes.
- ``roofline``: The roofline: speed against arithmetic intensity, below what the core can compute and copy.
- ``side_by_side``: Measuring kernels side by side: one worker, one core, rounds in random order.
- ``sampler``: Sampling in a worker: a set of calls, from preparation through warm-up and rounds to the last
  sample.
- ``bench_store``: ``lhkit.bench/1`` files on disk.
"""
