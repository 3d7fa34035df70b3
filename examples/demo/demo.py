"""Trains a small tabular transformer for two minutes, scores it on real tables beside others, and
writes a page about it.

    python examples/demo/demo.py [--seconds 120] [--device auto] [--out demo]

`make demo` builds first. OUT gets report.html, the run's folder and scores.json.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from page import render
from scores import PACKAGED, classifiers, compare

# What learns most in two minutes of two cores: short tables of families that are quick to draw from, few
# classes more often than many, small steps and many of them.
PRIOR = {"prior": "mix", "mix": "1,0,1,0", "rows": 64, "features": "2:8", "classes": "log 2:10"}
MODEL = {"preset": "nanotabpfn", "width": 48, "heads": 3, "hidden": 96, "layers": 2}
TRAINING = {"batch": 8, "learning-rate": 0.01, "warmup": 30, "average-steps": 10, "log-steps": 20}
N_GALLERY = 6


def flags(**settings):
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def call(command, **how):
    """Runs a command, which is shown first; what it says on stderr is for the user."""
    print("$", shlex.join(command), flush=True)
    return subprocess.run(command, check=True, **how)


def pretrain(program, out, seconds, device):
    """The command that was run."""
    shutil.rmtree(out / "run", ignore_errors=True)
    command = [program, "pretrain", "--out", str(out / "run"), *flags(seconds=f"{seconds:g}", device=device),
               *flags(**PRIOR), *flags(**MODEL), *flags(**TRAINING)]  # fmt: skip
    call(command)
    return command


def gallery(program, out):
    command = [program, "prior", "gallery", "--out", str(out / "gallery.html"),
               *flags(count=N_GALLERY), *flags(**PRIOR)]  # fmt: skip
    call(command)
    return command


def score(out, device, max_rows, splits):
    found = classifiers(out / "run" / "model.safetensors", device)
    if PACKAGED not in found:
        print("there are no packaged weights to compare with")
    print(f"{'ROC AUC':15}" + "".join(f"{name:>21}" for name in found), flush=True)

    def tell(table, scores):
        print(f"{table:15}" + "".join(f"{values['roc_auc']:21.4f}" for values in scores.values()), flush=True)

    results = compare(found, max_rows=max_rows, splits=splits, tell=tell)
    (out / "scores.json").write_text(json.dumps(results))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/causeway")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--seconds", type=float, default=120, help="of training")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--max-rows", type=int, default=300, help="of a table; of more, a sample")
    parser.add_argument("--splits", type=int, default=3, help="how often a table is halved")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    info = json.loads(subprocess.run([given.program, "info", "--json"], check=True, capture_output=True).stdout)
    commands = [pretrain(given.program, given.out, given.seconds, given.device),
                gallery(given.program, given.out),
                ["python", *sys.argv]]  # fmt: skip
    results = score(given.out, given.device, given.max_rows, given.splits)
    report = given.out / "report.html"
    report.write_text(render(given.out, results, info=info, device=given.device,
                             settings=PRIOR | MODEL | TRAINING, commands=commands))
    print(f"the report: {report}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as failed:  # which said why
        sys.exit(failed.returncode)
