"""Distributed fits on the command line: one process per part, files, error messages.

Usage: tokenizer_test.py build/causeway
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""


def tokenizer(*arguments):
    done = subprocess.run(
        [PROGRAM, "tokenizer", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def rows(n):
    """Ties, a constant, missing values, text, dates; sorted by the first column."""
    chance = random.Random(5)
    for i in range(n):
        city = chance.choice(["Rome", "Oslo", "Bergen", ""])
        value = "" if i % 7 == 0 else repr(chance.gauss(0, 1))
        yield f"{i},{city},{value},{i % 4},3.5,2026-{i % 12 + 1:02d}-01"


class Parts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, lines, header="id,city,v,tie,same,day"):
        path = self.folder / name
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return path

    def run_well(self, *arguments):
        code, out, err = tokenizer(*arguments)
        self.assertEqual((code, err), (0, ""))
        return out

    def parts(self, tables, *options):
        """A part of each table."""
        made = []
        for i, table in enumerate(tables):
            made.append(self.folder / f"{i}{'b' if '--against' in options else 'a'}.cwp")
            self.run_well("fit", table, "--partial", made[-1], *options)
        return made

    def bad_input(self, arguments, *words):
        """One line on stderr that holds the words, exit code 3, and no file that was not there."""
        before = set(os.listdir(self.folder))
        code, out, err = tokenizer(*arguments)
        self.assertEqual((code, out, len(err.splitlines())), (3, "", 1), err)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(set(os.listdir(self.folder)), before)

    def artefact(self, path):
        """The file without its source."""
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if not line.startswith(' "source"')]

    def test_any_partition_gives_the_file_of_one_fit(self):
        lines = list(rows(3000))
        options = ["--bins", "32", "--min-count", "5"]
        whole, tok, plan = (self.folder / name for name in ("whole.json", "tok.json", "plan.cwp"))
        self.run_well("fit", self.write("all.csv", lines), "--out", whole, "--device", "cpu", *options)
        for cuts in ([0, 3000], [0, 1, 1, 1700, 3000], [0, 0, 2999, 3000]):
            tables = [self.write(f"{i}.csv", lines[a:b])
                      for i, (a, b) in enumerate(zip(cuts, cuts[1:]))]
            first = self.parts(tables, *options)
            out = json.loads(self.run_well("merge", *first, "--out", plan, "--json"))
            self.assertEqual((out["step"], out["rows"]), ("collect", 3000))
            made = plan.read_bytes()
            self.run_well("merge", *reversed(first), "--out", plan)
            self.assertEqual(plan.read_bytes(), made)
            second = self.parts(tables, "--against", plan)
            self.run_well("merge", *reversed(second), "--out", tok)
            self.assertEqual(self.artefact(tok), self.artefact(whole))

    def test_little_memory_needs_another_pass(self):
        lines = list(rows(4000))
        tables = [self.write("0.csv", lines[:500]), self.write("1.csv", lines[500:])]
        whole, tok, plan = (self.folder / name for name in ("whole.json", "tok.json", "plan.cwp"))
        self.run_well("fit", self.write("all.csv", lines), "--out", whole, "--bins", "16",
                      "--device", "cpu")
        parts, steps = self.parts(tables, "--bins", "16"), []
        while not steps or steps[-1] != "collect":
            out = self.run_well("merge", *parts, "--out", plan, "--json", "--memory", "3KiB")
            steps.append(json.loads(out)["step"])
            parts = self.parts(tables, "--against", plan)
        self.assertIn("count again", steps)
        self.run_well("merge", *parts, "--out", tok)
        self.assertEqual(self.artefact(tok), self.artefact(whole))

    def test_one_pass_keeps_its_bound(self):
        lines = list(rows(20000))
        parts = self.parts([self.write("0.csv", lines[:9000]), self.write("1.csv", lines[9000:])])
        tok = self.folder / "tok.json"
        out = json.loads(self.run_well("merge", *parts, "--out", tok, "--estimate", "--json"))
        bound = out["rank_errors"]["id"]
        self.assertLess(bound, 0.001)
        edges = json.loads(tok.read_text(encoding="utf-8"))["columns"][0]["edges"]
        for i, edge in enumerate(edges):  # the ids are their own ranks
            self.assertLessEqual(abs(edge - 19999 * i / 256), bound * 20000 + 1)
        self.assertIn("rank error of the edges: at most", self.run_well("merge", *parts, "--out", tok, "--estimate"))

    def test_mistakes(self):
        lines = list(rows(200))
        tables = [self.write("0.csv", lines[:90]), self.write("1.csv", lines[90:])]
        first = self.parts(tables)
        plan, out = self.folder / "plan.cwp", self.folder / "out.json"
        self.run_well("merge", *first, "--out", plan)
        second = self.parts(tables, "--against", plan)
        self.bad_input(["merge", first[0], second[1], "--out", out], "first pass", "second", "1b.cwp")
        self.bad_input(["merge", second[0], "--out", out], "200 rows but 90 were", "every part")
        self.bad_input(["merge", first[0], first[0], "--out", out], "0a.cwp", "given twice")
        self.bad_input(["merge", *first, "--out", out], "--against", "--estimate")
        self.bad_input(["merge", *second, "--out", out, "--estimate"], "only available before plan()")
        self.bad_input(["merge", "nowhere.cwp", "--out", out], "nowhere.cwp")
        self.bad_input(["merge", tables[0], "--out", out], "0.csv", "part of a fit")
        self.bad_input(["fit", tables[0], "--against", first[0], "--partial", out], "not a plan")
        self.bad_input(["fit", tables[0], "--against", plan, "--partial", out, "--bins", "9"],
                       "bins is 256", "leave them out")
        less = self.write("less.csv", ["1,2"], "id,v")
        self.bad_input(["fit", less, "--against", plan, "--partial", out], '"same"', "does not exist")
        self.bad_input(["fit", tables[0], "--partial", out, "--strategy", "tree"], "whole column")
        self.bad_input(["fit", tables[0], "--out", out, "--weights", "city"], "is not numeric")
        self.bad_input(["fit", tables[0], "--partial", out, "--weights", "v"], "whole table")
        others = self.folder / "other.cwp"
        self.run_well("fit", less, "--partial", others)
        self.bad_input(["merge", first[0], others, "--out", plan], "different columns", "other.cwp")
        self.run_well("fit", tables[1], "--partial", others, "--bins", "9")
        self.bad_input(["merge", first[0], others, "--out", plan], "bins is 256", "9")
        words = self.write("words.csv", [line.replace(",3.5,", ",x,") for line in lines])
        self.run_well("fit", words, "--partial", others)
        self.bad_input(["merge", first[0], others, "--out", plan], '"same"', "numeric", "categorical")
        self.run_well("merge", first[1], "--out", self.folder / "plan2.cwp")
        self.run_well("fit", tables[1], "--against", self.folder / "plan2.cwp", "--partial", others)
        self.bad_input(["merge", second[0], others, "--out", out], "different plans")

    def test_damage(self):
        part = self.parts([self.write("0.csv", rows(60))])[0]
        good, bad, out = part.read_bytes(), self.folder / "bad.cwp", self.folder / "plan.cwp"
        bad.write_bytes(good)
        for name, changed in (
            ("half", good[: len(good) // 2]),
            ("bit", good[:-9] + bytes([good[-9] ^ 1]) + good[-8:]),
            ("words", good.replace(b"Rome", b"Roma", 1)),
            ("hash", good.replace(b'n_rows\\":60', b'n_rows\\":61', 1)),
        ):
            with self.subTest(name):
                self.assertNotEqual(changed, good)
                bad.write_bytes(changed)
                self.bad_input(["merge", bad, "--out", out], "bad.cwp")
        bad.write_bytes(good.replace(b'"version":"1"', b'"version":"7"', 1))
        self.bad_input(["merge", bad, "--out", out], "bad.cwp", "expected version 1", "7")

    def test_usage(self):
        for arguments, words in ((["fit", "x.csv"], "--out is required"),
                                 (["fit", "x.csv", "--out", "a", "--partial", "b"], "exclude"),
                                 (["fit", "x.csv", "--out", "a", "--against", "b"], "--partial"),
                                 (["merge", "--out", "a"], "parts is required"),
                                 (["merge", "a"], "--out is required")):
            code, out, err = tokenizer(*arguments)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(words, err)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: tokenizer_test.py build/causeway")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
