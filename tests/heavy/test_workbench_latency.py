"""How long the workbench takes from input to the redrawn picture, in JupyterLab; run by hand: ``make heavy``.

Times are taken in the page, from the event that a reader causes to the frame on screen: median and 95th percentile
of 30 (of moves of knobs: 12 and more). Moves of knobs also say how many bytes reached the page.
"""

import statistics
import time

import nbformat
import pytest
from jupyter_pages import ROOT, Watched, notebook_of, opened, run_cell, running_browser, served

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1200)]
# Waits for what a function of the page says, frame by frame; a picture is there when the frame after it is painted.
WAIT = """
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const until = async (is) => { for (let i = 0; i < 1200 && !is(); i++) await frame(); await frame(); };
const root = document.querySelector(".lhw");
const frameOf = (pane) => root.querySelector(`[data-pane="${pane}"] .lhw-frame`);
"""
# Shows 30 steps in turn, as a click on their rows does, and waits until the payload is the one after the step.
STEPS = f"""async () => {{ {WAIT}
  const rows = [...root.querySelectorAll(".lhw-main[data-goto]")];
  const times = [];
  for (let i = 0; i < 31; i++) {{
    const row = rows[(i * 7 + 1) % rows.length];
    const step = row.dataset.goto;
    const started = performance.now();
    row.click();
    await until(() => row.closest(".lh-now") && frameOf("payload").dataset.frame === `${{step}}|false`);
    times.push(performance.now() - started);
  }}
  return times.slice(1);
}}"""
# Selects 30 handles in turn, and waits until one of their marks is lit in the timeline.
HANDLES = f"""async () => {{ {WAIT}
  const of = (more) => root.querySelectorAll(`[data-pane="timeline"] .lh-names [data-handle]${{more}}`);
  const times = [];
  for (let i = 0; i < 31; i++) {{
    const node = of(":not(.lh-selected)")[i % of(":not(.lh-selected)").length];
    const id = node.dataset.handle;
    const started = performance.now();
    node.dispatchEvent(new MouseEvent("click", {{ bubbles: true }}));
    await until(() => [...of(".lh-selected")].some((lit) => lit.dataset.handle === id));
    times.push(performance.now() - started);
  }}
  return times.slice(1);
}}"""
# Moves the slider of a knob to a position, and waits until nothing has changed on screen for a while; returns when
# the payload said something else (if it does), and when the last change was painted.
MOVE = f"""async ([knob, at, quiet]) => {{ {WAIT}
  const slider = root.querySelector(`[data-knob="${{knob}}"]`);
  const before = frameOf("payload").textContent;
  const started = performance.now();
  let payload = null;
  let last = null;
  const observer = new MutationObserver((records) => {{
    if (records.every(({{ target }}) => target.closest?.(".lhw-top, .lhw-knob, .lhw-ghost-note"))) return;
    last = performance.now();
  }});
  observer.observe(root, {{ childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ["d", "x", "data-frame"] }});
  slider.value = at;
  slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
  while (performance.now() - (last ?? started + 60000) < quiet) {{
    await frame();
    if (payload === null && frameOf("payload").textContent !== before) payload = performance.now() - started;
    if (performance.now() - started > 60000) break;
  }}
  observer.disconnect();
  return [payload, last - started];
}}"""
# The tiles of AVX-512, which divide the layers, on every machine: 859 steps.
WIDE = {"tile_m": 6, "tile_n": 64, "narrow_tile_m": 12, "lanes": 16}
MOST_BACK = 12  # as the session still has their traces
QUIET_MS = 700


