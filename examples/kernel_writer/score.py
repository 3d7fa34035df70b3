"""Scores a kernel writer on structures that it never saw: the test split of its dataset.

    python examples/kernel_writer/score.py writer --records 500

Prints the shares of its CUDA texts that parse, compile, run, and agree with the interpreter on every
input set of the record.
"""

import argparse
import collections
import json
from pathlib import Path

import causeway as cw
import data

STAGES = ("parses", "compiles", "runs", "agrees")
LONGEST_PROMPT = 300  # tokens; the rest of the model's length is for the answer


def write_kernels(writer, records, batch):
    """The model's CUDA texts, by greedy decoding."""
    texts = []
    for first in range(0, len(records), batch):
        prompts = [data.prompt(record) for record in records[first : first + batch]]
        texts += writer.generate(prompts, tokens=writer.model.config["length"] - LONGEST_PROMPT, temperature=0)
        print(f"{len(texts)} of {len(records)} texts", flush=True)
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("writer", type=Path, help="folder of train.py")
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--out", type=Path, help="file for all texts with their stages")
    args = parser.parse_args()

    writer = cw.gpt.load(args.writer / "model.safetensors", tokenizer=args.writer / "tokenizer.json")
    held_out = data.of_split(cw.pairs.read(args.writer / "pairs"), "test")
    fits = [record for record in held_out if len(writer.tokenizer.encode(data.prompt(record))) <= LONGEST_PROMPT]
    records = fits[: args.records]
    texts = write_kernels(writer, records, args.batch)
    scores = cw.pairs.score(records, texts, workers=args.workers)
    counts = collections.Counter(stage for stage, _ in scores)
    print(f"{len(records)} of {len(held_out)} records of the test split (prompts of up to {LONGEST_PROMPT} tokens)")
    for i, stage in enumerate(STAGES):
        count = sum(counts[later] for later in STAGES[i:])
        print(f"{stage:<10}{count / max(len(records), 1):8.1%}")
    if args.out:
        with args.out.open("w") as file:
            for record, text, (stage, problem) in zip(records, texts, scores, strict=True):
                line = {"id": record["metadata"]["id"], "stage": stage, "problem": problem, "text": text}
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
