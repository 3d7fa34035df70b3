"""`causeway tokenizer` on the command line: fits of tables and of their parts, files, error messages.

Usage: tokenizer_test.py build/causeway
"""

import json
import os
import random
import struct
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


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def table(self):
        rows = [f"{i},{'Rome' if i % 3 else 'Oslo'},{'' if i == 7 else i * i},2026-01-{i % 28 + 1:02d}"
                for i in range(50)]
        return self.path("x.csv", "id,city,area,day\n" + "\n".join(rows) + "\n")

    def bad_input(self, arguments, *words):
        """One line on stderr that holds the words, exit code 3, and no file that was not there."""
        before = set(os.listdir(self.folder.name))
        code, out, err = tokenizer(*arguments)
        self.assertEqual((code, out, len(err.splitlines())), (3, "", 1), err)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(set(os.listdir(self.folder.name)), before)

    def test_round_trip(self):
        tok, tokens, back = self.path("tok.json"), self.path("t.npy"), self.path("back.csv")
        code, out, err = tokenizer("fit", self.table(), "--bins", "8", "--out", tok,
                                  "--fields", "month,day", "--device", "cpu")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("day.month", out)
        code, out, _ = tokenizer("encode", tok, self.path("x.csv"), "--out", tokens,
                                "--json", "--device", "cpu")
        self.assertEqual(code, 0)
        self.assertEqual([json.loads(out)[key] for key in ("rows", "slots", "dtype")], [50, 5, "u8"])
        code, _, _ = tokenizer("decode", tok, tokens, "--out", back, "--as", "range")
        self.assertEqual(code, 0)
        with open(back, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(",") for line in file]
        self.assertEqual(lines[0], ["id.low", "id.high", "city", "area.low", "area.high", "day.month",
                                    "day.day"])
        for i, line in enumerate(lines[1:]):
            self.assertLessEqual(float(line[0]), i)
            self.assertGreaterEqual(float(line[1]), i)
            self.assertEqual(line[2], "Rome" if i % 3 else "Oslo")
            self.assertEqual(line[3] == "", i == 7)
            self.assertEqual(line[6], str(i % 28 + 1))
        page = self.path("page.html")
        code, out, _ = tokenizer("inspect", tok, self.path("x.csv"), "--html", page)
        self.assertEqual(code, 0)
        self.assertIn("PSI", out)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn("<svg", html)
        self.assertNotIn("http", html)
        self.assertEqual(tokenizer("inspect", tok, "--export", "lightgbm")[0], 0)

    def test_columns_of_matrices(self):
        numbers, tok = self.path("m.npy"), self.path("tok.json")
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (20, 3), }".ljust(117) + "\n"
        values = [float(i * (c + 1) % 7) for i in range(20) for c in range(3)]
        with open(numbers, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                       + struct.pack("<60d", *values))
        for options in (["--drop", "1"], ["--target", "1", "--strategy", "tree"]):
            code, out, err = tokenizer("fit", numbers, "--out", tok, "--bins", "3", *options,
                                      "--device", "cpu")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual([line.split()[0] for line in out.splitlines()[1:3]], ["0", "2"])
        self.bad_input(["fit", numbers, "--out", tok, "--drop", "3"], 'm.npy" has no column "3"')
        self.bad_input(["fit", numbers, "--out", tok, "--drop", "0,1,2"], "all columns of", "are dropped")
        self.bad_input(["encode", tok, numbers, "--out", self.path("t.npy")],
                       "the matrix has 3 columns, but the tokenizer was fitted on 2")

    def test_two_passes_give_the_same_file(self):
        whole, streamed = self.path("a.json"), self.path("b.json")
        for out, memory in ((whole, "1GiB"), (streamed, "1KiB")):
            code, _, err = tokenizer("fit", self.table(), "--bins", "4", "--out", out,
                                    "--memory", memory, "--device", "cpu", "--drop", "id")
            self.assertEqual((code, err), (0, ""))
        with open(whole, encoding="utf-8") as a, open(streamed, encoding="utf-8") as b:
            self.assertEqual(a.read(), b.read())

    def test_bad_input(self):
        tok, out = self.path("tok.json"), self.path("out.npy")
        ragged = self.path("ragged.csv", "a,b\n1,2\n3\n")
        self.bad_input(["fit", ragged, "--out", tok], ragged, "line 3", "expected 2 fields")
        rows = "".join(f"{i},{i}\n" for i in range(20))
        number = self.path("number.csv", "a,b\n" + rows + "1,forty\n")
        self.bad_input(["fit", number, "--out", tok], "line 22", 'column 2 "b"', "forty", "--missing")
        coded = self.path("coded.csv")
        with open(coded, "wb") as file:
            file.write(b"a,b\nx,caf\xe9\n")
        self.bad_input(["fit", coded, "--out", tok], "line 2", "UTF-8")
        cut = self.path("cut.csv", 'a,b\n1,"x')
        self.bad_input(["fit", cut, "--out", tok], "line 2", "not closed")
        self.bad_input(["fit", self.path("nowhere.csv"), "--out", tok], "nowhere.csv")
        self.bad_input(["fit", number, "--out", tok, "--missing", "forty", "--drop", "B"], 'no column "B"')
        self.assertEqual(tokenizer("fit", number, "--missing", "forty", "--out", tok)[0], 0)
        less = self.path("less.csv", "a\n1\n")
        self.bad_input(["encode", tok, less, "--out", out],
                       'column 1 "b" is missing from the table, which has "a"')
        with open(tok, encoding="utf-8") as file:
            text = file.read()
        for name, changed, words in (
            ("edited.json", text.replace("9.5", "9.25", 1), "edited"),
            ("version.json", text.replace('"version": 1', '"version": 9'), "version"),
            ("half.json", text[: len(text) // 2], "not JSON"),
        ):
            self.assertNotEqual(changed, text)
            self.bad_input(["encode", self.path(name, changed), number, "--out", out], name, words)

    def test_mistakes(self):
        for arguments, words in ((["fit", "x.csv"], "--out is required"),
                                 (["fit", "x.csv", "--out", "y", "--closed", "both"], "closed"),
                                 ([], "expected a subcommand: fit")):
            code, out, err = tokenizer(*arguments)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(words, err)


class Parts(unittest.TestCase):
    """Distributed fits: one process per part."""

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
