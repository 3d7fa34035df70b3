"""The page of a GPT run: its curves, its samples, and how it looks in a browser."""

import re

import causeway as cw
import pytest
from browser import CHROMIUM, browse


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    text = folder / "text.txt"
    text.write_text("the <b>quick</b> brown fox jumps over the lazy dog\n" * 200)
    size = {"width": 16, "layers": 1, "heads": 1, "length": 32}
    cw.gpt.train(text, folder / "run", steps=6, batch=2, log_steps=2, evaluate_steps=2, validation=0.1,
                 sample_steps=2, sample_tokens=8, prompt="the <b>", device="cpu", **size)  # fmt: skip
    return folder / "run"


def section(page, name):
    return re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)[0]


def test_curves_and_samples(run):
    page = (run / "report.html").read_text()
    assert "GPT trained in" in page
    assert "held-out text" in section(page, "loss")
    assert "tokens/s" in section(page, "throughput")
    assert section(page, "samples").count("the &lt;b&gt;") >= 3
    assert "<dt>model.width</dt>" in section(page, "reproduce")


def test_a_resumed_run_replaces_the_page(run):
    before = (run / "report.html").read_text()
    cw.gpt.train(out=run, resume=True, steps=8, device="cpu")
    assert (run / "report.html").read_text() != before


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser(run, width):
    seen = browse((run / "report.html").read_text(), width, run)
    assert seen["console"] == []
    assert seen["widths"] == [[width, width]]
