"""Runs the suites of causeway-bench and of the peers on one machine, one after the other, and prints a
comparison; with --out, writes the results with date, commit and machine as JSON.

    python3 bench/run.py --device cuda --out bench/results/NVIDIA-H200.json
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPU_PEERS = {"ops": "numpy", "learning": "torch-cpu", "tokenizer": "scikit-learn",
             "prior": "numpy", "pretrain": "torch-cpu", "gpt": "torch-cpu"}
# On a GPU: PyTorch, and for some suites other libraries if they are installed.
CUDA_PEERS = {"tokenizer": ["torch-cuda", "cupy", "numba"],
              "prior": ["torch-cuda", "torch-compile", "numba"],
              "pretrain": ["torch-cuda", "torch-compile"],
              "gpt": ["torch-compile"]}
MODULES = {"cupy": "cupy", "numba": "numba"}


def run_json(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with exit code {done.returncode}")
    return json.loads(done.stdout)


def commit():
    """The commit of the sources, with a + if files are modified; "unknown" without git."""
    if os.environ.get("CAUSEWAY_COMMIT"):
        return os.environ["CAUSEWAY_COMMIT"]
    head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, text=True,
                          capture_output=True)
    changed = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT,
                             text=True, capture_output=True)
    if head.returncode != 0:
        return "unknown"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def has_module(python, name):
    """Whether the interpreter can import the module; True for None."""
    return name is None or subprocess.run([python, "-c", f"import {name}"],
                                          capture_output=True).returncode == 0


def peer_cases(suite, peer, python, threads, env):
    command = [python, ROOT / "bench" / "peers" / f"{suite}.py", peer]
    if threads:
        command += ["--threads", str(threads)]
    result = run_json(command, env)
    return result["peer"], {case.pop("name"): case for case in result["cases"]}


def join(ours, peers):
    """Our cases with each peer's results and the ratio of times; above 1, causeway is faster."""
    rows = []
    for case in ours["cases"]:
        row = dict(case)
        row["peers"] = {}
        for name, cases in peers.items():
            if case["name"] in cases:
                other = cases[case["name"]]
                row["peers"][name] = {**other, "ratio": other["ms"] / case["ms"]}
        rows.append(row)
    return rows


def show(title, rows, peers):
    print(f"\n{title}")
    head = f"{'case':34} {'ms':>10} {'GB/s':>7} {'GFLOP/s':>9}"
    print(head + "".join(f" {peer + ' ms':>22} {'ratio':>6}" for peer in peers))
    for row in rows:
        bandwidth = f"{row['bytes_per_second'] / 1e9:.0f}" if row["bytes_per_second"] else ""
        flops = f"{row['flops_per_second'] / 1e9:.0f}" if row["flops_per_second"] else ""
        line = f"{row['name']:34} {row['ms']:10.5f} {bandwidth:>7} {flops:>9}"
        for peer in peers:
            other = row["peers"].get(peer)
            line += f" {other['ms']:22.5f} {other['ratio']:6.2f}" if other else " " * 30
        print(line)


def write(record, path):
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "causeway-bench")
    parser.add_argument("--python", default=sys.executable, help="Python interpreter that has the peers")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, help="CPU threads, for causeway and the peers")
    parser.add_argument("--suites", nargs="+", default=list(CPU_PEERS), choices=list(CPU_PEERS))
    parser.add_argument("--peers", nargs="*", help="torch-cuda, torch-cpu, numpy")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    env = dict(os.environ)
    if arguments.threads:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            env[name] = str(arguments.threads)
    record = {}
    if arguments.out and arguments.out.exists():  # keep the suites that are not run
        record = json.loads(arguments.out.read_text())
    for suite in arguments.suites:
        command = [arguments.program, suite, "--device", arguments.device, "--json",
                   "--quiet"]
        if arguments.threads:
            command += ["--threads", str(arguments.threads)]
        ours = run_json(command, env)
        chosen = arguments.peers
        if chosen is None:
            chosen = [CPU_PEERS[suite]]
            if arguments.device == "cuda":
                chosen = [peer for peer in CUDA_PEERS.get(suite, ["torch-cuda"])
                          if has_module(arguments.python, MODULES.get(peer))]
        record |= {"machine": ours["name"], "device": ours["device"], "threads": ours["threads"]}
        peers = {}

        def store():
            record[suite] = {"date": datetime.date.today().isoformat(), "commit": commit(),
                             "cases": join(ours, peers)}
            write(record, arguments.out)

        store()  # a peer that fails loses nothing
        for peer in chosen:
            name, cases = peer_cases(suite, peer, arguments.python, arguments.threads, env)
            peers[name] = cases
            store()
        show(f"{suite}: {ours['name']}, {ours['device']}, {ours['threads']} CPU threads",
             record[suite]["cases"], peers)
    if arguments.device == "cuda" and "ops" in arguments.suites:
        _, cases = peer_cases("ops", "handoff", arguments.python, None, env)
        handoff = {name: case["ms"] for name, case in cases.items()}
        record["handoff"] = {"date": datetime.date.today().isoformat(), "commit": commit(),
                             "ms": handoff}
        print("\n" + "\n".join(f"{name}: {ms * 1e3:.2f} us" for name, ms in handoff.items()))
        write(record, arguments.out)
    if arguments.out:
        print(f"\nwritten to {arguments.out}")


if __name__ == "__main__":
    main()
