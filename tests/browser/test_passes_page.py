"""The page of a pipeline: passes without effect folded, diffs on demand, filter, keys, hostile texts."""

import pytest
from conftest import SCREENSHOTS

import lhkit
from lhkit.pipelines.print_ir_log import read_log

BEFORE = """func.func @f(%x: i32) -> i32 {
  %unused = arith.constant 7 : i32
  %a = arith.constant 1 : i32
  %b = arith.addi %x, %a : i32
  %c = arith.muli %b, %a : i32
  return %c : i32
}"""
# The rest is renumbered, and one operand is another one.
AFTER = """func.func @f(%x: i32) -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %x, %0 : i32
  %2 = arith.muli %x, %0 : i32
  return %2 : i32
}"""
HOSTILE = '"</script><img src=x onerror=window.hurt=1>\u202e"() : () -> ()'


def dumps(name, before, after):
    return "".join(
        f"// -----// IR Dump {w} {name} //----- //\n{t}\n\n" for w, t in (("Before", before), ("After", after))
    )


@pytest.fixture
def page(watched, tmp_path):
    quiet = dumps("CSE (cse)", AFTER, AFTER) * 3
    last = dumps("<b>X</b> (evil)", AFTER, f"func.func @f() {{\n  {HOSTILE}\n}}")
    log = dumps("Canonicalizer (canonicalize)", BEFORE, AFTER) + quiet + last
    read_log(log.encode(), "opt.log").save(tmp_path / "p.html")
    page = watched(width=1280, height=800)
    page.page.goto((tmp_path / "p.html").as_uri())
    page.page.wait_for_selector(".pane pre")
    yield page
    assert page.errors == [] and len(page.requests) == 1
    assert page.page.evaluate("window.hurt") is None


def rows(page):
    return page.page.locator(".list > *").all_inner_texts()


def test_what_changed_is_shown_and_what_was_renumbered_is_not(page):
    assert page.page.locator(".pane .e").all_inner_texts() == ["  %unused = arith.constant 7 : i32"]
    changed = page.page.locator(".pane .x").all_inner_texts()
    assert changed == ["  %c = arith.muli %b, %a : i32", "  %2 = arith.muli %x, %0 : i32"]
    assert page.page.locator(".pane .a").count() == 0


def test_passes_without_effect_are_folded(page):
    assert len(rows(page)) == 3 and rows(page)[1] == "3 passes without effect"
    page.page.click(".fold")
    assert len(rows(page)) == 5
    page.page.click('[data-at="2"]')
    page.page.wait_for_selector("text=no effect")
    page.page.screenshot(path=str(SCREENSHOTS / "passes.png")) if SCREENSHOTS.exists() else None


def test_arrows_walk(page):
    selected = page.page.locator("[aria-selected]")
    for key, at in (("ArrowDown", "4"), ("ArrowDown", "4"), ("ArrowUp", "0"), ("End", "4"), ("Home", "0")):
        page.page.keyboard.press(key)
        assert selected.get_attribute("data-at") == at, key


def test_a_filter_by_ops_and_a_search_of_texts(page):
    page.page.fill("input", "arith.constant canon")
    assert page.page.locator(".pass").count() == 1
    assert page.page.locator(".note").inner_text() == "1 of 5 passes"
    page.page.fill("input", "onerror")
    page.page.press("input", "Enter")
    page.page.wait_for_selector("text=1 passes add or remove")
    assert page.page.locator(".pass").get_attribute("data-at") == "4"


def test_two_passes_are_compared(page):
    page.page.click('[data-at="4"]', modifiers=["Shift"])
    page.page.wait_for_selector("text=against pass 0")


def test_hostile_texts_are_text(page):
    page.page.click('[data-at="4"]')
    page.page.wait_for_selector("text=onerror")
    assert "\\u202e" in page.page.locator(".pane .lh-ir").inner_text()
    assert page.page.locator(".lh-passes img").count() == 0


def test_a_run_has_diffs_by_identity(watched, tmp_path):
    lhkit.passes("fc_relu.mlir", "func.func(cse,symbol-dce)").save(tmp_path / "p.html")
    page = watched(width=700, dark=True)
    page.page.goto((tmp_path / "p.html").as_uri())
    page.page.wait_for_selector(".pane .lh-failure")  # what failed comes first
    said = page.page.locator(".lh-failure").inner_text()
    assert "symbol table" in said and "A file that repeats this" in said  # with place and advice
    page.page.keyboard.press("ArrowUp")
    page.page.wait_for_selector(".pane pre[data-op]")
    assert page.errors == []


def test_a_pipeline_that_never_began(watched, tmp_path):
    made = lhkit.PassTrace("x.mlir", "cse", (), failure=lhkit.errors.Failure("usage", "no such file"))
    made.save(tmp_path / "p.html")
    page = watched()
    page.page.goto((tmp_path / "p.html").as_uri())
    assert page.page.locator(".lh-failure").inner_text() == "no such file" and page.errors == []
