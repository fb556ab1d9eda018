"""Errors cross process boundaries: every class keeps its type and its failure through pickle."""

import copy
import importlib
import multiprocessing
import pickle
import pkgutil

import pytest

import lhkit
from lhkit.model import errors
from lhkit.model.errors import FAILURE_KINDS, Diagnostic, Failure, LhkitError, error_for
from lhkit.model.span import Span

NOTE = Diagnostic("note", "see here", Span("f.mlir", 1, 2))
FAILURE = Failure(
    "definite",
    "it failed",
    (Diagnostic("error", "here", Span("f.mlir", 1, 1), (NOTE,)),),
    "mend it",
    request="trace",
    texts=(("f.mlir", "text"),),
)


def classes(base=LhkitError):
    """Return all classes of errors, whichever module has them."""
    for module in pkgutil.walk_packages(lhkit.__path__, "lhkit."):
        if not module.name.startswith(("lhkit.compiler", "lhkit._shipped")) and "__main__" not in module.name:
            importlib.import_module(module.name)
    found, waiting = {base}, [base]
    while waiting:
        new = set(waiting.pop().__subclasses__()) - found
        found |= new
        waiting.extend(new)
    return sorted(found, key=lambda c: c.__name__)


def test_every_class_of_errors_goes_through_pickle_and_copy():
    known = classes()
    assert {type(error_for(Failure(kind, "m"))) for kind in FAILURE_KINDS} <= set(known) and len(known) > 9
    for one in known:
        error = one(FAILURE)
        error.add_note("in step 3")
        for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
            assert type(again) is one and again.failure == FAILURE
            assert str(again) == str(error) and again.__notes__ == ["in step 3"]


def test_of_long_messages_the_middle_is_left_out():
    long = "takes tensor<" + "1x" * 5000 + "f32>: no"
    text = str(error_for(Failure("usage", long, (Diagnostic("error", long + "!", Span("f", 1, 1)),))))
    assert len(text) < 4000 and text.count(f" … {len(long)} characters … ") == 1
    assert text.startswith("takes tensor<1x1x") and text.endswith("f32>: no!")
    short = "a" * 1000
    assert str(error_for(Failure("usage", short))) == short


def fail(kind):
    raise error_for(Failure(kind, f"{kind} was asked for", (NOTE,), "ask for another"))


@pytest.mark.timeout(120)
def test_an_error_in_a_pool_of_processes_reaches_the_caller():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for kind in ("usage", "crash"):
            with pytest.raises(LhkitError) as caught:
                pool.apply_async(fail, (kind,)).get(timeout=60)
            assert (
                type(caught.value) is type(error_for(Failure(kind, ""))) and caught.value.failure.kind == kind
            )
            assert caught.value.failure.advice == "ask for another"
        assert pool.apply_async(abs, (-3,)).get(timeout=60) == 3


def test_errors_of_own_ops_go_through_pickle_too():
    from lhkit.model.own_op_definition import OwnOpError

    for one in classes(OwnOpError):
        again = pickle.loads(pickle.dumps(one("why not")))
        assert type(again) is one and str(again) == "why not"
    assert errors.UsageError in classes()
