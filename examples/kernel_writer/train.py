"""Trains a small GPT to translate kernels of the kernel language to CUDA C++.

    python examples/kernel_writer/train.py --out writer                                # on an H200, 240 seconds
    python examples/kernel_writer/train.py --out writer --pairs 500 --steps 100 --small   # on a CPU

Writes writer/pairs (the dataset), writer/tokenizer.json, writer/run (the run) and writer/model.safetensors,
whose matrices are int8. score.py measures it.
"""

import argparse
import json
import shutil
from pathlib import Path

import causeway as cw
import data
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def train_tokenizer(texts, path, size):
    """Byte-level BPE, with the ids that the C++ tokenizer gives too."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("writer"))
    parser.add_argument("--pairs", type=int, default=120_000)
    parser.add_argument("--level", default="1:5", help="difficulty of the pairs")
    parser.add_argument("--steps", type=int, default=6_000, help="of training; the learning rate decays over them")
    parser.add_argument("--small", action="store_true", help="a model for a CPU")
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    data.generate(args.out / "pairs", args.pairs, args.level)
    records = data.of_split(cw.pairs.read(args.out / "pairs"), "train")
    corpus = args.out / "train.jsonl"
    with corpus.open("w") as file:
        for record in records:
            file.write(json.dumps({key: record[key] for key in ("python_source", "cuda_forward")}) + "\n")
    tokenizer = args.out / "tokenizer.json"
    texts = (data.prompt(record) + record["cuda_forward"] for record in records[:20_000])
    train_tokenizer(texts, tokenizer, 512 if args.small else 2048)

    size = (
        dict(width=128, layers=4, heads=4, length=512, batch=8, learning_rate=2e-3)
        if args.small
        else dict(width=384, layers=9, heads=6, length=1536, batch=48, learning_rate=1.5e-3)
    )
    cw.gpt.train(
        corpus,
        args.out / "run",
        tokenizer=tokenizer,
        template=data.TEMPLATE,
        answer="cuda_forward",
        preset="llama-tiny",
        hidden=size["width"] * 8 // 3 // 64 * 64,
        muon=True,
        validation=0.01,
        evaluate_steps=500,
        sample_tokens=0,
        **size,
        steps=args.steps,
        callback=lambda line: print(f"step {line['step']}  loss {line['loss']:.4f}", flush=True),
    )
    cw.gpt.save(cw.gpt.load(args.out / "run"), args.out / "model.safetensors", int8=True)
    print(f"{args.out}/model.safetensors: {(args.out / 'model.safetensors').stat().st_size / 1e6:.1f} MB")
    shutil.rmtree(args.out / "run" / "checkpoints")


if __name__ == "__main__":
    main()
