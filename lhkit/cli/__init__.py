"""The command line: one program with subcommands, over the same functions as the notebooks.

- ``main``: The program ``lhkit``: its subcommands, and what becomes of errors.
- ``terminal``: What the command line says to people, on standard output and standard error.
- ``options``: Options that several subcommands share: schedules with knobs and bindings, and limits.
- ``bench_command``: ``lhkit bench``: time a payload, unscheduled and with schedules, beside its reference.
- ``sweep_command``: ``lhkit sweep``: try the variants of a schedule's knobs.
- ``compare_command``: ``lhkit compare``: two benchmarks or two sweeps, as ratios with intervals.
- ``check_command``: ``lhkit check``: uses of invalid handles, found without a payload.
- ``demo_command``: ``lhkit demo``: the main job, end to end, on a shipped payload and its schedules.
- ``doctor_command``: ``lhkit doctor``: what was found here, and the command that adds what is missing.
- ``lab_command``: ``lhkit lab``: JupyterLab on a private copy of the notebooks.
- ``publish_command``: ``lhkit publish``: notebooks as web pages that need no kernel and no network.
- ``run_command``: ``lhkit run``: compile a payload, scheduled or not, and run it once.
- ``trace_command``: ``lhkit trace``: apply a schedule step by step and say what every handle was.
- ``upgrade_command``: ``lhkit upgrade``: old spellings rewritten, as a diff or in the file.
- ``suite_command``: The options of ``lhkit bench --suite``, which runs the benchmarks of a checkout.
"""
