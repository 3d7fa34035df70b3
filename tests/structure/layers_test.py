"""Checks the sources against the table of modules in docs/architecture.md: includes, cycles, file placement.

Usage: layers_test.py. The rules are tested on small trees that violate them, then on the repository.
"""

import ast
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A module may include the modules its row names, and what those may include.
ROWS = {
    "core": "",
    "runtime": "core",
    "random": "core runtime",
    "kernels": "core runtime random",
    "tensor": "kernels",
    "autograd": "tensor",
    "nn": "autograd",
    "optim": "autograd",
    "tables": "core data tensor",
    "models": "nn data tables",
    "prior": "tensor",
    "tokenizer": "tensor",
    "lang": "core",
    "jit": "lang autograd",
    "pairs": "lang jit data",
    "data": "core tensor",
    "dist": "core runtime tensor",
    "train": "models optim data dist prior",
    "report": "core data models",
}
# Single headers of other modules that a module may include too. They include nothing that the module may
# not.
SINGLE_HEADERS = {
    "tokenizer": {"causeway/tables/table.h"},
    "jit": {"causeway/data/crc32.h", "causeway/data/sha256.h"},
}
FOLDERS = ["causeway", "cli", "python", "tests", "bench"]
SUFFIXES = {".h", ".cpp", ".cuh", ".cu"}
FORBIDDEN_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
THIRD_PARTY = re.compile(r"^(fmt/|spdlog/|nlohmann/|CLI/|omp\.h|cblas\.h)")
CUDA = re.compile(r"^(cuda|cub/|cublas|cudnn|cutlass|nvrtc|nvJitLink|nccl|nvtx3/|thrust/)")


def reachable(module):
    """The modules that `module` may include, itself among them."""
    return {module}.union(*(reachable(below) for below in ROWS[module].split()))


class Tree:
    def __init__(self, root):
        self.root = root
        self.text = {}
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in SUFFIXES:
                    self.text[path.relative_to(root).as_posix()] = path.read_text("utf-8")
        self.includes = {
            path: [(mark == '"', name) for mark, name in INCLUDE.findall(text)]
            for path, text in self.text.items()
        }

    def problems(self):
        found = []
        for path in self.text:
            found += [f"{path}: {problem}" for problem in self.problems_of(path)]
        return found

    def problems_of(self, path):
        yield from self.bad_names(path)
        if path.startswith("causeway/"):
            yield from self.bad_layers(path)
        if path.endswith((".cu", ".cuh")):
            yield from self.third_party(path)
        code = COMMENT_OR_TEXT.sub("", self.text[path])
        if "<<<" in code and path != "causeway/runtime/launch.h":
            yield "launches a kernel with <<<; use launch() of causeway/runtime/launch.h"

    def bad_names(self, path):
        words = re.split(r"[_.-]", path.rsplit("/", 1)[-1])
        for word in sorted(FORBIDDEN_NAMES.intersection(words)):
            yield f'is called "{word}"; name it after what it does'

    def bad_layers(self, path):
        module = path.split("/")[1]
        if module not in ROWS:
            yield f'is in the module "{module}", which the table does not have'
            return
        for rooted, name in self.includes[path]:
            if module == "core" and CUDA.match(name):
                yield f"includes {name}; core knows no CUDA"
            if not rooted:
                continue
            parts = name.split("/")
            if parts[0] != "causeway" or ".." in parts or len(parts) < 3:
                yield f'includes "{name}"; includes are rooted: "causeway/<module>/<file>"'
            elif path.endswith("_device.h"):
                if not name.endswith("_device.h") and not name.startswith("causeway/random/"):
                    yield f"includes {name}; a _device.h header includes only others and random"
            elif name in SINGLE_HEADERS.get(module, ()):
                yield from self.beyond(module, name)
            elif parts[1] not in reachable(module):
                yield f"includes {name}; {module} may include {ROWS[module] or 'no other module'}"

    def beyond(self, module, header):
        """What a single header of another module includes that `module` may not."""
        for rooted, name in self.includes.get(header, []):
            if rooted and name.split("/")[1] not in reachable(module):
                yield f"includes {header}, which includes {name}; {module} may include {ROWS[module]}"

    def third_party(self, path):
        """Walks what a CUDA file includes, and says by which way it comes to a foreign header."""
        seen, ways = set(), [[path]]
        while ways:
            way = ways.pop()
            for rooted, name in self.includes.get(way[-1], []):
                if THIRD_PARTY.match(name):
                    yield f"a CUDA file includes {name}, by {' -> '.join(way)}"
                elif rooted and name not in seen:
                    seen.add(name)
                    ways.append(way + [name])


def cycles(graph):
    """Paths from a file back to itself, one for each file that closes one."""
    found, done = [], set()

    def visit(node, path):
        if node in path:
            found.append(" -> ".join(path[path.index(node):] + [node]))
            return
        if node in done:
            return
        for below in graph.get(node, []):
            visit(below, path + [node])
        done.add(node)

    for node in sorted(graph):
        visit(node, [])
    return found


