"""Checks that every header of causeway/ and cli/ compiles alone, included twice.

A header that a source of the library includes first is proved by the build itself (its guard aside,
which is checked as text) and is not compiled again here. A header that one of those, or one compiled here,
includes first is skipped too.

Usage: headers_test.py [c++-compiler [nvcc [include-folder...]]]. CUDA headers need nvcc, others the
header of a library in one of the folders; without it they are skipped and counted.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY_INCLUDE = re.compile(r"#include <((?:hdf5|mpi|nccl|cudnn)\.h)>")
CUDA_INCLUDE = re.compile(r'#include <cu(da|b/|blas)|#include "causeway/\S*(\.cuh|/launch\.h|/cuda_check\.h)"')


def is_cuda(header):
    return header.suffix == ".cuh" or bool(CUDA_INCLUDE.search(header.read_text("utf-8")))


FIRST_INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


def first_include(path):
    """The name in the first include of a file, None without one."""
    match = FIRST_INCLUDE.search(path.read_text("utf-8"))
    return match.group(1) if match else None


def chain(name):
    """A header, the header that it includes first, and so on."""
    seen = set()
    while name and name not in seen and (ROOT / name).is_file():
        yield name
        seen.add(name)
        name = first_include(ROOT / name)


def name_of(header):
    return header.relative_to(ROOT).as_posix()


def has_guard(name):
    return "#pragma once" in (ROOT / name).read_text("utf-8")


def proved_by_the_build():
    """The headers that sources of the library include before anything else."""
    sources = [path for path in (ROOT / "causeway").rglob("*") if path.suffix in (".cpp", ".cu")]
    return {name for source in sources for name in chain(first_include(source))
            if has_guard(name)}


def without_first_includes(headers):
    """Those that no other of the headers includes first."""
    included = {name for header in headers for name in list(chain(name_of(header)))[1:] if has_guard(name)}
    return [header for header in headers if name_of(header) not in included]


def is_possible(header, nvcc, includes):
    """Whether the compiler and the headers of libraries that it needs are there."""
    needed = LIBRARY_INCLUDE.findall(header.read_text("utf-8"))
    found = all(any((Path(folder) / name).exists() for folder in includes) for name in needed)
    return found and bool(nvcc or not is_cuda(header))


def compile_alone(header, compiler, nvcc, includes, folder):
    """The compiler's words, empty where it is content."""
    cuda = is_cuda(header)
    name = name_of(header)
    source = Path(folder) / (name.replace("/", "_") + (".cu" if cuda else ".cpp"))
    source.write_text(f'#include "{name}"\n#include "{name}"\n', "utf-8")
    if cuda:
        # To PTX only: the front end reads it all, and nothing is assembled. Into a file of its own:
        # nvcc removes the output of a failed compilation, and as root that goes for /dev/null too.
        command = [nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-arch=sm_90", "-ptx"]
        command += ["-o", str(source.with_suffix(".ptx"))]
    else:
        command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fopenmp"]
        command += ["-fsyntax-only"]
    command += ["-I", str(ROOT)]
    for include in includes:
        command += ["-isystem", include]
    done = subprocess.run(command + [str(source)], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "g++"
    nvcc = shutil.which(sys.argv[2] if len(sys.argv) > 2 else "nvcc")  # CMake may say NOTFOUND
    includes = sys.argv[3:]
    headers = sorted(
        header
        for folder in ("causeway", "cli")
        for header in (ROOT / folder).rglob("*")
        if header.suffix in (".h", ".cuh")
    )
    proved = proved_by_the_build()
    others = [header for header in headers if name_of(header) not in proved]
    possible = [header for header in others if is_possible(header, nvcc, includes)]
    chosen = without_first_includes(possible)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as threads:
        results = threads.map(lambda header: compile_alone(header, compiler, nvcc, includes, folder), chosen)
        failures = [(header, words) for header, words in zip(chosen, results) if words]
    for header, words in failures:
        print(f"{name_of(header)} does not compile alone:\n{words}")
    print(
        f"{len(chosen) - len(failures)} headers compile alone, {len(failures)} do not; "
        f"{len(headers) - len(others) + len(possible) - len(chosen)} are the first include of a source or of another header; "
        f"{len(others) - len(possible)} skipped: nvcc or a library's header is missing"
    )
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
