"""Text can be read on every paper, in both themes, and an entry looks the same in all charts."""

import re
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from sweep_records import grid

import lhkit
from lhkit.draw.entry_looks import entry_looks
from lhkit.draw.figures import figure_svg, new_axes
from lhkit.draw.svg import element, svg, with_theme
from lhkit.draw.theme import BLUE, DARK_FIGURES, ROLES, TEXT_ROLES, theme_style
from lhkit.sweeps.parallel_coordinates import draw_parallel_coordinates, parallel_coordinates

PAPERS = [role for role in ROLES if role.endswith("paper") or role == "panel"]
READ = {**{role: ROLES[role] for role in ("ink", "faint")}, **TEXT_ROLES}
SHEETS = sorted(p for end in ("css", "js") for p in Path(lhkit.__file__).parent.rglob(f"static/*.{end}"))


def luminance(color):
    """Return the relative luminance of WCAG 2."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("role", READ)
def test_text_has_four_and_a_half_times_the_luminance_of_every_paper(role, dark):
    assert min(contrast(READ[role][dark], ROLES[paper][dark]) for paper in PAPERS) >= 4.5


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda p: p.name)
def test_no_text_has_the_colour_of_a_line(sheet):
    pale = "|".join(TEXT_ROLES)
    assert re.findall(rf"(?<![\w-])color: ?var\(--lh-(?:{pale})\)", sheet.read_text(encoding="utf-8")) == []


def test_letters_of_a_drawing_are_darker_than_its_lines():
    assert (
        element("text", "x", fill="dead") == f'<text class="lh-f-dead" fill="{TEXT_ROLES["dead"][0]}">x</text>'
    )
    assert element("path", fill="dead") == f'<path class="lh-f-dead" fill="{ROLES["dead"][0]}"></path>'
    assert ":is(text,tspan).lh-f-dead{fill:var(--lh-dead-text)}" in theme_style()


def test_figures_follow_the_theme_around_them_and_have_the_light_colours_alone():
    figure, axes = new_axes(2, 2)
    axes.plot([1, 2], [1, 2], color=BLUE)
    assert "stroke: var(--lh-figure-0072b2, #0072b2)" in figure_svg(figure)
    light, dark = theme_style().split("@media (prefers-color-scheme: dark)")
    assert "--lh-figure-0072b2: #0072B2;" in light and f"--lh-figure-0072b2: {DARK_FIGURES[BLUE]};" in dark
    shown = [c for light, c in DARK_FIGURES.items() if light != "#ffffff"]
    assert min(contrast(c, ROLES["paper"][1]) for c in shown) >= 4.5


def test_a_rival_looks_the_same_whoever_is_beside_it_and_its_variants_differ_from_it():
    few, many = (
        entry_looks(["torch", "mine"]),
        entry_looks(["IREE", "NumPy, out=", "mine", "torch, Linear", "torch"]),
    )
    assert few["torch"] == many["torch"] and few["mine"] == many["mine"]
    assert many["torch, Linear"].color == many["torch"].color and many["torch, Linear"] != many["torch"]
    variants = entry_looks(["torch.compile", "torch.compile, Linear", "torch.compile, frozen"])
    assert len(set(variants.values())) == 3
    assert len({look.color for look in entry_looks("abc").values()}) == 3
    own = entry_looks(f"schedule {n}" for n in range(12))
    assert len(set(own.values())) == 12


def test_a_figure_alone_brings_the_theme_along():
    figure, axes = new_axes(2, 2)
    axes.plot([1, 2], [1, 2], color=BLUE)
    alone = with_theme(figure_svg(figure))
    assert re.match('<svg class="lh"[^>]*><style>', alone) and theme_style() in alone
    assert with_theme(svg(1, 1, label="x", themed=False)).count('class="lh"') == 1


@pytest.mark.parametrize("picture", ["front", "suite", "suite_summary"])
def test_pictures_of_the_readme_have_the_colours_of_the_theme_alone(picture):
    drawn = (Path(__file__).parents[2] / "docs" / "pictures" / f"{picture}.svg").read_text(encoding="utf-8")
    shapes = re.sub("<style>.*?</style>", "", drawn, flags=re.DOTALL)
    assert re.findall(r'(?:fill|stroke)="(#\w+)"', re.sub(r'<[^>]*class="lh-[^>]*>', "", shapes)) == []
    assert "var(--lh-figure-" in shapes


def test_every_contender_is_seen_on_every_paper():
    plot = parallel_coordinates(grid(lambda m, n: m + n, m=(1, 2, 4, 8), n=(16, 64, 256)))
    lines = [
        line for line in draw_parallel_coordinates(plot).axes[0].lines if line.get_linewidth() in (1.5, 3.2)
    ]
    colors = {to_hex(line.get_color()) for line in lines if line.get_linestyle() == "-"} - {"#000000"}
    assert len(colors) == 10
    for paper in ROLES["paper"]:
        assert all(contrast(color, paper) >= 3 for color in colors)