def many_tiles():
    """Return the default schedule with more values of its knob than a session keeps traces."""
    text = (ROOT / "schedules" / "fc_relu_handles.mlir").read_text()
    assert "[8, 16, 32, 64]" in text
    return text.replace("[8, 16, 32, 64]", str(list(range(2, 64, 2))))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A function that opens a notebook whose second cell is a workbench."""
    warm = "import lhkit\nlhkit.explore().close()"
    notebooks = {
        "fc_relu": f"lhkit.explore('fc_relu.mlir', {many_tiles()!r})",
        "fc_relu_fused": "lhkit.explore('fc_relu.mlir', 'fc_relu.mlir')",
        "mlp": f"lhkit.explore('mlp.mlir', lhkit.load_schedule('mlp.mlir').with_knobs({WIDE}))",
        "chain": "lhkit.explore('op_chain.mlir', 'op_chain_tile_fuse.mlir')",
    }
    with served(tmp_path_factory.mktemp("server")) as server, running_browser() as browser:
        for name, code in notebooks.items():
            nbformat.write(notebook_of([warm, code]), server.folder / f"{name}.ipynb")

        def open_page(**_):
            context = browser.new_context(viewport={"width": 1600, "height": 1000})
            context.set_default_timeout(60_000)
            watched = Watched(context.new_page())
            watched.received = 0

            def count(data):
                watched.received += len(data)

            watched.page.on("websocket", lambda socket: socket.on("framereceived", count))
            return watched

        yield lambda name: opened(open_page, server, "lab", name)


def opened_bench(watched):
    """Open the workbench of the second cell; the first has loaded everything."""
    page = watched.page
    run_cell(watched, 0)
    page.wait_for_function("!document.querySelector('.jp-InputPrompt')?.textContent.includes('*')")
    started = time.perf_counter()
    run_cell(watched, 1)
    page.locator(".lhw .lhw-row:is(.lh-now, .lhw-around)").wait_for()
    page.locator(".lhw [data-pane='payload'] .lh-ir").wait_for()
    return time.perf_counter() - started


def times_of(page, **scripts):
    return {name: page.evaluate(script) for name, script in scripts.items()}


class Hand:
    """A hand at the sliders of a page.

    Attributes:
        at: The position of each slider.
        path: The moves so far, each with where the slider came from: (knob, from, to).
    """

    def __init__(self, watched, knobs):
        self.watched, self.page, self.path = watched, watched.page, []
        sliders = {knob: self.page.locator(f'[data-knob="{knob}"]') for knob in knobs}
        self.at = {knob: int(slider.input_value()) for knob, slider in sliders.items()}
        self.counts = {knob: int(slider.get_attribute("max")) + 1 for knob, slider in sliders.items()}
        self.known = {tuple(self.at.values())}

    def move(self, knob, to, rest_s=0):
        """Move a slider; return the times to the first payload and to the last change, and the bytes."""
        self.page.wait_for_timeout(1000 * rest_s)
        begun = self.watched.received
        first, last = self.page.evaluate(MOVE, [knob, to, QUIET_MS])
        self.path.append((knob, self.at[knob], to))
        self.at[knob] = to
        self.known.add(tuple(self.at.values()))
        return first, last, self.watched.received - begun

    def is_new(self, knob, to):
        return tuple({**self.at, knob: to}.values()) not in self.known

    def jump(self, knob):
        """Move to a new value that is as far away as can be: no neighbour, of which there may be a trace."""
        at, count = self.at[knob], self.counts[knob]
        new = [to for to in range(count) if self.is_new(knob, to)]
        return self.move(knob, max(new, key=lambda to: (abs(to - at), to)))

    def shift(self, rest_s):
        """Move to the nearest new value after a rest."""
        new = [
            (knob, to) for knob, count in self.counts.items() for to in range(count) if self.is_new(knob, to)
        ]
        return self.move(*min(new, key=lambda move: abs(move[1] - self.at[move[0]])), rest_s)


def knob_times(watched, knobs, jumps, shifts, back, rest_s):
    """Return the times and bytes of moves of sliders: to new values, the same after a rest, to values seen before.

    Args:
        watched: The page.
        knobs: The knobs to move in turn.
        jumps: How many moves to new values that are no neighbours.
        shifts: How many to neighbours.
        back: How many to values seen before.
        rest_s: How long the hand rests before it moves to a neighbour.
    """
    watched.page.locator(
        ".lhw-main[data-goto]"
    ).last.click()  # the payload after the last step depends on the knobs
    hand = Hand(watched, knobs)
    new = [hand.jump(knobs[n % len(knobs)]) for n in range(jumps)]
    rested = [hand.shift(rest_s) for _ in range(shifts)]
    there = hand.path[-MOST_BACK:]
    ways = [(knob, old) for knob, old, _ in reversed(there)] + [(knob, to) for knob, _, to in there]
    seen = [hand.move(*ways[n % len(ways)]) for n in range(back)]
    return {"new": new, "new after a rest": rested, "seen": seen}


def percentile95(values):
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, round(0.95 * (len(ranked) - 1)))]


def said(name, opened_s, found):
    print(f"\n{name}: opened in {opened_s:.2f} s")
    for kind, values in found.items():
        if values and isinstance(values[0], tuple):
            firsts, lasts, sizes = zip(*values, strict=True)
            said_of(f"{name} {kind}, payload", [v for v in firsts if v is not None])
            said_of(f"{name} {kind}, all panes", lasts)
            print(f"{name} {kind}: {statistics.median(sizes) / 1000:.1f} KB a move (median)")
        else:
            said_of(f"{name} {kind}", values)


def said_of(what, times):
    if times:
        middle, high = statistics.median(times), percentile95(times)
        print(f"{what}: median {middle:.0f} ms, p95 {high:.0f} ms, {len(times)} times")


def middle_of(times):
    return statistics.median(times)


def test_fc_relu_is_redrawn_while_the_hand_moves(lab):
    watched = lab("fc_relu.ipynb")
    opened_s = opened_bench(watched)
    found = times_of(watched.page, step=STEPS, handle=HANDLES)
    found |= knob_times(watched, ["tile"], 15, 12, 30, rest_s=1)
    said("fc_relu", opened_s, found)
    assert max(middle_of(found["step"]), middle_of(found["handle"])) < 150


@pytest.mark.parametrize("name", ["fc_relu_fused", "mlp"])
def test_long_schedules_are_redrawn_while_the_hand_moves(lab, name):
    watched = lab(f"{name}.ipynb")
    opened_s = opened_bench(watched)
    found = knob_times(watched, ["tile_m", "narrow_tile_m"], 16, 4, 24, rest_s=10)
    said(name, opened_s, found | times_of(watched.page, step=STEPS))


def test_a_thousand_ops_open_in_five_seconds(lab):
    watched = lab("chain.ipynb")
    opened_s = opened_bench(watched)
    found = times_of(watched.page, step=STEPS, handle=HANDLES)
    said("op_chain", opened_s, found)
    assert opened_s < 5
    assert max(map(middle_of, found.values())) < 300
