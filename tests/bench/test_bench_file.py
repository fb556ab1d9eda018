"""``lhkit.bench/1``: what is written fits the schema and reads back the same; what is wrong is refused."""

import copy
import json
import math
from pathlib import Path

import jsonschema
import pytest

import lhkit
from lhkit.bench.bench_file import bench_from_json, bench_to_json, failed_bench_to_json
from lhkit.model.errors import Failure, UsageError
from lhkit.model.measurement import Comparison, CoreLimits, Measurement, Verification

SCHEMA = json.loads((Path(lhkit.__file__).parent / "schemas" / "bench-1.json").read_text(encoding="utf-8"))
CHECKER = jsonschema.Draft202012Validator(SCHEMA)


def comparison():
    rounds = range(8)
    right = Verification(ok=True, max_abs_error=1e-6, tolerance=1e-4, against="NumPy")
    wrong = Verification(False, math.inf, 1e-4, "NumPy", "result 0 at [0] is inf, expected 1.0")
    return Comparison(
        payload="fc.mlir",
        payload_sha256="a" * 64,
        measurements=(
            Measurement("NumPy", tuple((r, 100.5 + r) for r in rounds), timed_by="Python"),
            Measurement(
                "good",
                tuple((r, 50.0 + r) for r in rounds),
                (("tile", 8), ("deep", True)),
                "b" * 64,
                7,
                right,
                3,
            ),
            Measurement("bad", tuple((r, 50.0 + r) for r in rounds), (), "c" * 64, 8, wrong, is_stable=False),
        ),
        anchor="NumPy",
        rounds=8,
        seed=3,
        environment=(("cpu", "Some CPU"), ("threads", "1")),
        limits=CoreLimits(150.0, 75.0, 10.0),
        flops=1000,
        bytes=300,
        element_type="float32",
        cache="cold",
        alignment_bytes=4096,
        core=1,
    )


def written():
    return json.loads(json.dumps(bench_to_json(comparison()), allow_nan=False))


def test_a_file_fits_the_schema_and_reads_back_the_same():
    data = written()
    CHECKER.validate(data)
    assert bench_from_json(data, "f.json") == comparison()


def test_the_schema_itself_is_valid_and_refuses_what_it_should():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = written()
    data["entries"][0]["cache"] = "lukewarm"
    assert not CHECKER.is_valid(data)
    data = written()
    del data["entries"][0]["verify"]
    assert not CHECKER.is_valid(data)


def test_what_is_derived_is_in_the_file():
    good = written()["entries"][1]
    assert good["median_ns"] == 54
    assert good["percentiles_ns"]["p5"] == pytest.approx(50.35)
    assert good["ratio_to_anchor"][1] == pytest.approx(1.944, abs=0.001)
    assert [e["rank"] for e in written()["entries"]] == [3, 1, 1]


def test_the_file_of_a_failure_fits_the_schema_and_holds_no_measurement():
    data = failed_bench_to_json("p.mlir", 0, Failure(kind="silenceable", message="it does not apply"))
    CHECKER.validate(json.loads(json.dumps(data)))
    with pytest.raises(UsageError, match="holds a failure, not a measurement: it does not apply"):
        bench_from_json(data, "f.json")


def broken(change):
    data = copy.deepcopy(written())
    change(data)
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], 'it has no "schema"'),
        ({"schema": "lhkit.trace/1"}, "it says 'lhkit.trace/1'"),
        ({"schema": "lhkit.bench/2"}, "is of version 'lhkit.bench/2'"),
        (broken(lambda d: d.pop("seed")), "missing 1 required positional argument: 'seed'"),
        (broken(lambda d: d.update(more=1)), "unknown field 'more'"),
        (broken(lambda d: d["entries"][0].update(calls="3")), r"entries\[0\].calls: '3' does not fit"),
        (broken(lambda d: d["entries"][0].update(cache="hot")), r"cache: 'hot' does not fit"),
        (broken(lambda d: d["entries"][1].update(environment="0" * 64)), "differ in environment"),
        (broken(lambda d: d["entries"][1].update(name="NumPy")), "two entries have the same name"),
        (broken(lambda d: d["entries"].pop(0)), "anchor 'NumPy' is none of its entries"),
        (broken(lambda d: d.update(entries=[])), "it has no entries"),
        (
            broken(lambda d: next(iter(d["environments"].values())).update(cpu="other")),
            "hash of its environment",
        ),
        (broken(lambda d: d["entries"][1].update(samples_ns=[[0, -1.0]])), "a sample that is not a time"),
        (broken(lambda d: d["entries"][1].update(samples_ns=[[99, 1.0]])), "shares no round with the anchor"),
        (broken(lambda d: d["environments"].clear()), "is not among its environments"),
    ],
)
def test_what_is_wrong_is_refused_by_name(data, message):
    with pytest.raises(UsageError, match=message):
        bench_from_json(data, "f.json")
