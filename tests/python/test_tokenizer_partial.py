"""Distributed fits: each part in its own process, exchanged through files."""

import json
import subprocess
import sys

import causeway as cw
import numpy as np
import pytest

WORKER = """
import sys
import numpy as np
import causeway as cw
data, plan, out, options = sys.argv[1:5]
rows = np.load(data)
if plan == "-":
    cw.Tokenizer(**__import__("json").loads(options)).partial(rows).save(out)
else:
    cw.PartialFit.load(plan).partial(rows).save(out)
"""


def run_parts(tmp_path, parts, plan, options):
    """A process a part, side by side."""
    outs, running = [], []
    for i, rows in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", rows)
        outs.append(tmp_path / f"{i}.cwp")
        running.append(subprocess.Popen([sys.executable, "-c", WORKER, tmp_path / f"{i}.npy", plan,
                                         outs[-1], json.dumps(options)]))
    assert [process.wait(timeout=120) for process in running] == [0] * len(parts)
    return outs


def table(rng, n):
    normal, ties = rng.normal(size=n), rng.integers(0, 5, n)
    holes = np.where(rng.random(n) < 0.2, np.nan, np.exp(5 * rng.normal(size=n)))
    return np.stack([normal, ties, np.full(n, 3.5), holes, np.sort(normal)], axis=1)


def test_processes_give_the_fit_of_everything(rng, tmp_path):
    x = table(rng, 20000)
    options = {"bins": 32, "columns": {"4": {"strategy": "uniform"}}}
    whole = cw.Tokenizer(**options).fit(x)
    cuts = np.sort(rng.integers(0, len(x) + 1, 2))
    parts = np.split(x, [*cuts, cuts[-1]])  # the last but one is empty
    first = run_parts(tmp_path, parts, "-", options)
    plan = cw.PartialFit.merged(first[::-1])
    assert plan.n_rows == len(x)
    assert not plan.plan() and plan.has_plan
    plan.save(tmp_path / "plan")
    second = run_parts(tmp_path, parts, tmp_path / "plan", options)
    for order in (second, second[::-1]):
        assert cw.PartialFit.merged(order).finish().to_json() == whole.to_json()
    with pytest.raises(cw.InvalidArgument, match="merge every part"):
        cw.PartialFit.merged([part for part in second if part.name != "0.cwp"]).finish()


def test_one_pass_keeps_its_bound(rng):
    x = table(rng, 100000)
    tok = cw.Tokenizer(64, duplicates="keep")
    whole = cw.PartialFit.merged(tok.partial(rows) for rows in np.array_split(x, 5))
    made = whole.estimate()
    for i, (edges, bound) in enumerate(zip(made.bin_edges_, whole.rank_errors)):
        values = np.sort(x[:, i][~np.isnan(x[:, i])])
        n = len(values)
        ranks = np.linspace(0, n - 1, 65)
        first, last = np.searchsorted(values, edges, "left"), np.searchsorted(values, edges, "right")
        off = np.maximum(np.maximum(first - ranks, ranks - last), 0)
        assert off.max() <= bound * n + 1 and bound < 0.005


def test_frames_in_parts(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    n = 3000
    frame = pandas.DataFrame({
        "age": rng.normal(40, 10, n),
        "city": rng.choice(["Rome", "Oslo", "Bergen", None], n, p=[0.6, 0.2, 0.1, 0.1]),
        "ok": rng.random(n) < 0.5,
        "when": pandas.date_range("2020-02-28 23:30", periods=n, freq="7h"),
    })
    frame.loc[:999, "city"] = None  # the first part does not know what it is
    tok = cw.Tokenizer(16, min_count=20)
    pieces = [frame[:1000], frame[1000:1000], frame[1000:]]
    plan = cw.PartialFit.merged(tok.partial(piece) for piece in pieces)
    plan.plan()
    made = cw.PartialFit.merged(plan.partial(piece) for piece in pieces).finish()
    assert made.to_json() == tok.fit(frame).to_json()


def test_every_corruption_is_detected(rng, tmp_path):
    path = tmp_path / "part"
    cw.Tokenizer(4).partial(table(rng, 40)).save(path)
    good = path.read_bytes()
    for at in [*range(0, len(good), 97), len(good) - 1]:
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
        with pytest.raises(cw.FormatError):
            cw.PartialFit.load(path)
    for length in (0, 8, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(cw.FormatError):
            cw.PartialFit.load(path)
    cw.save_safetensors(path, {"x": cw.asarray(np.zeros(3))})
    with pytest.raises(cw.FormatError, match="expected a part of a fit"):
        cw.PartialFit.load(path)


def test_incompatible_parts(rng):
    x = table(rng, 100)
    part = cw.Tokenizer(4).partial(x)
    with pytest.raises(cw.InvalidArgument, match="bins is 4 in one and 8"):
        part.merge(cw.Tokenizer(8).partial(x))
    with pytest.raises(cw.InvalidArgument, match="different columns"):
        part.merge(cw.Tokenizer(4).partial(x[:, :2]))
    with pytest.raises(cw.InvalidArgument, match="whole column"):
        cw.Tokenizer(4, strategy="kmeans").partial(x)
    with pytest.raises(ValueError, match="no parts"):
        cw.PartialFit.merged([])
