"""`causeway prior` on the command line: hashes, pages, progress, errors.

Usage: prior_test.py build/causeway
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import unittest
import xml.etree.ElementTree

import prior_runs
from prior_runs import GRAPH, MLP, RULES, Folder, changed, generate, has_hdf5, prior


class Hashes(unittest.TestCase):
    def test_any_batch_and_threads(self):
        for config in (MLP, GRAPH):
            hashes = {
                generate(*config, "--count", 12, "--hash", *more)
                for more in ([], ["--batch", 1], ["--batch", 5, "--threads", 1], ["--threads", 2])
            }
            self.assertEqual(len(hashes), 1)
            self.assertRegex(hashes.pop(), r"^[0-9a-f]{16}\n$")

    def datasets(self, *arguments):
        report = json.loads(generate(*GRAPH, "--hash", "--json", *arguments))
        return {dataset["index"]: dataset["hash"] for dataset in report["datasets"]}

    def test_shards_are_the_whole(self):
        whole = self.datasets("--count", 11)
        self.assertEqual(list(whole), list(range(11)))
        self.assertEqual(len(set(whole.values())), 11)
        parts = {}
        for i in range(3):
            part = self.datasets("--count", 11, "--shard", f"{i}/3", "--batch", 2)
            self.assertTrue(all(index % 3 == i for index in part))
            parts.update(part)
        self.assertEqual(parts, whole)
        self.assertEqual(self.datasets("--first", 4, "--count", 2),
                         {index: whole[index] for index in (4, 5)})  # fmt: skip
        self.assertEqual(self.datasets("--count", 2, "--shard", "5/6"), {})

    def test_weights_of_a_mix(self):
        """By name, by place, or as an object; families without a weight do not change the hash."""
        mix = changed(RULES, prior="mix", features="1:6")
        by_name = generate(*mix, "--mix", "graph=1,rules=3", "--count", 6, "--hash")
        self.assertEqual(generate(*mix, "--mix", "0,0,0,1,3", "--count", 6, "--hash"), by_name)
        self.assertNotEqual(generate(*mix, "--mix", "graph=1", "--count", 6, "--hash"), by_name)
        four = generate(*mix, "--mix", "0,0.35,0.15,0.5", "--count", 6, "--hash")
        self.assertEqual(generate(*mix, "--count", 6, "--hash"), four)
        code, out, _ = prior("generate", *mix, "--mix", "graph=1,rules=3", "--print-config")
        self.assertEqual((code, json.loads(out)["prior"]["mix"]), (0, [0, 0, 0, 1, 3]))

    def test_hash_depends_on_settings(self):
        base = generate(*MLP, "--count", 3, "--hash")
        for change in ({"seed": 8}, {"missing": "0.1:0.3"}, {"regression": True}, {"rows": 61}):
            command = changed(MLP, **change)
            self.assertNotEqual(generate(*command, "--count", 3, "--hash"), base)


class Mistakes(Folder):
    def mistake(self, codes, words, *arguments, **options):
        code, out, err = prior(*arguments, **options)
        self.assertIn(code, codes, err)
        self.assertEqual(out, "")
        lines = [line for line in err.splitlines() if not line.startswith("run causeway")]
        self.assertEqual(len(lines), 1, err)
        self.assertLess(len(lines[0]), 300)
        self.assertIn(words, lines[0])

    def test_arguments(self):
        base = ["generate", "--count", 3, "--hash"]
        self.mistake([2], "expected a subcommand: generate", )  # fmt: skip
        self.mistake([2], "--out", "generate", "--count", 3)
        self.mistake([2], "--count", "generate", "--hash")
        self.mistake([2], "expected 1 or more", "generate", "--hash", "--count", 0)
        self.mistake([2], "grpah", *base, "--prior", "grpah")
        self.mistake([2], "low:high", *base, "--rows", "many")
        self.mistake([2], "from 0 to N - 1", *base, "--shard", "4/4")
        self.mistake([2], "from 0 to N - 1", *base, "--shard", "1")
        self.mistake([2], "a number", *base, "--missing", "a:b")
        self.mistake([2, 3], "features 0", *base, "--features", 0)
        self.mistake([2, 3], "rows 10:5", *base, "--rows", "10:5")
        self.mistake([2, 3], "exceeds the 5 rows", *base, "--rows", 5, "--classes", "2:10")
        self.mistake([2, 3], "missing", *base, "--missing", "0:2")

    def test_places(self):
        out = [*MLP, "--count", 2, "--out"]
        self.mistake([3], "No such file", "generate", *out, "/no/such/folder/x.npz")
        self.mistake([3], ".h5, .hdf5, .npz or .parquet", "generate", *out, "x.csv")
        self.mistake([3], "No such file", "gallery", *MLP, "--out", "/no/such/x.html")
        (self.folder / "other.npz").write_text("mine")
        self.mistake([3], "--overwrite", "generate", *out, self.folder / "other.npz")
        self.assertEqual((self.folder / "other.npz").read_text(), "mine")
        generate(*out, self.folder / "other.npz", "--overwrite")
        self.mistake([3], "with another seed",
                     "generate", *changed(MLP, seed=8), "--count", 2,
                     "--out", self.folder / "other.npz")  # fmt: skip
        mix = [*changed(MLP, prior="mix"), "--count", 2, "--out", self.folder / "mix.npz", "--mix"]
        generate(*mix, "mlp=1,rules=1")
        self.mistake([3], "with another prior", "generate", *mix, "mlp=1,rules=2")
        if os.geteuid() != 0:
            self.folder.chmod(0o500)
            self.mistake([3], "Permission", "generate", *out, self.folder / "x.npz")
            self.folder.chmod(0o700)

    def test_no_room(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        for name in ["x.npz", "x.parquet", "x"] + (["x.h5"] if has_hdf5() else []):
            self.mistake([3], "File too large", "generate", *MLP, "--count", 100,
                         "--out", self.folder / name, preexec_fn=limit)  # fmt: skip
            self.assertFalse((self.folder / name).exists())

    def test_no_dataset_passes(self):
        self.mistake([3], "attempts were rejected", "generate", "--prior", "graph", "--rows", 4, "--features", 1,
                     "--classes", 4, "--count", 1, "--hash")  # fmt: skip


class Pages(Folder):
    def page(self, *arguments):
        path = self.folder / "page.html"
        code, out, err = prior("gallery", "--quiet", *arguments, "--out", path)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^\S+page\.html: \d+ datasets\n$")
        text = path.read_text("utf-8")
        # Well-formed, and nothing comes from elsewhere.
        root = xml.etree.ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
        self.assertNotRegex(text, r"(?i)<script [^>]*src|<link|@import|url\(|https?://|<img|<iframe")
        return root, text

    def test_gallery(self):
        for config in (GRAPH, MLP, changed(GRAPH, regression=True, missing="0.1:0.3"),
                       changed(GRAPH, features=1),
                       RULES, changed(RULES, regression=True),
                       ["--prior", "mix", "--rows", 50, "--features", "1:4"]):  # fmt: skip
            root, text = self.page(*config, "--count", 4)
            cards = root.findall(".//article")
            self.assertEqual(len(cards), 4)
            for card in cards:
                self.assertGreaterEqual(len(card.findall(".//svg")), 4)
                self.assertTrue(card.findall(".//circle[@class]"))
                nodes = [node for detail in card.findall(".//dl[@class='mechanisms']//dd")
                         for node in detail.text.split(", ")]
                numbers = [text.text for text in card.findall(".//text[@class='number']")]
                self.assertEqual(sorted(nodes), sorted(numbers))
            self.assertIn("prefers-color-scheme: dark", text)
            self.assertNotIn("nan", re.sub(r"<title>.*?</title>|<h2>.*?</h2>", "", text))

    def test_rules_are_named(self):
        root, _ = self.page(*RULES, "--count", 6)
        for card in root.findall(".//article"):
            facts = dict(zip([term.text for term in card.findall(".//dt")],
                             [detail.text for detail in card.findall(".//dd")]))  # fmt: skip
            self.assertRegex(facts["rule"], r"\bx\d")
            index = "".join(card.find("h2").itertext()).split()[1]
            code, out, _ = prior("describe", *RULES, "--index", index)
            self.assertEqual(code, 0)
            self.assertIn(facts["rule"], out)

    def test_commands_make_the_dataset_again(self):
        root, _ = self.page(*GRAPH, "--count", 2, "--first", 5, "--graph-noise")
        for card in root.findall(".//article"):
            facts = [detail.text for detail in card.findall(".//dd")]
            command = "".join(card.find(".//code").itertext()).split()
            self.assertEqual(command[:3], ["causeway", "prior", "generate"])
            again = command[3 : command.index("--out")]
            report = json.loads(generate(*again, "--hash", "--json"))
            self.assertIn(report["datasets"][0]["hash"], facts)


class Words(unittest.TestCase):
    def test_stats(self):
        code, out, err = prior("stats", *GRAPH, "--count", 8, "--quiet")
        self.assertEqual((code, err), (0, ""))
        for words in ("features, mean", "majority class fraction, median", "accepted", "reference"):
            self.assertIn(words, out)
        code, out, _ = prior("stats", *GRAPH, "--count", 8, "--quiet", "--json")
        report = json.loads(out)
        self.assertEqual(report["n_datasets"], 8)
        self.assertEqual(report["reference"]["features_mean"], 51)
        self.assertTrue(1 <= report["statistics"]["features_mean"] <= 6)
        self.assertEqual(set(report["statistics"]), set(report["reference"]))
        shares = [value for key, value in report["statistics"].items() if key.startswith(("acc", "rej"))]
        self.assertAlmostEqual(sum(shares), 1)
        code, out, _ = prior("stats", *GRAPH, "--regression", "--count", 2, "--quiet")
        self.assertEqual(code, 0)
        self.assertNotIn("majority", out)

    def test_describe(self):
        code, out, _ = prior("describe", *GRAPH, "--index", 3)
        self.assertEqual(code, 0)
        self.assertIn("3 of seed 7", out)
        code, out, _ = prior("describe", *GRAPH, "--index", 3, "--json")
        description = json.loads(out)
        self.assertEqual((code, description["index"]), (0, 3))
        self.assertEqual(len(description["features"]), description["n_features"])

    def test_progress(self):
        """A line now and then where stderr is no terminal, none with --quiet."""
        command = [*MLP, "--count", 800, "--threads", 1, "--hash", "--batch", 50]
        code, _, err = prior("generate", *command)
        self.assertEqual(code, 0)
        for line in err.splitlines():
            self.assertRegex(line, r"^causeway: \d+ of 800 datasets, \S+/s, [\d:]+ left$")

    @unittest.skipUnless(shutil.which("script"), "no script(1)")
    def test_progress_bar(self):
        command = [prior_runs.PROGRAM, "prior", "generate", *MLP, "--count", "800", "--threads", "1", "--hash"]
        done = subprocess.run(
            ["script", "-qec", " ".join(command), "/dev/null"],
            capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
        self.assertEqual(done.returncode, 0)
        if "\r" in done.stdout.replace("\r\n", ""):
            self.assertIn("/s, ", done.stdout)


if __name__ == "__main__":
    prior_runs.main()
