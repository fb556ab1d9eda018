"""Elementwise ops from the one spelling to the other: what is rewritten, and that it comes back."""

import pytest

from lhkit.model.fatal_attributes import KINDS, ElementwiseSpelling
from lhkit.text.upgrades.linalg_rules import respell_text, respelling
from lhkit.text.upgrades.text_upgrade import upgrade_text

TODAY = ElementwiseSpelling(named=True, form="kind")
TOMORROW = ElementwiseSpelling(named=False, form="short")
OLD = ElementwiseSpelling(named=True, form="")
KIND = "#linalg.elementwise_kind"


def in_payload(op, ins="%a, %b", types="tensor<4xf32>, tensor<4xf32>"):
    return f"""func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {{
  // linalg.add is a comment, "linalg.add" too
  %0 = {op} ins({ins} : {types}) outs(%b : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""


def in_schedule(step):
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op) {{
    {step}
    transform.yield
  }}
}}
"""


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_every_named_op_becomes_its_kind_and_comes_back(name, kind):
    named, short, long = (
        in_payload(op)
        for op in (name, f"linalg.elementwise <{kind}>", f"linalg.elementwise kind={KIND}<{kind}>")
    )
    assert respell_text(named, TOMORROW) == short
    assert respell_text(long, TOMORROW) == short
    assert respell_text(named, TODAY, "elementwise") == long
    assert respell_text(short, TODAY) == long
    for old in (short, long):
        assert respell_text(old, OLD) == respell_text(old, TODAY, "named") == named


@pytest.mark.parametrize("op", ["linalg.add", f"linalg.elementwise kind={KIND}<add>"])
def test_what_the_bindings_take_stays(op):
    assert respell_text(in_payload(op), TODAY) == in_payload(op)


def test_a_scalar_operand_gets_its_maps():
    text = respell_text(in_payload("linalg.mul", "%s, %a", "f32, tensor<4xf32>"), TOMORROW)
    maps = "affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>"
    assert f"linalg.elementwise <mul> indexing_maps = [{maps}] ins(%s, %a" in text
    # With maps it has no name.
    assert respell_text(text, TODAY, "named") == text.replace("<mul>", f"kind={KIND}<mul>", 1)


TYPES = ": (!transform.any_op) -> !transform.any_op"
MATCH = "transform.structured.match"


@pytest.mark.parametrize(
    ("named", "by_kind"),
    [
        (
            f'%m = {MATCH} ops{{["linalg.max"]}} in %root {TYPES}',
            f'%m = {MATCH} ops{{["linalg.elementwise"]}} attributes {{kind = {KIND}<max_signed>}} in %root {TYPES}',
        ),
        (
            f'%m = {MATCH} ops{{["linalg.add"]}} attributes {{mine}} in %root {TYPES}',
            f'%m = {MATCH} ops{{["linalg.elementwise"]}} attributes {{kind = {KIND}<add>, mine}} in %root {TYPES}',
        ),
        (f'%m = {MATCH} ops{{["linalg.matmul"]}} in %root {TYPES}',) * 2,
    ],
)
def test_a_match_asks_for_the_kind_and_again_for_the_name(named, by_kind):
    assert respell_text(in_schedule(named), TOMORROW) == in_schedule(by_kind)
    assert respell_text(in_schedule(by_kind), OLD) == in_schedule(named)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            '%t = transform.cast %m : !transform.any_op to !transform.op<"linalg.exp">',
            '%t = transform.cast %m : !transform.any_op to !transform.op<"linalg.elementwise">',
        ),
        (
            'transform.match.operation_name %m ["linalg.exp", "linalg.matmul"] : !transform.any_op',
            'transform.match.operation_name %m ["linalg.elementwise", "linalg.matmul"] : !transform.any_op',
        ),
        (  # names that do not exist match nothing
            f'%m = {MATCH} ops{{["linalg.add", "linalg.elementwise"]}} in %root {TYPES}',
            f'%m = {MATCH} ops{{["linalg.add", "linalg.elementwise"]}} in %root {TYPES}',
        ),
        (
            f'%m = {MATCH} ops{{["linalg.add", "linalg.fill"]}} in %root {TYPES}',
            f'%m_fill = {MATCH} ops{{["linalg.fill"]}} in %root {TYPES}  '
            f'%m_add = {MATCH} ops{{["linalg.elementwise"]}} attributes {{kind = {KIND}<add>}} in %root {TYPES}  '
            "%m = transform.merge_handles %m_fill, %m_add : !transform.any_op",
        ),
    ],
)
def test_names_in_a_schedule_become_that_of_all_kinds(old, new):
    assert respell_text(in_schedule(old), TOMORROW) == in_schedule(new)


def test_an_upgrade_goes_from_the_oldest_spelling_to_the_newest():
    old = in_payload("linalg.elemwise_binary {fun = #linalg.binary_fn<mul>}")
    done = upgrade_text(old, respelling(TOMORROW, "any"))
    assert done.text == in_payload("linalg.elementwise <mul>")
    again = upgrade_text(done.text, respelling(TOMORROW, "any"))
    assert again.text == done.text and not again.changes


@pytest.mark.parametrize("spelling", [TODAY, TOMORROW, OLD])
def test_a_damaged_text_is_taken(spelling):
    whole = in_payload("linalg.add") + in_schedule(
        f'%m = {MATCH} ops{{["linalg.max", "linalg.add"]}} in %root {TYPES}'
    )
    for end in range(len(whole)):
        respell_text(whole[:end], spelling)
