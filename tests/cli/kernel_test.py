"""causeway kernel: forms that are printed, launches, pages, and what is refused.

Usage: kernel_test.py build/causeway
"""

import array
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PROGRAM = ""
KERNELS = """\
import causeway as cw

@cw.kernel
def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float)):
    i = cw.tid()
    y[i] = a * x[i] + y[i]


@cw.kernel
def fill(out: cw.array2d(dtype=int), n: int):
    i, j = cw.tid()
    out[i, j] = i * n + j
"""


def write_npy(path, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header = header.ljust(117) + "\n"
    data = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + data)


def read_npy(path, kind):
    content = path.read_bytes()
    (size,) = struct.unpack("<H", content[8:10])
    return array.array(kind, content[10 + size :]).tolist()


class Kernel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        (self.path / "k.py").write_text(KERNELS)
        self.addCleanup(self.folder.cleanup)

    def run_program(self, *words):
        environment = {**os.environ, "CAUSEWAY_CACHE": str(self.path / "cache")}
        done = subprocess.run([PROGRAM, "kernel", *words], capture_output=True, text=True,
                              check=False, cwd=self.path, env=environment)  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def has_nvrtc(self):
        code, _, errors = self.run_program("compile", "k.py", "--kernel", "saxpy", "--emit", "ptx")
        self.assertIn(code, (0, 4), errors)
        return code == 0

    def test_compile(self):
        for form, expected in {
            "cuda": 'extern "C" __global__ void saxpy(float a, const float* __restrict__ x',
            "cpp": 'extern "C" void saxpy(float a, const float* __restrict__ x',
            "ir": "kernel @saxpy(%a: f32, %x: array<f32,1>, %y: array<f32,1>) dims 1 {",
            "adjoint": 'extern "C" __global__ void adj_saxpy(',
        }.items():
            code, out, errors = self.run_program("compile", "k.py", "--kernel", "saxpy", "--emit", form)
            self.assertEqual((code, errors), (0, ""))
            self.assertIn(expected, out)
            self.assertNotIn("fill", out)
        code, out, _ = self.run_program("compile", "k.py", "--out", "all.cu")
        self.assertEqual((code, out), (0, ""))
        text = (self.path / "all.cu").read_text()
        self.assertIn("void saxpy(", text)
        self.assertIn("void fill(", text)

    def test_compile_to_json(self):
        code, out, _ = self.run_program("compile", "k.py", "--json")
        self.assertEqual(code, 0)
        found = json.loads(out)
        self.assertEqual((found["form"], [kernel["name"] for kernel in found["kernels"]]), ("cuda", ["saxpy", "fill"]))
        text = self.run_program("compile", "k.py", "--kernel", "fill")[1]
        self.assertEqual(found["kernels"][1]["text"], text)

    def test_ptx(self):
        if not self.has_nvrtc():
            self.skipTest("NVRTC is not installed")
        code, out, _ = self.run_program("compile", "k.py", "--kernel", "fill", "--emit", "ptx",
                                        "--arch", "sm_80")  # fmt: skip
        self.assertEqual(code, 0)
        self.assertIn(".target sm_80", out)
        self.assertTrue(any((self.path / "cache").rglob("*")))

    def test_refused_text(self):
        (self.path / "bad.py").write_text(KERNELS.replace("a * x[i]", "2 * x[i]"))
        code, out, errors = self.run_program("compile", "bad.py")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("bad.py:6:12: error: operator * does not take these types", errors)

    def test_bad_usage(self):
        code, _, errors = self.run_program("compile", "k.py", "--kernel", "saxpi")
        self.assertEqual(code, 3)
        self.assertIn('k.py has no kernel "saxpi"; did you mean "saxpy"?', errors)
        self.assertEqual(self.run_program("compile", "none.py")[0], 3)
        self.assertEqual(self.run_program("compile", "k.py", "--emit", "sass")[0], 2)
        self.assertEqual(self.run_program("compile", "k.py", "--emit", "ptx", "--arch", "x")[0], 2)

    def test_run(self):
        write_npy(self.path / "x.npy", [1.0, 2.0, 3.0])
        write_npy(self.path / "y.npy", [10.0, 20.0, 30.0])
        code, out, errors = self.run_program(
            "run", "k.py", "--kernel", "saxpy", "--dim", "3", "--device", "cpu", "--input", "a=0.5",
            "--input", "x=x.npy", "--input", "y=y.npy", "--output", "y=out.npy")  # fmt: skip
        self.assertEqual((code, errors), (0, ""))
        self.assertRegex(out, r"y +\(3,\) +f32 +10\.5 +31\.5 +21 +0")
        self.assertEqual(read_npy(self.path / "out.npy", "f"), [10.5, 21.0, 31.5])

    def test_random_inputs_depend_on_the_seed(self):
        def mean(*words):
            code, out, errors = self.run_program(
                "run", "k.py", "--kernel", "saxpy", "--dim", "100", "--device", "cpu", "--json",
                *words)  # fmt: skip
            self.assertEqual((code, errors), (0, ""))
            return json.loads(out)["arrays"]["y"]["mean"]

        self.assertEqual(mean(), mean("--seed", "0"))
        self.assertNotEqual(mean(), mean("--seed", "1"))
        self.assertEqual(mean(), mean("--unchecked"))

    def test_two_dimensions(self):
        code, out, _ = self.run_program("run", "k.py", "--kernel", "fill", "--dim", "2,3", "--input",
                                        "n=10", "--device", "cpu")  # fmt: skip
        self.assertEqual(code, 0)
        self.assertRegex(out, r"out +\(2, 3\) +i32 +0 +12 +6 ")

    def test_run_refuses(self):
        def error(*words):
            code, _, errors = self.run_program("run", "k.py", "--device", "cpu", *words)
            self.assertEqual(code, 3)
            return errors

        self.assertIn("has 2 kernels; name one of saxpy, fill", error("--dim", "3"))
        saxpy = ("--kernel", "saxpy", "--dim", "3")
        self.assertIn('kernel "saxpy" has no argument "z"; there are a, x, y',
                      error(*saxpy, "--input", "z=1"))  # fmt: skip
        self.assertIn('argument "a": "one" is no number', error(*saxpy, "--input", "a=one"))
        self.assertIn("has 1 launch dimension, got dim=(3, 3)",
                      error("--kernel", "saxpy", "--dim", "3,3"))  # fmt: skip
        write_npy(self.path / "x.npy", [1.0])
        self.assertIn('k.py:6:16: error: index 1 is out of range for array "x" of shape (1)',
                      error(*saxpy, "--input", "x=x.npy"))  # fmt: skip

    def test_warp_text_is_python(self):
        code, text, errors = self.run_program("compile", "k.py", "--kernel", "saxpy", "--emit", "warp")
        self.assertEqual((code, errors), (0, ""))
        compile(text, "k.py", "exec")
        self.assertIn("@wp.kernel\ndef saxpy(a: float, x: wp.array(dtype=float)", text)
        self.assertNotIn("fill", text)

    def test_explain(self):
        if not self.has_nvrtc():
            self.skipTest("NVRTC is not installed")
        code, out, errors = self.run_program("explain", "k.py", "--html", "page.html", "--json")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(json.loads(out), {"out": "page.html", "kernels": ["saxpy", "fill"]})
        page = (self.path / "page.html").read_text()
        root = ElementTree.fromstring(page.split("\n", 1)[1])
        for kernel, line in (("0", 6), ("1", 12)):
            forms = [form for form in root.iter("figure")
                     if any(span.get("class") == f"k{kernel}l{line}" for span in form.iter("span"))]  # fmt: skip
            titles = [form.find("figcaption/b").text for form in forms]
            self.assertEqual(titles, ["Python", "IR", "CUDA C++", "PTX"])
        self.assertTrue(re.search(r"st\.global\.b?f?u?\d+", page))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: kernel_test.py build/causeway")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
