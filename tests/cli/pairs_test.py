"""causeway pairs: datasets, pages, and what is refused.

Usage: pairs_test.py build/causeway
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PROGRAM = ""


class Pairs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def run_program(self, *arguments, **options):
        result = subprocess.run([PROGRAM, "pairs", *arguments], cwd=self.path, capture_output=True,
                                text=True, timeout=300, **options)  # fmt: skip
        return result.returncode, result.stdout, result.stderr

    def generate(self, out, *arguments):
        code, output, errors = self.run_program("generate", "-o", out, "--quiet", *arguments)
        self.assertEqual((code, errors), (0, ""))
        return output

    def page(self, name):
        """The root of a page, which is well-formed XML after its first line."""
        return ElementTree.fromstring((self.path / name).read_text().split("\n", 1)[1])

    def test_gallery_of_a_dataset(self):
        self.generate("set", "-n", "60", "-s", "3", "--no-compress")
        code, output, _ = self.run_program("gallery", "set", "-n", "25", "-o", "page.html")
        self.assertEqual((code, output), (0, "page.html: 25 pairs\n"))
        lines = []
        for file in sorted((self.path / "set/data").iterdir()):
            lines += file.read_text().splitlines()
        records = {}
        for line in lines:
            record = json.loads(line)
            records[record["metadata"]["id"]] = record
        articles = list(self.page("page.html").iter("article"))
        self.assertEqual(len(articles), 25)
        for article in articles:
            record = records[article.get("id")]
            category, level = article.get("class").split()
            self.assertEqual(category, "c-" + record["metadata"]["category"])
            self.assertEqual(level, f"l-{record['metadata']['difficulty']}")
            texts = ["".join(code.itertext()) for code in article.iter("pre")]
            expected = [record["python_source"], record["cuda_forward"]]
            if record["cuda_backward"]:
                expected.append(record["cuda_backward"])
            if "twin" in record:
                expected.append(record["twin"]["python_source"])
            self.assertEqual(texts, expected)
            badges = [badge.text for badge in article.iter("li")]
            self.assertEqual(len(badges), len(record["metadata"]["verification"]["passed"]))

    def test_json(self):
        self.generate("set", "-n", "10", "-s", "3")
        out = self.run_program("gallery", "set", "-n", "5", "-o", "page.html", "--json")[1]
        self.assertEqual(json.loads(out), {"out": "page.html", "n_pairs": 5})
        out = self.run_program("export", "set", "-o", "a.jsonl", "--json")[1]
        self.assertEqual(json.loads(out), {"out": "a.jsonl", "n_examples": 10, "style": "instruct"})

    def test_lists_have_commas_or_spaces(self):
        (self.path / "a.toml").write_text('verify = "run,adjoint,cpp"\ncategories = "math, vector"\n')
        (self.path / "b.json").write_text('{"verify": ["run,adjoint", "cpp"], "categories": ["math", "vector"]}')
        for arguments in (
            ("--verify", "run,adjoint,cpp", "-c", "math,vector"),
            ("--verify", "run", "adjoint", "cpp", "-c", "math", "vector"),
            ("--verify", "run,adjoint", "cpp", "-c", "math", "-c", "vector"),
            ("--config", "a.toml"),
            ("--config", "b.json"),
        ):
            with self.subTest(arguments):
                code, output, errors = self.run_program("generate", "--print-config", *arguments)
                self.assertEqual((code, errors), (0, ""))
                config = json.loads(output)
                self.assertEqual(config["verify"], ["run", "adjoint", "cpp"])
                self.assertEqual(config["categories"], ["math", "vector"])
        self.generate("set", "-n", "20", "-c", "math,vector", "--verify", "run,cpp")
        code, output, _ = self.run_program("verify", "set", "--verify", "cpp,cpp")
        self.assertEqual((code, output), (0, "20 of 20 records verified\n"))
        text = self.run_program("generate", "--help")[1]
        self.assertIn("--verify run|adjoint|compile|cpp|gpu|none,...\n", text)
        self.assertIn("or none [run,adjoint]", text)

    def test_gpu_check_without_a_gpu(self):
        if Path("/dev/nvidia0").exists():
            self.skipTest("there is a GPU")
        self.generate("set", "-n", "5")
        for arguments in (("generate", "-n", "5", "-o", "other", "--verify", "gpu"), ("verify", "set", "--verify", "gpu")):
            code, output, errors = self.run_program(*arguments)
            self.assertEqual((code, output), (4, ""))
            self.assertRegex(errors, r'^causeway: \[pairs\] verify: "gpu" needs a GPU: .+\n$')

    def test_gallery_of_generated_pairs_has_filters(self):
        code, _, _ = self.run_program("gallery", "-n", "12", "-c", "vector,atomic", "-o", "page.html")
        self.assertEqual(code, 0)
        root = self.page("page.html")
        buttons = [button.get("id") for button in root.iter("input")]
        self.assertIn("c-vector", buttons)
        self.assertIn("c-atomic", buttons)
        self.assertNotIn("c-math", buttons)
        style = next(root.iter("style")).text
        self.assertIn("body:has(#c-vector:checked) article:not(.c-vector) { display: none; }", style)

    def test_coverage_page(self):
        self.generate("set", "-n", "40")
        code, output, _ = self.run_program("stats", "set", "--json", "--html", "page.html")
        self.assertEqual(code, 0)
        stats = json.loads(output)
        tables = [table for table in self.page("page.html").iter("table") if table.get("class") == "shaded"]
        self.assertEqual(len(tables), 2)
        for table, name, columns in zip(tables, ("ops_by_type", "ops_by_construct"), ("types", "constructs")):
            names = ["".join(cell.itertext()) for cell in table.find("thead").iter("th")][1:]
            self.assertEqual(sorted(names), sorted(stats[columns]))
            counts = {}
            for row in table.find("tbody").iter("tr"):
                op = row.find("th").text
                counts[op] = {n: int(cell.text) for n, cell in zip(names, row.iter("td")) if cell.text}
            self.assertEqual({op: row for op, row in counts.items() if row}, stats[name])
        self.assertEqual(sum(count for _, count in stats["python_lines"]["counts"]), 40)

    def test_excluded_structures_do_not_occur(self):
        self.generate("first", "-n", "30", "--verify", "none")
        code, _, _ = self.run_program("stats", "first", "--signatures", "signatures.txt")
        self.assertEqual(code, 0)
        excluded = (self.path / "signatures.txt").read_text().split()
        self.assertEqual(len(set(excluded)), 30)
        output = self.generate("second", "-n", "30", "--verify", "none", "--exclude", "signatures.txt")
        self.assertIn("excluded 30", output)
        self.run_program("stats", "second", "--signatures", "others.txt")
        self.assertFalse(set(excluded) & set((self.path / "others.txt").read_text().split()))
        (self.path / "signatures.txt").write_text("0123456789abcdef\nnot a hash\n")
        code, _, errors = self.run_program("generate", "-o", "x", "--exclude", "signatures.txt")
        self.assertEqual(code, 3)
        self.assertIn('signatures.txt:2: expected a hexadecimal number, got "not a hash"', errors)

    def contents(self, folder):
        return {file.name: file.read_bytes() for file in sorted((self.path / folder / "data").iterdir())}

    def test_threads_give_the_same_bytes(self):
        self.generate("one", "-n", "100", "--threads", "1")
        self.generate("two", "-n", "100", "--threads", "2")
        self.assertEqual(self.contents("one"), self.contents("two"))

    def test_overlapping_batches_give_the_same_bytes(self):
        """With more than two threads, a batch is compiled while the next one is generated."""
        options = ("-n", "2200", "-c", "arithmetic", "--level", "1:2", "--verify", "compile", "--twins", "0")
        code, _, errors = self.run_program("generate", "-o", "one", "--quiet", "--threads", "1", *options)
        if "NVRTC" in errors:
            self.skipTest(errors)
        self.assertEqual((code, errors), (0, ""))
        self.generate("four", "--threads", "4", *options)
        self.assertEqual(self.contents("one"), self.contents("four"))
        states = [json.loads((self.path / name / "dataset.json").read_text()) for name in ("one", "four")]
        self.assertEqual(*states)

    def test_killed_run_resumes_to_the_same_bytes(self):
        options = ("-n", "6000", "-s", "5", "--verify", "none")
        self.generate("whole", *options)
        command = [PROGRAM, "pairs", "generate", "-o", "parts", "--quiet", *options]
        run = subprocess.Popen(command, cwd=self.path, stdout=subprocess.DEVNULL)
        state = self.path / "parts/dataset.json"
        deadline = time.monotonic() + 60
        while not state.exists() and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        run.kill()
        run.wait()
        written = json.loads(state.read_text())["written"]
        self.assertGreater(written, 0)
        self.assertLess(written, 6000)
        self.assertIn("of them already written", self.generate("parts", *options))
        self.assertEqual(self.contents("parts"), self.contents("whole"))

    def test_full_disk(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        options = ("generate", "-o", "set", "-n", "2000", "--verify", "none", "--no-compress", "--quiet")
        code, _, errors = self.run_program(*options, preexec_fn=limit)
        self.assertEqual(code, 3)
        self.assertIn("train-00000-of-00001.jsonl", errors)
        self.assertEqual(self.run_program(*options)[0], 0)  # with room again
        self.generate("whole", "-n", "2000", "--verify", "none", "--no-compress")
        self.assertEqual(self.contents("set"), self.contents("whole"))

    def test_edited_record_is_named(self):
        self.generate("set", "-n", "20", "--format", "json")
        path = self.path / "set/pair_000007.json"
        record = json.loads(path.read_text())
        record["cuda_forward"] = record["cuda_forward"].replace(";", " ;", 1)
        path.write_text(json.dumps(record))
        code, output, _ = self.run_program("verify", "set")
        self.assertEqual(code, 3)
        self.assertIn(f"set/pair_000007.json:1 ({record['metadata']['id']}): \"cuda_forward\" is not what", output)
        self.assertIn("19 of 20 records verified", output)

    def test_bad_input(self):
        for arguments, code, message in (
            (("generate", "-o", "x", "-c", "vectr"), 2, "(did you mean vector?)"),
            (("generate", "-o", "x", "-c", "math,vectr"), 2, "(did you mean vector?)"),
            (("gallery", "-o", "x.html", "-c", "math,vectr"), 3, '"vectr" is not a category; did you mean vector?'),
            (("generate", "-o", "x", "-n", "0"), 2, "count"),
            (("generate", "-o", "x", "--verify", "luck"), 2, "--verify: expected run, adjoint, compile"),
            (("generate", "-o", "x", "--verify", "run,luck"), 2, "--verify: expected run, adjoint, compile"),
            (("verify", "x", "--verify", "cpp,luck"), 2, "luck"),
            (("generate", "-o", "x", "--shard", "3/2"), 3, "expected I/N"),
            (("generate", "-o", "x", "--format", "parquet"), 3, "cw.pairs.to_parquet"),
            (("gallery", "missing", "-o", "page.html"), 3, "missing"),
            (("stats", "."), 3, "has no records"),
        ):
            with self.subTest(arguments):
                found, _, errors = self.run_program(*arguments)
                self.assertIn(message, errors)
                self.assertEqual(found, code)
        self.assertEqual(list(self.path.glob("*.html")), [])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: pairs_test.py build/causeway")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
