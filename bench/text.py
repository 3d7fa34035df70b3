"""Text tokenization, and Hugging Face's `tokenizers` in the same run.

    PYTHONPATH=build/python python3 bench/text.py [--threads N] [--megabytes 20]

Prints MB/s of both for the pre-tokenizers of GPT-2 and Llama 3, with a vocabulary of 32,768 that is trained on a
part of the text: Python's standard library, one document per file. Another row has hostile Unicode. Each
number is the best of three runs, alternating between both.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of both [1]")
    parser.add_argument("--megabytes", type=float, default=20, help="text per case [20]")
    return parser.parse_args()


def standard_library(n_bytes):
    texts, size = [], 0
    for path in sorted(Path(os.__file__).parent.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        text = path.read_bytes().decode(errors="replace")
        texts.append(text)
        size += len(text.encode())
        if size >= n_bytes:
            break
    return texts


def best(functions, repeats=3):
    """The shortest time of each function, called in turn."""
    times = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def main():
    options = arguments()
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import causeway as cw
    import tokenizers
    from hostile_text import hostile, pre_tokenizers, train_bpe

    cw.set_threads(options.threads)
    n_bytes = int(options.megabytes * 1e6)
    code = standard_library(n_bytes)
    rng = random.Random(3)
    corpora = {"standard library": code, "hostile Unicode": [hostile(rng, 20_000) for _ in range(n_bytes // 20_000 // 4)]}
    print(f"causeway {cw.__version__}, tokenizers {tokenizers.__version__}, {options.threads} threads")
    for name in ["gpt2", "llama3"]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            package = train_bpe(path, pre_tokenizers()[name], 32_768, texts=code[::4])
            ours = cw.text.Tokenizer(path)
        for corpus, texts in corpora.items():
            size = sum(len(text.encode()) for text in texts) / 1e6
            seconds = best([lambda: ours.encode_batch(texts), lambda: package.encode_batch_fast(texts)])  # noqa: B023
            print(f"{name:7} {corpus:17} {size:5.1f} MB  causeway {size / seconds[0]:6.1f} MB/s  "
                  f"tokenizers {size / seconds[1]:6.1f} MB/s  {seconds[1] / seconds[0]:5.1f}x")  # fmt: skip


if __name__ == "__main__":
    main()