def python_imports(package):
    """Module -> modules of the package that it imports when it is itself imported."""
    graph = {}
    for path in sorted(package.glob("*.py")):
        imports = set()
        for node in ast.parse(path.read_text("utf-8")).body:  # imports within functions come later
            if not isinstance(node, ast.ImportFrom) or node.level != 1:
                continue
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            imports.update(name for name in names if (package / f"{name}.py").exists())
        graph[path.stem] = sorted(imports)
    return graph


class Rules(unittest.TestCase):
    """Each rule finds its mistake, and nothing where there is none."""

    def problems(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files["files"].items():
                file = Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
            return Tree(Path(folder)).problems()

    def one(self, words, files):
        problems = self.problems(files=files)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])

    def test_layers(self):
        self.one("may include core", {"causeway/runtime/a.h": '#include "causeway/tensor/b.h"\n'})
        self.one("may include", {"causeway/prior/a.h": '#include "causeway/tokenizer/b.h"\n'})
        self.one("no other module", {"causeway/core/a.h": '#include "causeway/runtime/b.h"\n'})
        self.assertEqual(
            self.problems(files={"causeway/models/a.h": '#include "causeway/core/b.h"\n'}), []
        )

    def test_single_headers(self):
        self.one("may include tensor", {"causeway/tokenizer/a.h": '#include "causeway/tables/csv_table.h"\n'})
        table = "causeway/tables/table.h"
        uses = {"causeway/tokenizer/a.h": f'#include "{table}"\n'}
        self.assertEqual(self.problems(files={**uses, table: '#include "causeway/tensor/b.h"\n'}), [])
        self.one("which includes causeway/data", {**uses, table: '#include "causeway/data/csv.h"\n'})

    def test_rooted(self):
        self.one("rooted", {"causeway/core/a.cpp": '#include "a.h"\n'})
        self.one("rooted", {"causeway/core/a.cpp": '#include "causeway/core/../core/a.h"\n'})

    def test_device_headers_include_only_device_headers(self):
        device = "causeway/kernels/sort/a_device.h"
        self.one("only others", {device: '#include "causeway/core/error.h"'})
        self.assertEqual(self.problems(files={device: '#include "causeway/core/host_device.h"'}), [])

    def test_core_has_no_cuda(self):
        self.one("no CUDA", {"causeway/core/a.cpp": "#include <cuda_runtime.h>\n"})

    def test_unknown_room(self):
        self.one("does not have", {"causeway/extras/a.h": ""})

    def test_bare_launch(self):
        self.one("<<<", {"causeway/kernels/sort/a.cu": "void f() { k<<<1, 2>>>(); }\n"})
        quiet = '// k<<<1, 2>>>()\nconst char* text = "<<<";\n'
        self.assertEqual(self.problems(files={"bench/a.cu": quiet}), [])

    def test_third_party_in_cuda(self):
        self.one("by causeway/kernels/sort/a.cu", {
            "causeway/kernels/sort/a.cu": '#include "causeway/kernels/b.h"\n',
            "causeway/kernels/b.h": '#include "causeway/core/c.h"\n',
            "causeway/core/c.h": "#include <fmt/format.h>\n",
        })  # fmt: skip

    def test_names(self):
        self.one("string_utils", {"cli/string_utils.cpp": ""})
        self.one("common", {"tests/common.h": ""})


    def test_cycles(self):
        self.assertEqual(cycles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}), ["a -> b -> c -> a"])
        self.assertEqual(cycles({"a": ["b", "c"], "b": ["c"], "c": []}), [])


class Repository(unittest.TestCase):
    def test_no_include_cycles(self):
        tree = Tree(ROOT)
        graph = {path: [name for rooted, name in includes if rooted and name in tree.text]
                 for path, includes in tree.includes.items()}  # fmt: skip
        self.assertEqual(cycles(graph), [])

    def test_no_import_cycles(self):
        graph = python_imports(ROOT / "python" / "causeway")
        self.assertGreater(len(graph), 10)
        self.assertEqual(cycles(graph), [])

    def test_kernels_are_grouped(self):
        """A kernel is in the folder of its operation; what operations share is at the top."""
        top = [path.name for path in (ROOT / "causeway" / "kernels").iterdir()
               if path.is_file() and path.name != "no_cuda.cpp"]  # fmt: skip
        self.assertEqual([name for name in top if name.endswith((".cu", "_cpu.cpp", "_cuda.cpp"))], [])

    def test_every_room_has_tests(self):
        modules = [path.name for path in (ROOT / "causeway").iterdir() if path.is_dir()]
        missing = [module for module in modules if not list((ROOT / "tests" / module).glob("*_test.cpp"))]
        self.assertEqual(missing, [])

    def test_generated_pages_are_current(self):
        for script in ("draw-structure", "draw-results", "write-scores"):
            command = [sys.executable, ROOT / "scripts" / script, "--check"]
            self.assertEqual(subprocess.run(command, check=False).returncode, 0)

    def test_repository(self):
        tree = Tree(ROOT)
        self.assertGreater(len(tree.text), 50, "the sources were not found")
        problems = tree.problems()
        self.assertFalse(problems, "\n" + "\n".join(problems))


if __name__ == "__main__":
    unittest.main()
