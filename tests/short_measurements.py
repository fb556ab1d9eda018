"""Run first by the kernels of notebooks that tests run: what is measured there is looked at by nobody.

How long the notebooks take as they stand is a heavy test, tests/heavy/test_notebook_times.py.
"""


def shorten_measurements():
    import functools

    import lhkit

    def shortened(function, **most):
        @functools.wraps(function)
        def call(*arguments, **options):
            capped = {name: min(options.get(name, value), value) for name, value in most.items()}
            return function(*arguments, **options | capped)

        return call

    # Of slow kernels five samples would be taken in any case.
    lhkit.measure = shortened(lhkit.measure, seconds=0.3, rounds=2)
    lhkit.profile = shortened(lhkit.profile, seconds=0.3)
    lhkit.sweep = shortened(lhkit.sweep, confirm_seconds=1)


shorten_measurements()
del shorten_measurements
