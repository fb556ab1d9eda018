"""The listing of hot loops: each label is on the row of its instruction."""

import pytest

from lhkit.draw.viewer import Pane, View, page_html
from lhkit.kernels.code_listing import code_html, list_code
from lhkit.model.file_io import write_file
from lhkit.model.instructions import Access, Instruction, MachineCode

IR = "module {\n" + "".join(f"  my.op{i}\n" for i in range(2, 12)) + "}\n"
LONG = "zmm0, zmm1, zmmword ptr [rsi + 8*rax + 1048576] " + "{1to16} " * 12
# Rows that need more than the column are next to short ones, in both orders.
BODY = (
    ("vmovups", "zmm1, zmmword ptr [rsi]", Access("load", "rsi", ("rsi",))),
    ("vfmadd231ps", LONG, Access("load", "rsi", ("rsi",))),
    ("vmovups", "zmmword ptr [rsp + 8], zmm1", Access("store", "rsp + 8", ("rsp",))),
    ("vfmadd231ps", LONG, Access("load", "rsi", ("rsi",))),
    ("vfmadd231ps", "zmm0, zmm1, zmm2", None),
)
ROWS = """() => [...document.querySelectorAll('[aria-label="machine code"] .l')].map((row) => {
  const [box, label] = [row, row.querySelector(".k")].map((node) => node.getBoundingClientRect());
  const text = document.createRange();
  text.selectNodeContents(row.firstChild);
  const written = text.getBoundingClientRect();
  return { said: row.querySelector(".k").innerText, top: box.top, bottom: box.bottom, right: label.right,
           label: (label.top + label.bottom) / 2, text: (written.top + written.bottom) / 2,
           seen: row.closest(".lh-ir").getBoundingClientRect().right };
})"""


@pytest.fixture(scope="module")
def listing_file(tmp_path_factory):
    made = [
        Instruction(4 * n, 4, name, operands, access=access, line=3)
        for n, (name, operands, access) in enumerate(BODY)
    ]
    made.append(Instruction(20, 4, "jne", "0", "branch", 0))
    html = code_html(
        list_code(MachineCode("x86-64", "kernel", (*made, Instruction(24, 4, "ret", "", "return")), IR))
    )
    path = tmp_path_factory.mktemp("listing") / "code.html"
    view = View("code", (Pane("code", "Hot loops", html),))
    write_file(path, page_html(view, title="t", summary="s", facts=()).encode())
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [700, 1600])
def test_each_label_is_on_the_row_of_its_instruction(watched, listing_file, width, dark):
    page = watched(width=width, dark=dark)
    page.page.goto(listing_file.as_uri())
    page.page.wait_for_selector(".lh-live .lh-code")
    rows = page.page.evaluate(ROWS)
    assert [row["said"] for row in rows] == [
        "↓ load", "✱ FMA + load", "⚠ spill", "✱ FMA + load", "✱ FMA", "↺ branch",
    ]  # fmt: skip
    for row, below in zip(rows, [*rows[1:], None], strict=True):
        assert abs(row["label"] - row["text"]) < 2, row  # on the same line as the text
        assert row["top"] <= row["label"] <= row["bottom"], row
        assert below is None or row["bottom"] <= below["top"] + 0.5
        assert row["right"] <= row["seen"], row  # without scrolling sideways
    assert len({round(row["bottom"] - row["top"]) for row in rows}) == 1  # no row has become two
    page.check("file:")


def test_the_address_of_a_broadcast_is_seen_whole_beside_its_label(watched, tmp_path):
    """Its end was under a label of half the column's width."""
    usual = "zmm21, dword ptr [rsi + r11*4 - 0x17f4]"
    made = (
        Instruction(0, 4, "vbroadcastss", usual, access=Access("load", "rsi", ("rsi",)), line=3),
        Instruction(4, 4, "jne", "0", "branch", 0),
    )
    html = code_html(
        list_code(MachineCode("x86-64", "kernel", (*made, Instruction(8, 4, "ret", "", "return")), IR))
    )
    path = tmp_path / "code.html"
    write_file(
        path, page_html(View("code", (Pane("code", "c", html),)), title="t", summary="s", facts=()).encode()
    )
    page = watched(width=1280).page
    page.goto(path.as_uri())
    page.wait_for_selector(".lh-live .lh-code")
    assert page.evaluate(
        """() => { const row = document.querySelector('[aria-label="machine code"] .l'), text = document.createRange();
        text.selectNodeContents(row.firstChild);
        return text.getBoundingClientRect().right <= row.querySelector(".k").getBoundingClientRect().left + 14; }"""
    )
