"""causeway gpt tokenize: shards, validation, templates, and what is refused.

Usage: gpt_test.py build/causeway
"""

import array
import json
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


class Tokenize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def run_program(self, *words):
        done = subprocess.run([PROGRAM, "gpt", "tokenize", *words], capture_output=True, text=True, check=False,
                              cwd=self.path)  # fmt: skip
        return done.returncode, done.stdout, done.stderr

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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: gpt_test.py build/causeway")
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
