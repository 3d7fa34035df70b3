"""What importing the package loads, and compatibility with PyTorch, each in a new process."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import causeway as cw
import pytest

# Opened at first use: no file of ours may need them to start.
LAZY_LIBRARIES = re.compile(r"lib(nccl|mpi|open-(rte|pal)|hdf5|cudnn|cublas|nvrtc|cudart)", re.IGNORECASE)


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False,
                          env={**os.environ, **environment})


def program(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "causeway", *arguments], text=True,
                          capture_output=True, check=False, env={**os.environ, **environment})


def binaries():
    from causeway.__main__ import _program

    return [Path(cw._core.__file__), _program()]


@pytest.mark.skipif(shutil.which("readelf") is None, reason="there is no readelf")
@pytest.mark.parametrize("index", [0, 1], ids=["module", "program"])
def test_needs_no_optional_library(index):
    listed = subprocess.run(["readelf", "-d", binaries()[index]], text=True, capture_output=True, check=True)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listed.stdout)
    assert any(name.startswith("libc.so") for name in needed)
    assert [name for name in needed if LAZY_LIBRARIES.search(name)] == []


def test_loads_no_optional_library():
    done = run("import causeway; print(open('/proc/self/maps').read())")
    assert done.returncode == 0, done.stderr
    assert "_core" in done.stdout
    assert LAZY_LIBRARIES.findall(done.stdout) == []


def test_imports_nothing_slow():
    done = run("import causeway, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))")
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "causeway" in loaded
    assert loaded & {"sklearn", "scipy", "pandas", "polars", "pyarrow", "torch", "joblib"} == set()


def test_lazy_names_are_listed():
    names = run("import causeway; print(*dir(causeway))").stdout.split()
    for name in ("TabularClassifier", "TabularRegressor", "Tokenizer", "PartialFit", "Tensor", "nn"):
        assert name in names
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        cw.no_such_name


def test_missing_scikit_learn_says_what_to_install():
    done = run("import sys; sys.modules['sklearn'] = None\n"
               "import causeway\n"
               "causeway.Tokenizer()\n"
               "try: causeway.TabularClassifier\n"
               "except ImportError as problem: print(problem)")
    assert done.returncode == 0, done.stderr
    assert "pip install 'causeway[sklearn]'" in done.stdout


USE_BOTH = """
x = causeway.arange(6, dtype="f32").reshape(2, 3)
t = torch.from_dlpack(x)
assert torch.equal(t @ t.T, torch.tensor([[5.0, 14.0], [14.0, 50.0]]))
y = causeway.from_dlpack(torch.full((4,), 2.0))
assert float((y * y).sum().numpy()) == 16
assert torch.nn.Linear(3, 2)(t).shape == (2, 2)
if torch.cuda.is_available() and causeway.cuda.is_available():
    a = causeway.ones((64, 64), device="cuda")
    b = torch.from_dlpack(a @ a)
    assert float((b @ b).sum()) == 64.0 ** 5
    image = causeway.ones((1, 1, 8, 8), device="cuda")
    kernel = causeway.ones((1, 1, 3, 3), device="cuda")
    ours = torch.from_dlpack(causeway.nn.functional.conv2d(image, kernel))
    theirs = torch.nn.functional.conv2d(torch.from_dlpack(image), torch.from_dlpack(kernel))
    assert torch.equal(ours, theirs)
print("done")
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("order", ["import causeway, torch", "import torch, causeway"])
def test_imports_with_torch(order):
    done = run(order + USE_BOTH)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def test_module_runs_the_program():
    done = program("--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"causeway {cw.__version__} (")
    assert program("no-such-command").returncode == 2


def test_absent_library_says_what_to_install(tmp_path):
    out = tmp_path / "data.h5"
    done = program("prior", "generate", "--count", "1", "--out", str(out), CAUSEWAY_HDF5="/no/such/libhdf5.so")
    assert done.returncode == 3
    assert "[HDF5]" in done.stderr and "/no/such/libhdf5.so" in done.stderr
    assert not out.exists()
