"""Dumps of `causeway prior generate`: formats, manifests, resume of killed runs, damage.

Usage: prior_dump_test.py build/causeway. Files are read with NumPy, h5py and pyarrow if they are installed.
"""

import json
import signal
import subprocess
import time
import unittest
import zlib
from pathlib import Path

import prior_runs
from prior_runs import MLP, Folder, generate, has_hdf5, prior

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

KEYS = {
    "X", "y", "num_features", "num_datapoints", "single_eval_pos", "num_classes", "index", "hash",
    "max_num_classes", "original_batch_size", "problem_type",
}  # fmt: skip


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
                    [prior_runs.PROGRAM, "prior", "generate", *map(str, command), "--out", path],
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


if __name__ == "__main__":
    prior_runs.main()
