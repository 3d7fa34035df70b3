"""Compiles the CUDA texts of records with nvcc, each text alone.

Usage: nvcc_check.py DATASET [COUNT]. Exits with 77 where nvcc is not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import causeway as cw

NVCC = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")


def errors(record):
    """What nvcc says of the forward and the backward text, without warnings; empty if it accepts both."""
    said = ""
    for column in ("cuda_forward", "cuda_backward"):
        if not record[column]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, f"{record['metadata']['kernel']}.cu")
            source.write_text(record[column])
            command = [NVCC, "-arch=sm_90", "-ptx", "-w", "-o", str(Path(folder, "kernel.ptx")), str(source)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            said += f"{column}: {result.stderr.strip()}\n"
    return said


def main():
    if NVCC is None:
        print("nvcc is not installed")
        return 77
    records = cw.pairs.read(sys.argv[1])[: int(sys.argv[2]) if len(sys.argv) > 2 else None]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        refused = 0
        for record, said in zip(records, pool.map(errors, records)):
            if said:
                refused += 1
                print(record["metadata"]["id"], record["metadata"]["category"], said, flush=True)
    print(f"nvcc compiles {len(records) - refused} of {len(records)} records")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
