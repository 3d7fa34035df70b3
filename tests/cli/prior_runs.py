"""Shared by the tests of `causeway prior`: small priors and commands."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""  # set by main
# Small and quick: hundreds of datasets a second.
MLP = ["--prior", "mlp", "--rows", "60", "--features", "2:5", "--classes", "2:3", "--seed", "7"]
GRAPH = ["--prior", "graph", "--rows", "64", "--features", "1:6", "--classes", "2:3", "--seed", "7"]
RULES = ["--prior", "rules", "--rows", "80", "--features", "4:9", "--classes", "2", "--seed", "7"]


def changed(config, **options):
    """The options with some of them replaced or added; True for a flag."""
    pairs = dict(zip(config[::2], config[1::2]))
    pairs.update({"--" + name: value for name, value in options.items()})
    return [word for pair in pairs.items() for word in pair if word is not True]


def prior(*arguments, **options):
    done = subprocess.run(
        [PROGRAM, "prior", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=120, **options
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def generate(*arguments, **options):
    code, out, err = prior("generate", "--device", "cpu", "--quiet", *arguments, **options)
    assert code == 0, err
    return out


def has_hdf5():
    code, _, err = prior("generate", *MLP, "--count", 1, "--out", "/no/such/folder/x.h5")
    return code == 3 and "no HDF5" not in err


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


def main():
    global PROGRAM
    if len(sys.argv) < 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} build/causeway")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
