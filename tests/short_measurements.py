"""Run first by the kernels of notebooks that tests run: what is measured there is looked at by nobody.

How long the notebooks take as they stand is a heavy test, tests/heavy/test_notebook_times.py.
"""


def shorten_measurements():
    import functools

    import lhkit

    def shortened(function, name, most):
        @functools.wraps(function)
        def call(*arguments, **options):
            options[name] = min(options.get(name, most), most)
            return function(*arguments, **options)

        return call

    lhkit.measure = shortened(lhkit.measure, "seconds", 0.3)
    lhkit.profile = shortened(lhkit.profile, "seconds", 0.3)
    lhkit.sweep = shortened(lhkit.sweep, "confirm_seconds", 1)


shorten_measurements()
del shorten_measurements
