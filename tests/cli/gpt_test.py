"""causeway gpt: tokenize, train, sample, import, export; causeway quantize; what is refused.

Usage: gpt_test.py build/causeway
"""

import array
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""
TOKENIZER = {
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"]},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    "added_tokens": [{"id": 70000, "content": "<|endoftext|>", "special": True, "normalized": False}],
}


def read_shard(path):
    content = path.read_bytes()
    magic, _, n_tokens = struct.unpack("<3i", content[:12])
    ids = array.array({20240520: "H", 20240801: "I"}[magic], content[1024:]).tolist()
    assert len(ids) == n_tokens
    return ids


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def start(self, *words, **variables):
        return subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                                cwd=self.path, env=os.environ | variables)  # fmt: skip

    def finish(self, process):
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def causeway(self, *words):
        return self.finish(self.start(*words))

    def done(self, *words):
        """The standard output of a command that succeeds."""
        code, out, err = self.causeway(*words)
        self.assertEqual(code, 0, err)
        return out

    def refuses(self, words, message, code=3):
        found, out, err = self.causeway(*words)
        self.assertEqual((found, out), (code, ""), err)
        self.assertIn(message, err)
        self.assertEqual(len(err.splitlines()), 2 if code == 2 else 1, err)


class Tokenize(Program):
    def run_program(self, *words):
        return self.causeway("gpt", "tokenize", *words)

    def test_bytes(self):
        (self.path / "a.txt").write_text("hello\n--\nyou\n")
        code, out, err = self.run_program("a.txt", "--out", "tokens", "--separator", "--")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("train: 2 documents, 12 tokens, 1 shards", out)
        self.assertEqual(read_shard(self.path / "tokens/train_000000.bin"),
                         [256, *b"hello\n", 256, *b"you\n"])  # fmt: skip
        self.assertEqual(json.loads((self.path / "tokens/tokens.json").read_text())["tokenizer"], "bytes")

    def test_shards_and_json(self):
        (self.path / "t.json").write_text(json.dumps(TOKENIZER))
        (self.path / "a.txt").write_text("ab abb")
        code, out, _ = self.run_program("a.txt", "--tokenizer", "t.json", "--out", "tokens", "--shard-tokens", "2",
                                        "--json")  # fmt: skip
        self.assertEqual(code, 0)
        result = json.loads(out)
        self.assertEqual(result["train"], {"documents": 1, "tokens": 5, "shards": 3})
        self.assertEqual(result["vocabulary"], 70001)
        shards = sorted((self.path / "tokens").glob("*.bin"))
        self.assertEqual([read_shard(shard) for shard in shards], [[70000, 2], [3, 2], [1]])

    def test_validation_is_reproducible(self):
        (self.path / "a.jsonl").write_text("".join(f'{{"text": "{i:03}"}}\n' for i in range(400)))
        for out, seed, threads in [("one", "1", "1"), ("two", "1", "2"), ("three", "2", "2")]:
            code, _, err = self.run_program("*.jsonl", "--out", out, "--validation", "0.25", "--seed", seed,
                                            "--threads", threads)  # fmt: skip
            self.assertEqual((code, err), (0, ""))
        one, two, three = (read_shard(self.path / name / "val_000000.bin") for name in ["one", "two", "three"])
        self.assertEqual(one, two)
        self.assertNotEqual(one, three)
        train = read_shard(self.path / "one/train_000000.bin")
        documents = [bytes(ids[i + 1 : i + 4]) for ids in (one, train) for i in range(0, len(ids), 4)]
        self.assertEqual(sorted(documents), [b"%03d" % i for i in range(400)])
        self.assertTrue(60 < len(one) / 4 < 140)

    def test_template(self):
        (self.path / "a.jsonl").write_text('{"q": "Q", "a": "A"}\n')
        code, _, err = self.run_program("a.jsonl", "--out", "tokens", "--template", "{q}\\n>{a}", "--answer", "a")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(read_shard(self.path / "tokens/train_000000.bin"), [256, *b"Q\n>A"])
        self.assertEqual((self.path / "tokens/train_000000.mask").read_bytes()[1024:], bytes([0b01110]))

    def test_refuses(self):
        (self.path / "a.jsonl").write_text('{"text": "x"}\n{"text": 7}\n')
        (self.path / "b.txt").write_bytes(b"x\n\xff\n")
        (self.path / "t.json").write_text("{}")
        cases = [
            (["a.jsonl"], 3, 'a.jsonl": line 2: field "text" is no string'),
            (["b.txt"], 3, 'b.txt": line 2: invalid UTF-8'),
            (["none.txt"], 3, "none.txt"),
            (["a.jsonl", "--tokenizer", "t.json"], 3, "t.json"),
            (["a.jsonl", "--validation", "2"], 3, "validation part 2"),
            (["a.jsonl", "--template", "x"], 3, "no field"),
            (["a.jsonl", "--shard-tokens", "0"], 2, "--shard-tokens"),
            ([], 2, "files"),
        ]
        for words, code, message in cases:
            with self.subTest(words):
                found, out, err = self.run_program(*words, "--out", "tokens")
                self.assertEqual((found, out), (code, ""), err)
                self.assertIn(message, err)
                if code == 3:
                    self.assertEqual(len(err.splitlines()), 1)
                self.assertFalse((self.path / "tokens").exists())


