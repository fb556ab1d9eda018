"""The command line: one program with subcommands, over the same functions as the notebooks.

- ``main``: The program ``lhkit``: subcommands, exit codes and error reporting.
- ``terminal``: Output of the command line: text, colours, progress and files, on standard output and error.
- ``options``: Options that several subcommands share: schedules, microkernels and limits.
- ``positive_number``: The type of options that are positive numbers.
- ``bench_command``: ``lhkit bench``: time a payload beside its reference, or with ``--suite`` the benchmarks
  of a checkout.
- ``sweep_command``: ``lhkit sweep``: try the variants of a schedule's knobs.
- ``compare_command``: ``lhkit compare``: two benchmarks or two sweeps, as ratios with intervals.
- ``best_command``: ``lhkit best``: what sweeps found, for a payload or all of it; export and import.
- ``check_command``: ``lhkit check``: uses of invalidated handles, found without a payload.
- ``demo_command``: ``lhkit demo``: compile, verify, time and sweep a shipped layer.
- ``doctor_command``: ``lhkit doctor``: the environment, and the commands that install what is missing.
- ``explore_command``: ``lhkit explore``: the workbench in a browser tab of its own.
- ``lab_command``: ``lhkit lab``: JupyterLab on a private copy of the notebooks.
- ``passes_command``: ``lhkit passes``: a pass pipeline, pass by pass, or the log of another compiler.
- ``propose_command``: ``lhkit propose``: a first schedule for a payload, verified.
- ``publish_command``: ``lhkit publish``: notebooks as web pages that need no kernel and no network.
- ``run_command``: ``lhkit run``: compile a payload, scheduled or not, and run it once.
- ``trace_command``: ``lhkit trace``: apply a schedule step by step and report every handle.
- ``upgrade_command``: ``lhkit upgrade``: old spellings rewritten, as a diff or in the file.
"""
