"""Knobs to axes, and what arguments leave of them."""

import pytest
from sweeping_spaces import make_schedule

from lhkit.model.errors import UsageError
from lhkit.model.knob import Bounds, Knob
from lhkit.model.payload import Payload
from lhkit.model.schedule import NamedSequence
from lhkit.model.signature import ArrayType, Function
from lhkit.sweeps.space import knob_axes, narrow, space_of, split_narrowings

TILE = Knob("tile", (2, 4, 8, 16, 32, 64, 128), 8, 1)
ANY = Knob("any", (), 8, 1)
EVEN = Knob("even", (), None, 1, bounds=Bounds(lower_bound=2, divisible_by=2))


@pytest.mark.parametrize(
    ("knob", "argument", "values"),
    [
        (TILE, "4,8,16", (4, 8, 16)),
        (TILE, " 16 , 4,16", (16, 4)),
        (TILE, "5..64", (8, 16, 32, 64)),
        (TILE, "64..5", (64, 32, 16, 8)),
        (TILE, "8..100*2", (8, 16, 32, 64)),
        (TILE, "2..128*4", (2, 8, 32, 128)),
        (TILE, "1..1000000000", TILE.options),
        (TILE, "2, 32..64", (2, 32, 64)),
        (TILE, (64, 2, 64), (64, 2)),
        (TILE, 16, (16,)),
        (ANY, "1..4", (1, 2, 3, 4)),
        (ANY, "8..256*2", (8, 16, 32, 64, 128, 256)),
        (ANY, "16 .. 64 + 16", (16, 32, 48, 64)),
        (ANY, "-2..2+2", (-2, 0, 2)),
        (ANY, "0.1..0.5+0.2", (0.1, pytest.approx(0.3), 0.5)),
        (ANY, "cubic", ("cubic",)),
        (EVEN, "1..9", (2, 4, 6, 8)),
        (EVEN, "4", (4,)),
        (Knob("f", (0.25, 0.5, 1.0), 0.5, 1), "0.3..1", (0.5, 1.0)),
        (Knob("on", (True, False), True, 1), "false", (False,)),
        (Knob("s", ("a..b", "c"), "c", 1), "a..b", ("a..b",)),
    ],
)
def test_an_argument_narrows_a_knob(knob, argument, values):
    found = narrow(knob, argument)
    assert found == values and all(
        type(a) is type(b) for a, b in zip(found, values, strict=True) if isinstance(b, bool)
    )


@pytest.mark.parametrize(
    ("knob", "argument", "message"),
    [
        (TILE, "4,5", "knob 'tile' cannot be '5'"),
        (TILE, [8, 9], "knob 'tile' cannot be '9'"),
        (TILE, "9..15", "'9..15' leaves no value of knob 'tile'"),
        (TILE, "4,,8", "knob 'tile' cannot be ''"),
        (TILE, [], r"\[\] leaves no value"),
        (TILE, "4..x", "'4..x' is not a range of knob 'tile'"),
        (ANY, "1..", "'1..' is not a range of knob 'any'"),
        (ANY, "4,", "an empty value for knob 'any'"),
        (ANY, "0..8*2", "does not grow"),
        (ANY, "1..8*1", "does not grow"),
        (ANY, "1..8+0", "does not grow"),
        (ANY, "8..1", "runs backwards"),
        (ANY, "1..1000000", "more than 10,000 values"),
        (EVEN, "3", "knob 'even' cannot be '3'"),
    ],
)
def test_what_an_argument_cannot_be(knob, argument, message):
    with pytest.raises(UsageError, match=message):
        narrow(knob, argument)


def test_arguments_of_the_command_line_are_split():
    assert split_narrowings(["m=4,8", "s==x", "m=16..64*2"]) == {"m": "4,8,16..64*2", "s": "=x"}
    for wrong in ("m", "=4", "m="):
        with pytest.raises(UsageError, match=f"--knob {wrong}: expected NAME=V1,V2"):
            split_narrowings([wrong])