SMALL = {"width": "32", "layers": "2", "heads": "4", "length": "32", "batch": "4", "device": "cpu", "log-steps": "5",
         "sample-tokens": "8"}  # fmt: skip


def training(*words, **settings):
    options = SMALL | {name.replace("_", "-"): str(value) for name, value in settings.items()}
    return ["gpt", "train", *words, *(word for name, value in options.items() for word in (f"--{name}", value))]


def safetensors(path):
    """(header without metadata, metadata) of a file."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    return header, header.pop("__metadata__")


class Train(Program):
    def setUp(self):
        super().setUp()
        (self.path / "a.txt").write_text("".join(f"{i} plus 1 is {i + 1}\n" for i in range(300)))

    def train(self, *words, **settings):
        return self.done(*training("--quiet", *words, **settings))

    def model(self, run):
        return (self.path / run / "model.safetensors").read_bytes()

    def test_train_resume_sample(self):
        options = {"data": "a.txt", "decay": "constant"}
        line = json.loads(self.train("--json", out="whole", steps=9, **options))
        self.assertEqual((line["step"], line["tokens"], line["interrupted"]), (9, 9 * 4 * 32, False))
        self.train(out="parts", steps=4, **options)
        self.assertNotEqual(self.model("parts"), self.model("whole"))
        self.train("--resume", out="parts", steps=9)
        self.assertEqual(self.model("parts"), self.model("whole"))
        sample = ["gpt", "sample", "whole", "--prompt", "7 plus", "--tokens", "12", "--device", "cpu"]
        text = self.done(*sample, "--seed", "3")
        self.assertTrue(text.startswith("7 plus"))
        self.assertEqual(self.done(*sample, "--seed", "3"), text)
        found = json.loads(self.done(*sample, "--json", "--samples", "2", "--seed", "3"))["samples"]
        self.assertEqual([sample["tokens"] for sample in found], [12, 12])

    def test_interrupted_run_is_saved(self):
        process = self.start(*training(data="a.txt", out="run", seconds=100))
        self.assertRegex(process.stderr.readline(), r"^memory: needs .* of ")
        self.assertIn("step 5 ", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        code, out, err = self.finish(process)
        self.assertEqual(code, 130, err)
        self.assertIn("resume with: causeway gpt train --out run --resume", out)
        step = int(out.split("interrupted at step ")[1].split(";")[0])
        line = json.loads(self.train("--resume", "--json", out="run", steps=step + 2))
        self.assertEqual(line["step"], step + 2)

    def test_memory_is_planned(self):
        words = training(data="a.txt", steps=2, batch=32, length=128, layers=4)
        code, _, err = self.causeway(*words, "--out", "cut", "--memory", "24MiB")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"memory: needs .* of 24.0 MiB; batches are cut into \d+ micro-batches")
        self.refuses([*words, "--out", "none", "--memory", "1MiB"], "of 1.0 MiB, even with one sequence", code=1)
        self.refuses([*words, "--memory", "much"], "memory", code=2)
        self.assertFalse((self.path / "none").exists())

    def test_dry_run(self):
        words = training("--dry-run", data="a.txt", out="run", steps=100)
        plan = json.loads(self.done(*words, "--json"))
        self.assertEqual(plan["configuration"]["run"]["steps"], 100)
        self.assertLess(plan["memory"]["needed"], plan["memory"]["budget"])
        self.assertGreater(plan["time"]["seconds_at_least"], 0)
        self.assertRegex(self.done(*words), r"\nmemory: needs .*\ntime: at least .* for 100 steps; ")
        self.assertFalse((self.path / "run").exists())
        self.refuses(training("--dry-run", data="absent.txt", steps=1), "absent.txt")

    def test_init(self):
        self.train(data="a.txt", out="first", steps=30, warmup=1, learning_rate=0.01)
        line = json.loads(self.done("gpt", "train", "--data", "a.txt", "--init", "first", "--out", "second", "--steps", "1",
                                    "--batch", "4", "--device", "cpu", "--quiet", "--json"))  # fmt: skip
        self.assertLess(line["loss"], 4)  # 5.5 for random weights
        header, metadata = safetensors(self.path / "second/model.safetensors")
        self.assertEqual(metadata["config"], safetensors(self.path / "first/model.safetensors")[1]["config"])
        start = ["gpt", "train", "--data", "a.txt", "--steps", "1", "--out", "third"]
        self.refuses([*start, "--init", "absent"], "absent")
        self.refuses([*start, "--init", "first", "--preset", "bytes"], "one of the two")
        self.refuses([*start, "--init", "first", "--width", "64", "--quiet"], "width")

    def test_batch_that_ranks_cannot_share(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        words = training("--quiet", data="a.txt", batch=3, steps=2)
        ranks = [self.start(*words, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                            MASTER_PORT=port) for rank in "01"]  # fmt: skip
        for code, _, err in [self.finish(rank) for rank in ranks]:
            self.assertEqual(code, 3, err)
            self.assertIn("a batch of 3 cannot be divided among 2 ranks", err)

    def test_quantize(self):
        self.train(data="a.txt", out="run", steps=5)
        out = self.done("quantize", "run", "--int8", "--out", "small.safetensors")
        sizes = [(self.path / name).stat().st_size for name in ("run/model.safetensors", "small.safetensors")]
        self.assertLess(sizes[1], 0.45 * sizes[0])
        self.assertEqual([line.split(": ")[0] for line in out.splitlines()],
                         ["run/model.safetensors", "small.safetensors"])  # fmt: skip
        result = json.loads(self.done("quantize", "run", "--int8", "--out", "b.safetensors", "--json"))
        self.assertEqual([result["bytes_before"], result["bytes_after"]], sizes)
        result = json.loads(self.done("quantize", "run", "--int8", "--out", "run/model.safetensors", "--json"))
        self.assertEqual([result["bytes_before"], result["bytes_after"]], sizes)
        header, metadata = safetensors(self.path / "small.safetensors")
        self.assertEqual(metadata["model"], "causeway.gpt.1")
        self.assertEqual(header["layers.0.attention.qkv.weight"]["dtype"], "I8")
        self.assertEqual(header["layers.0.attention.qkv.weight.scales"]["shape"], [96])
        self.assertEqual(header["positions"]["dtype"], "F32")
        sample = ["--prompt", "7 plus", "--tokens", "9", "--device", "cpu", "--temperature", "0"]
        self.assertTrue(self.done("gpt", "sample", "small.safetensors", *sample).startswith("7 plus"))

        (self.path / "t.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
        self.refuses(["quantize", "small.safetensors", "--int8", "--out", "c"], "int8 already")
        self.refuses(["quantize", "a.txt", "--int8", "--out", "c"], "a.txt")
        self.refuses(["quantize", "absent", "--int8", "--out", "c"], "absent")
        self.refuses(["quantize", "run", "--out", "c"], "--int8", code=2)
        self.refuses(["quantize", "t.safetensors", "--int8", "--out", "c"], "neither a GPT nor a tabular model")
        self.assertFalse((self.path / "c").exists())

    def test_export_and_import(self):
        (self.path / "t.json").write_text(json.dumps(TOKENIZER | {"added_tokens": [
            {"id": 70, "content": "<|endoftext|>", "special": True, "normalized": False}]}))  # fmt: skip
        (self.path / "ab.txt").write_text("ab abb " * 200)
        self.train(data="ab.txt", tokenizer="t.json", preset="bytes", out="run", steps=3, dtype="bf16")
        out = self.done("gpt", "export", "run", "--out", "hf")
        self.assertRegex(out, r"^hf: \d+ parameters, bf16, tokenizer.json\n$")
        self.assertEqual((self.path / "hf/tokenizer.json").read_text(), (self.path / "t.json").read_text())
        config = json.loads((self.path / "hf/config.json").read_text())
        self.assertEqual((config["model_type"], config["vocab_size"], config["torch_dtype"]), ("gpt2", 71, "bfloat16"))
        header, _ = safetensors(self.path / "hf/model.safetensors")
        self.assertEqual(header["transformer.wte.weight"]["shape"], [71, 32])
        result = json.loads(self.done("gpt", "import", "hf", "--out", "back", "--json"))
        self.assertEqual((result["dtype"], result["tokenizer"]), ("bf16", True))
        sample = ["--tokens", "9", "--seed", "2", "--prompt", "ab", "--device", "cpu"]
        self.assertEqual(self.done("gpt", "sample", "back", *sample), self.done("gpt", "sample", "run", *sample))
        self.done("gpt", "export", "back", "--out", "again")
        self.assertEqual(self.model("again"), self.model("hf"))

        self.refuses(["gpt", "import", "hf", "--out", "back"], "already holds a model")
        self.refuses(["gpt", "export", "hf", "--out", "x"], "is not a GPT model")
        self.refuses(["gpt", "import", "run", "--out", "x"], "model_type")
        (self.path / "hf/config.json").write_text(json.dumps(config | {"n_layer": 3}))
        self.refuses(["gpt", "import", "hf", "--out", "x"], '"h.2.ln_1.weight" is missing')
        self.assertFalse((self.path / "x").exists())

    def test_refused_training(self):
        (self.path / "empty.txt").write_text("")
        (self.path / "bad.bin").write_bytes(b"x" * 2000)
        cases = [
            ({"data": "empty.txt"}, "empty.txt"),
            ({"data": "bad.bin"}, "bad.bin"),
            ({"data": "a.txt", "heads": 5}, "not a multiple of heads"),
            ({}, "data: expected text files"),
        ]
        for settings, message in cases:
            with self.subTest(settings):
                self.refuses(training("--quiet", steps=2, **settings), message)
        code, _, err = self.causeway(*training("--quiet", "--resume", out="absent"))
        self.assertEqual(code, 3)
        self.assertIn('there is no "absent/config.json" and no checkpoint to resume from', err)
        self.assertIn("data: expected text files", err)
        self.refuses(["gpt", "train", "--widht", "3"], "--widht", code=2)
        self.refuses(["gpt", "sample", "absent"], "absent")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: gpt_test.py build/causeway")
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
