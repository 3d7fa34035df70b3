"""Trains a small tabular transformer for two minutes, compares it with other models on real tables, and
writes an HTML report.

    python examples/demo/demo.py [--seconds 120] [--device auto] [--out demo]

`make demo` builds first. The folder OUT gets report.html, the run and scores.json.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from scores import PACKAGED, classifiers, compare

# Tuned for two minutes on two cores: small tables from fast prior families, mostly few classes, and many
# small steps.
PRIOR = {"prior": "mix", "mix": "1,0,1,0", "rows": 64, "features": "2:8", "classes": "log 2:10"}
MODEL = {"preset": "nanotabpfn", "width": 48, "heads": 3, "hidden": 96, "layers": 2}
TRAINING = {"batch": 8, "learning-rate": 0.01, "warmup": 30, "average-steps": 10, "log-steps": 10}
N_GALLERY = 6


def flags(**settings):
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def call(command, **how):
    """Prints and runs a command."""
    print("$", shlex.join(command), flush=True)
    return subprocess.run(command, check=True, **how)


def pretrain(program, out, seconds, device):
    """Trains; returns the command."""
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
        print("no packaged weights to compare with")
    print(f"{'ROC AUC':15}" + "".join(f"{name:>21}" for name in found), flush=True)

    def report(table, scores):
        print(f"{table:15}" + "".join(f"{values['roc_auc']:21.4f}" for values in scores.values()), flush=True)

    results = compare(found, max_rows=max_rows, splits=splits, report=report)
    (out / "scores.json").write_text(json.dumps(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/causeway")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--seconds", type=float, default=120, help="seconds of training")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--max-rows", type=int, default=300, help="larger tables are sampled")
    parser.add_argument("--splits", type=int, default=3, help="random halves per table")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    info = json.loads(subprocess.run([given.program, "info", "--json"], check=True, capture_output=True).stdout)
    commands = [pretrain(given.program, given.out, given.seconds, given.device),
                gallery(given.program, given.out),
                ["python", *sys.argv]]  # fmt: skip
    score(given.out, given.device, given.max_rows, given.splits)
    report = given.out / "report.html"
    shown = [word for command in commands for word in ("--command", shlex.join(map(str, command)))]
    subprocess.run([given.program, "report", str(given.out / "run"), "--out", str(report), "--scores",
                    str(given.out / "scores.json"), "--gallery", str(given.out / "gallery.html"),
                    "--hardware", device_name(info, given.device), *shown],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    print(f"report: {report}")


def device_name(info, device):
    names = {each["device"]: each["name"] for each in info["devices"]}
    used = {"auto": "cuda:0" if "cuda:0" in names else "cpu", "cuda": "cuda:0"}.get(device, device)
    return f"{names[used]}, {info['cpu_threads']} threads" if used == "cpu" else names[used]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as failed:  # the command printed the reason
        sys.exit(failed.returncode)