def test_every_applied_knob_is_an_axis():
    schedule = make_schedule(
        ("tile", (4, 8), 8),
        (Knob("div", (1, 2, 4), None, 1, bounds=Bounds(divides=4)),),
        (ANY,),
        (Knob("elsewhere", (1, 2), None, 1, sequences=("unused",)),),
        (Knob("set", (1, 2, 3), 1, 1),),
        settings=(("set", 3),),
        sequences=(NamedSequence("unused", (), 9),),
    )
    assert [(a.name, a.values, a.default) for a in knob_axes(schedule, {})] == [
        ("tile", (4, 8), 8),
        ("div", (1, 2, 4), None),
        ("any", (8,), 8),
        ("set", (3,), 3),
    ]
    narrowed = knob_axes(schedule, {"set": "1..2", "any": [4, 8], "tile": "4"})
    assert [a.values for a in narrowed] == [(4,), (1, 2, 4), (4, 8), (1, 2)]
    with pytest.raises(
        UsageError, match=r"knob 'elsewhere' of s.mlir stands in no sequence that @__transform_main"
    ):
        knob_axes(schedule, {"elsewhere": [1]})
    with pytest.raises(UsageError, match=r"s\.mlir has no knob 'tiles'") as raised:
        knob_axes(schedule, {"tiles": [1]})
    assert raised.value.failure.advice == "Its knobs: tile, div, any, set."


def test_a_knob_without_an_end_has_to_be_narrowed():
    schedule = make_schedule((EVEN,), text="  knob even\n")
    with pytest.raises(UsageError, match=r"knob 'even' of s\.mlir has no list of values to sweep") as raised:
        knob_axes(schedule, {})
    failure = raised.value.failure
    assert (failure.span.file, failure.span.line) == ("s.mlir", 1) and "--knob even=…" in failure.advice
    assert knob_axes(schedule, {"even": "2..6"})[0].values == (2, 4, 6)


REQUIRING = "// lhkit: require m * n <= 64\n// lhkit: require divides(u, m)\n// lhkit: require gone < m\n"


def test_the_space_of_a_schedule_meets_its_requirements():
    schedule = make_schedule(
        ("m", (4, 8, 16), 8),
        ("n", (4, 8, 16), 8),
        ("u", (1, 3, 16), 1),
        (Knob("gone", (5,), None, 1, sequences=("unused",)),),
        text=REQUIRING,
    )
    space = space_of(schedule, constraints=["m >= n", lambda m, u: m != 4 or u != 1])
    assert [tuple(v for _, v in p) for p in space.points()] == [(8, 4, 1), (8, 8, 1), (16, 4, 1), (16, 4, 16)]
    assert [c.sentence for c in space.constraints[:2]] == ["m * n <= 64", "divides(u, m)"]
    assert (space.constraints[1].at.file, space.constraints[1].at.line) == ("s.mlir", 2)
    said = r"the space is empty: no point meets 'm \* n <= 64' and 'm \+ n == 32' together"
    with pytest.raises(UsageError, match=said) as raised:
        space_of(schedule, constraints=["m + n == 32"])
    assert "m: 4, 8, 16" in raised.value.failure.advice


def tensor(*shape, dtype="float32"):
    return ArrayType("tensor", shape, dtype, "tensor")


def product(m, dtype="float32", k=8):
    types = (tensor(m, k, dtype=dtype), tensor(k, None, dtype=dtype))
    return Payload(f"<{m}>", f"{m} {dtype}", (Function("mm", types, (tensor(m, None, dtype=dtype),), 1),))


def test_payloads_are_an_axis_whose_extents_constraints_may_name():
    payloads = {"small": product(24), "large": product(64, "float64")}
    schedule = make_schedule(("tile", (8, 16, 48), 8))
    space = space_of(schedule, payload=payloads, constraints=["divides(tile, arg0_dim0)"])
    assert list(space.points()) == [
        (("payload", "small"), ("tile", 8)),
        (("payload", "large"), ("tile", 8)),
        (("payload", "large"), ("tile", 16)),
    ]
    axis = space.axes[0]
    assert dict(axis.facts[1]) == {
        "arg0_dim0": 64, "arg0_dim1": 8, "arg0_dtype": "float64", "arg1_dim0": 8, "arg1_dtype": "float64",
        "result0_dim0": 64, "result0_dtype": "float64",
    }  # fmt: skip
    by_dtype = space_of(
        schedule, payload=payloads, constraints=[lambda arg0_dtype, tile: arg0_dtype != "float64" or tile > 8]
    )
    assert by_dtype.count() == 5
    for constraint in ("arg1_dim1 > 2", lambda rows: rows > 2):
        with pytest.raises(UsageError, match=r"no knob|not a knob"):
            space_of(schedule, payload=payloads, constraints=[constraint])


def test_the_extents_of_one_payload_are_constants():
    schedule = make_schedule(("tile", (8, 16, 48), 8))
    both = ["divides(tile, arg0_dim0)", lambda tile, result0_dim0: tile < result0_dim0]
    space = space_of(schedule, payload=product(48), constraints=both)
    assert list(space.points()) == [(("tile", 8),), (("tile", 16),)]
    with pytest.raises(UsageError, match="has no payloads"):
        space_of(schedule, payload={})
