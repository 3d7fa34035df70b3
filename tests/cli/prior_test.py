"""`causeway prior` on the command line: hashes, dumps, resume of killed dumps, pages, errors.

Usage: prior_test.py build/causeway. Files are read with NumPy, h5py and pyarrow if they are installed.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
import zlib
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None
try:
    import h5py
except ImportError:
    h5py = None
try:
    import pyarrow.parquet as parquet
except ImportError:
    parquet = None

PROGRAM = ""
# Small and quick: hundreds of datasets a second.
MLP = ["--prior", "mlp", "--rows", "60", "--features", "2:5", "--classes", "2:3", "--seed", "7"]
GRAPH = ["--prior", "graph", "--rows", "64", "--features", "1:6", "--classes", "2:3", "--seed", "7"]
RULES = ["--prior", "rules", "--rows", "80", "--features", "4:9", "--classes", "2", "--seed", "7"]
KEYS = {
    "X", "y", "num_features", "num_datapoints", "single_eval_pos", "num_classes", "index", "hash",
    "max_num_classes", "original_batch_size", "problem_type",
}  # fmt: skip


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


class Dumps(Folder):
    """The same for every format."""

    names = ["dump.npz", "dump.parquet", "dump"]

    def setUp(self):
        super().setUp()
        if has_hdf5():
            self.names = ["dump.h5", *self.names]

    def contents(self, path):
        if path.is_dir():
            return {file.name: file.read_bytes() for file in sorted(path.iterdir())}
        return path.read_bytes()

    def manifest(self, path):
        return json.loads(Path(f"{path}.manifest.json").read_text("utf-8"))

    def test_manifest(self):
        for name in self.names:
            path = self.folder / name
            out = generate(*MLP, "--count", 10, "--batch", 4, "--out", path, "--hash", "--json")
            manifest = self.manifest(path)
            self.assertTrue(manifest["complete"])
            self.assertEqual((manifest["seed"], manifest["count"], manifest["shard"]), (7, 10, "0/1"))
            self.assertEqual(manifest["prior"]["family"], "mlp")
            self.assertEqual(len(manifest["batches"]), 3)
            self.assertIn("causeway", manifest["versions"])
            self.assertEqual(json.loads(out)["n_datasets"], 10)
            self.assertEqual(sorted(file.name for file in self.folder.iterdir()),
                             [name, f"{name}.manifest.json"])  # fmt: skip
            self.setUp()

    def test_killed_runs_resume(self):
        for name in self.names:
            whole = self.folder / f"whole-{name}"
            command = [*MLP, "--count", 320, "--batch", 10, "--threads", 1, "--hash"]
            expected = generate(*command, "--out", whole).splitlines()[-1]
            path = self.folder / name
            kills = 0
            for signal_number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
                process = subprocess.Popen(
                    [PROGRAM, "prior", "generate", *map(str, command), "--out", path],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
                before = self.n_done(path)
                while process.poll() is None and self.n_done(path) < before + 8:
                    time.sleep(0.005)
                process.send_signal(signal_number)
                _, err = process.communicate(timeout=60)
                if signal_number == signal.SIGINT and process.returncode != 0:
                    self.assertEqual(process.returncode, 130)
                    self.assertIn("run the same command again", err)
                kills += process.returncode != 0
                if process.returncode != 0:
                    half = path.exists() and not self.manifest(path)["complete"]
                    self.assertFalse(half, "half a dump has the name of a whole one")
            self.assertGreater(kills, 1)
            out = generate(*command, "--out", path)
            self.assertRegex(out, r"\d+ of them already written")
            self.assertEqual(out.splitlines()[-1], expected)
            self.assertEqual(self.contents(path), self.contents(whole))
            # Once more: all is there.
            out = generate(*command, "--out", path)
            self.assertIn("320 of them already written", out)
            self.assertEqual(out.splitlines()[-1], expected)

    def n_done(self, path):
        try:
            return sum(batch is not None for batch in self.manifest(path)["batches"])
        except FileNotFoundError:
            return 0

    def test_damage_is_repaired_or_reported(self):
        command = [*MLP, "--count", 40, "--batch", 10]
        for name in self.names:
            path = self.folder / name
            generate(*command, "--out", path)
            expected = self.contents(path)
            file = path / "batch-000002.npz" if path.is_dir() else path
            data = bytearray(file.read_bytes())
            # In the numbers of X, which come first.
            at = len(data) // 2
            data[at] ^= 1
            file.write_bytes(data)
            self.assertIn("10 damaged and generated again", generate(*command, "--out", path))
            self.assertEqual(self.contents(path), expected)
            # Cut off: a whole file is named, a file of a folder made again.
            file.write_bytes(data[: len(data) // 3])
            if path.is_dir():
                self.assertIn("10 damaged", generate(*command, "--out", path))
            else:
                code, _, err = prior("generate", *command, "--out", path)
                self.assertEqual(code, 3)
                self.assertIn("is damaged", err)
                self.assertEqual(len(err.splitlines()), 1)
                generate(*command, "--out", path, "--overwrite")
            self.assertEqual(self.contents(path), expected)
            # The manifest itself.
            manifest = Path(f"{path}.manifest.json")
            manifest.write_text(manifest.read_text("utf-8")[:-30], "utf-8")
            code, _, err = prior("generate", *command, "--out", path)
            self.assertEqual(code, 3)
            self.assertIn("manifest.json", err)
            self.assertIn("is damaged", err)

    @unittest.skipUnless(numpy, "no NumPy")
    def test_npz_by_numpy(self):
        path = self.folder / "dump.npz"
        report = json.loads(
            generate(*MLP, "--count", 7, "--batch", 3, "--shard", "0/1", "--out", path,
                     "--hash", "--json"))  # fmt: skip
        with numpy.load(path) as arrays:
            self.assertEqual(set(arrays), KEYS)
            self.check(arrays, report, arrays["problem_type"][()])
        folder = self.folder / "dump"
        generate(*MLP, "--count", 7, "--batch", 3, "--out", folder)
        batches = [numpy.load(file) for file in sorted(folder.iterdir())]
        with numpy.load(path) as arrays:
            for key in ("X", "y", "hash"):
                joined = numpy.concatenate([batch[key] for batch in batches])
                numpy.testing.assert_array_equal(joined, arrays[key])

    @unittest.skipUnless(h5py, "no h5py")
    def test_hdf5_by_h5py(self):
        if "dump.h5" not in self.names:
            self.skipTest("this build has no HDF5")
        path = self.folder / "dump.h5"
        report = json.loads(
            generate(*MLP, "--count", 7, "--batch", 3, "--out", path, "--hash", "--json"))
        with h5py.File(path, "r") as arrays:
            self.assertEqual(set(arrays), KEYS)
            self.assertEqual(arrays["X"].chunks[0] % 3, 0)
            self.assertEqual(arrays["X"].maxshape[0], None)
            self.check(arrays, report, arrays["problem_type"][()])

    @unittest.skipUnless(parquet, "no pyarrow")
    def test_parquet_by_pyarrow(self):
        path = self.folder / "dump.parquet"
        report = json.loads(
            generate(*MLP, "--count", 7, "--batch", 3, "--out", path, "--hash", "--json"))
        file = parquet.ParquetFile(path)
        self.assertEqual([file.metadata.row_group(i).num_rows for i in range(3)], [3, 3, 1])
        self.assertEqual(str(file.schema_arrow.field("X").type), "list<element: list<element: float not null> not null>")
        table = parquet.read_table(path)
        table.validate(full=True)
        constants = {key.decode(): value.decode() for key, value in file.metadata.metadata.items()}
        arrays = {name: numpy.array(table[name].to_pylist(), numpy.float32 if name in "Xy" else None)
                  for name in table.column_names}
        self.assertEqual(set(arrays) | set(constants), KEYS)
        self.check(arrays | {"max_num_classes": [int(constants["max_num_classes"])]}, report,
                   constants["problem_type"].encode())
        generate(*MLP, "--count", 7, "--batch", 3, "--out", self.folder / "dump.npz")
        with numpy.load(self.folder / "dump.npz") as expected:
            for name, values in arrays.items():
                numpy.testing.assert_array_equal(values, expected[name])
        first = parquet.ParquetFile(path).read_row_group(2, columns=["y"])["y"].to_pylist()
        numpy.testing.assert_array_equal(first[0], arrays["y"][6])

    def check(self, arrays, report, problem_type):
        x, y = arrays["X"][()], arrays["y"][()]
        self.assertEqual((x.shape, str(x.dtype)), ((7, 60, 5), "float32"))
        self.assertEqual((y.shape, str(y.dtype)), ((7, 60), "float32"))
        self.assertEqual(problem_type.decode(), "classification")
        self.assertEqual(arrays["max_num_classes"][0], 3)
        self.assertEqual(list(arrays["index"][()]), list(range(7)))
        hashes = [f"{int(one) & (1 << 64) - 1:016x}" for one in arrays["hash"][()]]
        self.assertEqual(hashes, [dataset["hash"] for dataset in report["datasets"]])
        for k in range(7):
            width = arrays["num_features"][k]
            self.assertTrue(2 <= width <= 5 and not x[k, :, width:].any())
            self.assertTrue(0 < arrays["single_eval_pos"][k] < 60)
            self.assertLessEqual(set(y[k]), set(range(arrays["num_classes"][k])))

    def test_zip_checksums(self):
        """By Python's own zip reader, with or without NumPy."""
        import zipfile

        path = self.folder / "dump.npz"
        generate(*MLP, "--count", 7, "--batch", 3, "--out", path)
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual({name[:-4] for name in archive.namelist()}, KEYS)
            self.assertEqual(zlib.crc32(archive.read("y.npy")), archive.getinfo("y.npy").CRC)

    def test_shards_are_the_whole(self):
        if not numpy:
            self.skipTest("no NumPy")
        generate(*MLP, "--count", 10, "--out", self.folder / "all.npz")
        for i in range(3):
            generate(*MLP, "--count", 10, "--shard", f"{i}/3", "--out", self.folder / f"{i}.npz")
        with numpy.load(self.folder / "all.npz") as whole:
            for i in range(3):
                with numpy.load(self.folder / f"{i}.npz") as part:
                    for key in ("X", "y", "index", "hash", "num_features"):
                        numpy.testing.assert_array_equal(part[key], whole[key][i::3])


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
        command = [PROGRAM, "prior", "generate", *MLP, "--count", "800", "--threads", "1", "--hash"]
        done = subprocess.run(
            ["script", "-qec", " ".join(command), "/dev/null"],
            capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
        self.assertEqual(done.returncode, 0)
        if "\r" in done.stdout.replace("\r\n", ""):
            self.assertIn("/s, ", done.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: prior_test.py build/causeway")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
