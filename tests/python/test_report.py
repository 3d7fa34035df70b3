"""The demo, trained for five seconds, and its page in a browser: no errors, no overflow."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import causeway as cw
import pytest
from browser import CHROMIUM, browse

pytest.importorskip("sklearn")
DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"
PROGRAM = Path(cw.__file__).parents[2] / "causeway"  # a build folder has it beside the package


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The output of a short demo, with weights in CAUSEWAY_WEIGHTS among those compared."""
    folder = tmp_path_factory.mktemp("demo")
    small = {"width": 8, "heads": 1, "hidden": 8, "layers": 1, "device": "cpu"}
    done = cw.pretrain("simple", rows=16, features=3, classes=(2, 10), steps=2, batch=2, **small)
    (folder / "weights").mkdir()
    cw.models.save_tabular(done.model, folder / "weights" / "tabular.safetensors")
    command = [sys.executable, DEMO / "demo.py", "--program", PROGRAM, "--out", folder, "--seconds", "5",
               "--device", "cpu", "--max-rows", "60", "--splits", "1"]  # fmt: skip
    environment = os.environ | {"CAUSEWAY_WEIGHTS": str(folder / "weights"),
                                "PYTHONPATH": str(Path(cw.__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"report: {folder / 'report.html'}\n")
    return folder


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
    assert section(dom, "calibration").count("<figure>") == 4
    assert "--seconds 5" in section(dom, "reproduce")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_browser_errors_are_reported(tmp_path):
    wide = ("<!DOCTYPE html><body style='margin: 0'><p style='width: 500px'>wide</p><iframe></iframe>"
            "<script>none();</script>")
    seen = browse(wide, 390, tmp_path)
    assert len(seen["console"]) == 1 and "none is not defined" in seen["console"][0]
    assert seen["widths"][0] == [500, 390]


def report(*arguments):
    return subprocess.run([PROGRAM, "report", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_page_of_a_run_alone(folder, tmp_path):
    done = report(folder / "run", "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<iframe" not in page
    assert "Datasets of the prior that the model was not trained on" in section(page, "scores")
    assert "model.width" in section(page, "reproduce")


def test_json(folder, tmp_path):
    done = report(folder / "run", "--out", tmp_path / "page.html", "--json")
    assert json.loads(done.stdout) == {"out": str(tmp_path / "page.html")}, done.stderr


def test_best_of_a_line_is_marked(folder, tmp_path):
    of_table = {"a": {"roc_auc": 0.9, "accuracy": 0.5, "log_loss": 0.3},
                "b": {"roc_auc": 0.8, "accuracy": 0.5, "log_loss": 10.0}}  # fmt: skip
    size = {"rows": 9, "features": 2, "classes": 2}
    scores = {"tables": {"t<1>": size, "t2": size}, "splits": 1, "scores": {"t<1>": of_table, "t2": of_table},
              "answers": {"a": [[0.85, True], [0.85, False]], "b": [[1.0, True]]}}  # fmt: skip
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    done = report(folder / "run", "--out", tmp_path / "page.html", "--scores", tmp_path / "scores.json",
                  "--hardware", "some <CPU>")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    best = re.findall(r"<strong>([\d.]+)</strong>", section(page, "scores"))
    assert best == 3 * ["0.900", "0.500", "0.500", "0.300"]  # two tables, and their mean
    assert "some &lt;CPU&gt;" in page and "t&lt;1&gt;" in page and "<CPU>" not in page
    assert section(page, "calibration").count("<figure>") == 2
    assert "error 0.350 over 2 rows" in page


def test_damaged_inputs_are_named(folder, tmp_path):
    scores = tmp_path / ("a-long-name-" * 9) / "scores.json"
    scores.parent.mkdir()
    scores.write_text('{"answers": 3')
    done = report(folder / "run", "--scores", scores, "--out", tmp_path / "page.html")
    assert done.returncode == 3 and str(scores) in done.stderr
    scores.write_text('{"answers": {}}')
    done = report(folder / "run", "--scores", scores, "--out", tmp_path / "page.html")
    assert done.returncode == 3 and str(scores) in done.stderr
    assert report(tmp_path / "none").returncode == 3
    assert not (tmp_path / "page.html").exists()
