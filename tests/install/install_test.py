"""Installs a build into a temporary folder and uses it from another project: find_package, the example of
examples/cpp, and every installed header.

Usage: install_test.py CMAKE BUILD_FOLDER
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "cpp"
CMAKE, BUILD = sys.argv[1], Path(sys.argv[2])
LEAKS = re.compile(r"-march|-W(all|extra|pedantic|shadow)|-ffp-|-fwrapv|-fopenmp|nlohmann|-fno-math")
ALL_HEADERS = """
cmake_minimum_required(VERSION 3.25)
project(headers LANGUAGES CXX)
find_package(causeway REQUIRED)
add_library(headers OBJECT headers.cpp)
target_link_libraries(headers PRIVATE causeway::causeway)
target_compile_options(headers PRIVATE -fsyntax-only -Wall -Werror)
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = Path(cls.folder.name) / "prefix"
        code, out = run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        if code != 0:
            raise RuntimeError(out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def configure(self, source, *options):
        build = Path(self.folder.name) / f"build-{source.name}"
        code, out = run(CMAKE, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options)
        self.assertEqual(code, 0, out)
        return build

    def build(self, folder):
        code, out = run(CMAKE, "--build", folder)
        self.assertEqual(code, 0, out)

    def test_example(self):
        build = self.configure(EXAMPLE)
        self.build(build)
        code, out = run(build / "predict", EXAMPLE / "train.csv", EXAMPLE / "test.csv", "species")
        self.assertEqual(code, 0, out)
        accuracy = float(re.search(r"accuracy (\S+) on 45 rows", out).group(1))
        self.assertGreaterEqual(accuracy, 0.9, out)
        commands = json.loads((build / "compile_commands.json").read_text())
        for entry in commands:
            self.assertFalse(LEAKS.search(entry["command"]), entry["command"])

    def test_manual_pages(self):
        pages = self.prefix / "share" / "man" / "man1"
        self.assertIn("fBcauseway predict", (pages / "causeway-predict.1").read_text())
        self.assertTrue((pages / "causeway.1").exists())

    def test_headers(self):
        names = sorted(
            path.relative_to(self.prefix / "include").as_posix()
            for path in (self.prefix / "include" / "causeway").rglob("*")
            if path.is_file()
        )
        self.assertGreater(len(names), 50)
        self.assertIn("causeway/core/version.h", names)
        self.assertEqual([name for name in names if not name.endswith(".h")], [])
        source = Path(self.folder.name) / "headers"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(ALL_HEADERS)
        (source / "headers.cpp").write_text("".join(f"#include <{name}>\n" for name in names))
        self.build(self.configure(source))

    def test_version(self):
        version = re.search(r"project\(causeway VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
        header = (self.prefix / "include" / "causeway" / "core" / "version.h").read_text()
        self.assertIn(f'"{version.group(1)}"', header)
        code, out = run(self.prefix / "bin" / "causeway", "--version")
        self.assertEqual(code, 0, out)
        self.assertIn(f"causeway {version.group(1)} ", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
