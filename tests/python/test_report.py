"""The demo, from a run of seconds, and its page in a browser: nothing goes wrong, nothing sticks out."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import causeway as cw
import pytest

pytest.importorskip("sklearn")
DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"
PROGRAM = Path(cw.__file__).parents[2] / "causeway"  # a build folder has it beside the package
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the demo left, packaged weights among those compared."""
    folder = tmp_path_factory.mktemp("demo")
    small = {"width": 8, "heads": 1, "hidden": 8, "layers": 1, "device": "cpu"}
    done = cw.pretrain("simple", rows=16, features=3, classes=(2, 10), steps=2, batch=2, **small)
    (folder / "weights").mkdir()
    cw.models.save_tabular(done.model, folder / "weights" / "tabular.safetensors")
    command = [sys.executable, DEMO / "demo.py", "--program", PROGRAM, "--out", folder, "--seconds", "2",
               "--device", "cpu", "--max-rows", "60", "--splits", "1"]  # fmt: skip
    environment = os.environ | {"CAUSEWAY_WEIGHTS": str(folder / "weights"),
                                "PYTHONPATH": str(Path(cw.__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"the report: {folder / 'report.html'}\n")
    return folder


# A browser's window has a least width, a frame has none. The page around it holds, once all is loaded,
# the DOM of the page within and what the page and the gallery's frame need of the width they have.
AROUND = """<body><iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe>
<script>addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument, frame = page.querySelector("iframe");
  const widths = [page, frame.contentDocument].map(({{documentElement: d}}) => [d.scrollWidth, d.clientWidth]);
  const hidden = frame.contentDocument.documentElement.scrollHeight - frame.clientHeight;
  document.body.dataset.seen = JSON.stringify({{widths, hidden, dom: page.documentElement.outerHTML}});
}});</script></body>"""


def browse(page, width, folder):
    """What a browser makes of a page: `widths`, rows of the gallery that are `hidden`, `dom`, `console`."""
    path = folder / "around.html"
    path.write_text(AROUND.format(width=width, page=html.escape(page)))
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
               f"--user-data-dir={folder / 'browser'}", "--window-size=1400,1000",
               "--virtual-time-budget=3000", "--dump-dom", path.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    seen = json.loads(html.unescape(re.search('data-seen="([^"]*)"', done.stdout)[1]))
    return seen | {"console": [line for line in done.stderr.splitlines() if "CONSOLE" in line]}


def section(dom, name):
    return re.search(rf'<section id="{name}".*?</section>', dom, re.DOTALL)[0]


def numbers(text):
    return [float(number) for number in re.findall(r"(?<=>)\d+\.\d+(?=<)", text)]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser(folder, width):
    seen = browse((folder / "report.html").read_text(), width, folder)
    assert seen["console"] == []
    (needs, has), (frame_needs, frame_has) = seen["widths"]
    assert needs == has == width and frame_needs == frame_has < width
    assert seen["hidden"] <= 0
    dom = seen["dom"]
    scores = json.loads((folder / "scores.json").read_text())["scores"]
    shown = numbers(section(dom, "scores"))
    assert len(shown) == 3 * 4 * (len(scores) + 1)
    assert shown[:4] == [round(of["roc_auc"], 3) for of in scores["iris"].values()]
    assert section(dom, "loss").count('class="tick-y"') >= 3
    assert section(dom, "calibration").count("<figure>") == 3
    assert "--seconds 2" in section(dom, "again")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_the_browser_tells_of_mistakes(tmp_path):
    wide = ("<!DOCTYPE html><body style='margin: 0'><p style='width: 500px'>wide</p><iframe></iframe>"
            "<script>none();</script>")
    seen = browse(wide, 390, tmp_path)
    assert len(seen["console"]) == 1 and "none is not defined" in seen["console"][0]
    assert seen["widths"][0] == [500, 390]


@pytest.fixture
def demo_modules(monkeypatch):
    monkeypatch.syspath_prepend(DEMO)


def test_page_without_packaged_weights(folder, demo_modules):
    from page import render

    results = json.loads((folder / "scores.json").read_text())
    told = "There are no packaged weights"
    assert told not in (folder / "report.html").read_text()
    for scores in (results["said"], *results["scores"].values()):
        del scores["packaged weights"]
    info = {"devices": [{"device": "cpu", "name": "some <CPU>"}], "cpu_threads": 3}
    page = render(folder, results, info=info, device="auto", settings={"features": "2:30"}, commands=[])
    assert told in page and "some &lt;CPU&gt;, 3 threads" in page
    assert "tables of up to 30 columns; wider than those: digits (64)." in page
    assert section(page, "calibration").count("<figure>") == 2
    assert len(numbers(section(page, "scores"))) == 3 * 3 * 5


def test_best_of_a_line_is_marked(demo_modules):
    from page import score_rows

    scores = {"a": {"roc_auc": 0.9, "accuracy": 0.5, "log_loss": 0.3},
              "b": {"roc_auc": 0.8, "accuracy": 0.5, "log_loss": 10.0}}  # fmt: skip
    best = re.findall(r"<strong>([\d.]+)</strong>", score_rows("t", "", scores))
    assert best == ["0.900", "0.500", "0.500", "0.300"]


def test_reliability(demo_modules):
    from calibration import calibration_error, reliability

    bins = reliability([(0.85, True), (0.85, False), (1.0, True), (0.31, False)])
    assert [(b.low, b.count, b.right) for b in bins] == [(0.3, 1, 0.0), (0.8, 2, 0.5), (0.9, 1, 1.0)]
    assert calibration_error(bins) == pytest.approx((0.31 + 2 * 0.35 + 0) / 4)


def test_round_numbers(demo_modules):
    from drawing import round_numbers

    assert round_numbers(0, 49) == [0, 10, 20, 30, 40]
    assert round_numbers(1.32, 2.04, 5) == pytest.approx([1.4, 1.6, 1.8, 2.0])
    assert round_numbers(-0.3, 0.3, 3) == pytest.approx([-0.2, 0, 0.2])
