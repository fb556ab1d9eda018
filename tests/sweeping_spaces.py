"""Spaces for tests: a schedule as a value, and the walk of the whole product to compare with."""

import itertools

from lhkit.model.knob import Knob
from lhkit.model.schedule import NamedSequence, Schedule
from lhkit.sweeps.constraints import as_constraint
from lhkit.sweeps.space import Axis, Space


def make_space(axes, *constraints):
    """Return a space of axes by name and of what ``as_constraint`` takes."""
    made = tuple(a if isinstance(a, Axis) else Axis(*a) for a in axes)
    known = [n for axis in made for n in axis.columns()]
    return Space(made, tuple(as_constraint(c, known) for c in constraints))


def walk(axes, *predicates):
    """Return the points that meet predicates of a dictionary of values, by walking the product."""
    names = [name for name, _ in axes]
    points = (tuple(zip(names, values, strict=True)) for values in itertools.product(*(v for _, v in axes)))
    return [p for p in points if all(holds(dict(p)) for holds in predicates)]


def make_schedule(*knobs, text="", settings=(), sequences=(), entry="__transform_main"):
    """Return a schedule as a value."""
    main = NamedSequence("__transform_main", (), 1)
    made = tuple(Knob(k, *rest, line=1) if isinstance(k, str) else k for k, *rest in knobs)
    return Schedule("s.mlir", text, (main, *sequences), made, entry, settings)


def sample(space, rng, count):
    """Return some points in random order."""
    return tuple(map(space.point_of, itertools.islice(space.shuffled(rng), count)))


def contains(space, point):
    """Return whether a point is one of a space."""
    places = space.places_of(point)
    return places is not None and space.plan.holds(places)
