"""cw.gpt: training and resume, text generation, model files, int8, bad input."""

import copy
import json
import pickle
import signal
import subprocess
import sys
import time

import causeway as cw
import numpy as np
import pytest

TEXT = "".join(f"{i} times {i + 1} is {i * (i + 1)}. Ünïcödé {i % 7} ends.\n" for i in range(120))
SMALL = {"width": 32, "layers": 2, "heads": 4, "length": 32, "batch": 8, "warmup": 5, "learning_rate": 3e-3,
         "log_steps": 10, "seed": 5, "device": "cpu", "sample_tokens": 8}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "corpus.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    cw.gpt.train(corpus, folder, steps=200, **SMALL)
    return folder


@pytest.fixture(scope="module")
def writer(run):
    return cw.gpt.load(run, device="cpu")


def test_train_returns_the_last_line(corpus):
    lines = []
    done = cw.gpt.train(str(corpus), steps=40, callback=lines.append, **SMALL)
    assert [line["step"] for line in lines] == [10, 20, 30, 40]  # the last has the validation loss
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert [("validation_loss" in line) for line in lines] == [False] * 3 + [True]
    assert done["step"] == 40 and done["tokens"] == 40 * 8 * 32 and done["interrupted"] is False
    assert done["loss"] == lines[-1]["loss"] and done["validation_loss"] > 0
    assert done["sample"].startswith("\n")


def test_resume_equals_an_unbroken_run(corpus, tmp_path):
    options = SMALL | {"decay": "constant"}
    cw.gpt.train(corpus, tmp_path / "whole", steps=12, **options)
    cw.gpt.train(corpus, tmp_path / "parts", steps=5, **options)
    first = (tmp_path / "parts/model.safetensors").read_bytes()
    done = cw.gpt.train(out=tmp_path / "parts", resume=True, steps=12, device="cpu")
    assert done["step"] == 12
    whole = (tmp_path / "whole/model.safetensors").read_bytes()
    assert (tmp_path / "parts/model.safetensors").read_bytes() == whole != first


def test_an_exception_of_the_callback_ends_the_run(corpus):
    class Enough(Exception):
        pass

    def stop(line):
        raise Enough

    with pytest.raises(Enough):
        cw.gpt.train(corpus, steps=40, callback=stop, **SMALL)


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import causeway as cw

done = cw.gpt.train(sys.argv[1], sys.argv[2], seconds=100, width=32, layers=2, heads=4, length=32, batch=4,
                    log_steps=1, device="cpu", callback=lambda line: print(line["step"], flush=True))
print("interrupted", done["interrupted"], done["step"])
"""


def test_ctrl_c_saves(corpus, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, corpus, tmp_path / "run"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == "1\n", process.stderr.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    words = out.splitlines()[-1].split()
    assert words[:2] == ["interrupted", "True"] and process.returncode == 0, err
    done = cw.gpt.train(out=tmp_path / "run", resume=True, steps=int(words[2]) + 3, device="cpu")
    assert done["step"] == int(words[2]) + 3 and not done["interrupted"]


GENERATE_FOREVER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import causeway as cw

model = cw.models.GPT("bytes", length=100000, width=64)
print("started", flush=True)
try:
    model.generate([1, 2, 3], tokens=99000)
except KeyboardInterrupt:
    print("interrupted", len(model.generate([1, 2, 3], tokens=4)))
"""


def test_ctrl_c_ends_generation():
    process = subprocess.Popen([sys.executable, "-c", GENERATE_FOREVER], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == "started\n", process.stderr.read()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert out == "interrupted 4\n", err
    assert time.monotonic() - sent < 10


def greedy(model, prompt, count):
    """The most probable tokens, from the logits of the whole sequence."""
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(model.logits([ids]).numpy()[0, -1].argmax()))
    return ids[len(prompt) :]


CONFIGS = {
    "gpt2": {},
    "llama": {"norm": "rms", "positions": "rotary", "activation": "swiglu", "bias": False, "kv_heads": 2,
              "tied_head": False},
}  # fmt: skip


@pytest.mark.parametrize("config", CONFIGS)
def test_the_cache_changes_nothing(config):
    model = cw.models.GPT("bytes", width=32, layers=2, heads=4, length=40, vocabulary=101, generator=cw.Generator(3),
                          **CONFIGS[config])  # fmt: skip
    model.load_state_dict({name: 6 * values for name, values in model.state_dict().items()})
    prompts = [[5], [1, 2, 3, 4, 5, 6, 7], list(range(20))]
    together = model.generate(prompts, tokens=16, temperature=0)
    for prompt, made in zip(prompts, together, strict=True):
        expected = greedy(model, prompt, 16)
        assert len(set(expected)) > 2
        assert made.tolist() == expected
        assert model.generate(prompt, tokens=16, temperature=0).tolist() == expected
        assert model.generate(prompt, tokens=16, top_k=1, seed=9).tolist() == expected
    assert model.generate(np.array([prompts[0]]), tokens=3)[0].shape == (3,)
    assert len(model.generate(list(range(38)), tokens=16)) == 2  # the model's length is 40


def test_seeds_and_filters(writer):
    texts = {writer.generate("7 times", 30, seed=seed) for seed in range(4)}
    assert len(texts) > 1
    assert writer.generate("7 times", 30, seed=1) == writer.generate("7 times", 30, seed=1)
    greedy = writer.generate("7 times", 30, temperature=0)
    for options in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"temperature": 1e-4}):
        assert writer.generate("7 times", 30, seed=3, **options) == greedy


def test_prompts_of_different_lengths(writer):
    prompts = ["7", "12 times 13", "", "Ünï"]
    together = writer.generate(prompts, 24, temperature=0)
    assert together == [writer.generate(prompt, 24, temperature=0) for prompt in prompts]
    assert writer.generate([], 24) == []


def test_a_long_prompt_loses_its_beginning(writer):
    long = "1234567890" * 20
    assert writer.generate(long, 8, temperature=0) == writer.generate(long[-24:], 8, temperature=0)


def test_stop_texts(writer):
    whole = writer.generate("7 times", 31, temperature=0)
    end = whole[6:9]
    assert writer.generate("7 times", 31, temperature=0, stop=end) == whole[: whole.index(end)]
    assert writer.generate("7 times", 31, temperature=0, stop=["none", end]) == whole[: whole.index(end)]


@pytest.mark.parametrize("stop", [(), ("ends", "zzzz")])
def test_streamed_pieces_join_to_the_whole(writer, stop):
    options = {"tokens": 31, "temperature": 0.7, "seed": 4, "stop": stop}
    whole = writer.generate("7 times", **options)
    pieces = []
    assert writer.generate("7 times", stream=pieces.append, **options) == whole
    assert len(pieces) > 3 and "".join(pieces) == whole
    assert "".join(writer.generate("7 times", stream=True, **options)) == whole

    prompts = ["7", "Ünï"]
    expected = writer.generate(prompts, **options)
    joined = ["", ""]
    for index, piece in writer.generate(prompts, stream=True, **options):
        joined[index] += piece
    assert joined == expected


def test_an_iterator_can_be_left(writer):
    pieces = writer.generate("7", tokens=31, stream=True)
    assert next(pieces)
    pieces.close()
    with pytest.raises(cw.InvalidArgument, match="top_p"):
        next(writer.generate("7", top_p=0, stream=True))


def text_windows():
    ids = cw.text.Tokenizer("bytes").encode(TEXT).astype(np.int64)
    return ids[: len(ids) // 33 * 33].reshape(-1, 33)


def perplexity(model):
    ids = text_windows()
    return np.exp(model.loss(ids[:, :-1], ids[:, 1:]).item())


def perplexity_of(logits, targets):
    wide = logits.astype(np.float64)
    chances = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
    return np.exp(-np.take_along_axis(chances, targets[..., None], -1).mean())


def test_save_and_load(writer, run, tmp_path):
    cw.gpt.save(writer, tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()
    again = cw.gpt.load(tmp_path / "a.safetensors", device="cpu")
    assert again.model.config == writer.model.config and again.tokenizer.vocabulary == 257
    assert isinstance(again.model, cw.models.GPT) and not again.model.training
    assert again.generate("7 times", 20, seed=2) == writer.generate("7 times", 20, seed=2)


def test_int8(writer, tmp_path):
    cw.gpt.save(writer.model, tmp_path / "f32.safetensors")
    cw.gpt.save(writer.model, tmp_path / "i8.safetensors", int8=True)
    stored = cw.load_safetensors(tmp_path / "i8.safetensors")
    assert {values.dtype for name, values in stored.items() if name.endswith("qkv.weight")} == {cw.i8}
    sizes = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("i8", "f32")]
    assert sizes[0] < 0.45 * sizes[1]
    rounded = cw.gpt.load(tmp_path / "i8.safetensors", device="cpu")
    before, after = perplexity(writer.model), perplexity(rounded.model)
    assert before < 8, "the model learned nothing"
    assert before != after and abs(after / before - 1) < 0.01
    # Rounding rounded weights changes nothing, so decoding in int8 is decoding these weights.
    decoder = cw.gpt.load(tmp_path / "i8.safetensors", device="cpu", int8=True)
    expected = rounded.generate("7 times", 20, temperature=0)
    for _ in range(2):
        assert decoder.generate("7 times", 20, temperature=0) == expected


def test_int8_activations(writer):
    """Matrices and activations of 8 bits, as for prompts: the perplexity changes by less than 1%."""
    ids = text_windows()
    plain = writer.model.logits(ids[:, :-1]).numpy()
    rounded = writer.model.logits(ids[:, :-1], int8=True).numpy()
    assert rounded.shape == plain.shape and 0 < np.abs(rounded - plain).max() < 1
    before, after = (perplexity_of(logits, ids[:, 1:]) for logits in (plain, rounded))
    assert before == pytest.approx(perplexity(writer.model), rel=1e-4)
    assert before != after and abs(after / before - 1) < 0.01


def test_copies(writer):
    tokens = np.arange(20)[None]
    expected = writer.model.logits(tokens).numpy()
    for other in (copy.deepcopy(writer.model), pickle.loads(pickle.dumps(writer.model))):
        assert other.config == writer.model.config
        np.testing.assert_array_equal(other.logits(tokens).numpy(), expected)


TOKENIZER = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
             "added_tokens": [{"id": 300, "content": "<|endoftext|>", "special": True, "normalized": False}]}  # fmt: skip


def test_tokenizer_of_the_folder(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(TOKENIZER))
    (tmp_path / "text.txt").write_text("ababbaab" * 300)
    cw.gpt.train(tmp_path / "text.txt", tmp_path / "run", tokenizer=tmp_path / "t.json", preset="bytes", steps=3,
                 **SMALL)  # fmt: skip
    writer = cw.gpt.load(tmp_path / "run", device="cpu")
    assert writer.tokenizer.vocabulary == 301 == writer.model.config["vocabulary"]
    assert set(writer.generate("ab", 5, top_k=1)) <= set("ab")
    (tmp_path / "run/tokenizer.json").unlink()
    with pytest.raises(cw.InvalidArgument, match="tokenizer.json"):
        cw.gpt.load(tmp_path / "run", device="cpu")
    assert cw.gpt.load(tmp_path / "run", device="cpu", tokenizer=tmp_path / "t.json").tokenizer.vocabulary == 301


def test_bad_input_of_generate(writer, run, tmp_path):
    model = writer.model
    for call, words in [
        (lambda: model.generate([1, 257]), "token id 257"),
        (lambda: model.generate([-1]), "token id -1"),
        (lambda: model.generate([0] * 33), "33 tokens; the model's length is 32"),
        (lambda: model.generate([]), "0 tokens"),
        (lambda: model.generate([1], tokens=0), "tokens: expected 1 or more"),
        (lambda: model.generate([1], temperature=-1), "temperature"),
        (lambda: writer.generate("x", top_p=2), "top_p"),
        (lambda: writer.generate("x", min_p=-1), "min_p"),
        (lambda: cw.gpt.load(tmp_path / "none"), "none"),
    ]:
        with pytest.raises(cw.Error, match=words):
            call()
    with pytest.raises(TypeError, match="token ids"):
        model.generate([0.5])
    (tmp_path / "t.json").write_text(json.dumps(TOKENIZER))
    with pytest.raises(cw.InvalidArgument, match="301 ids, the model 257"):
        cw.gpt.load(run, device="cpu", tokenizer=tmp_path / "t.json")
    cw.save_safetensors(tmp_path / "other.safetensors", {"a": cw.zeros((2,))})
    with pytest.raises(cw.Error, match="is not a GPT model"):
        cw.gpt.load(tmp_path / "other.safetensors")
    (tmp_path / "empty.safetensors").write_bytes(b"")
    with pytest.raises(cw.Error, match="empty.safetensors"):
        cw.gpt.load(tmp_path / "empty.safetensors")


def test_bad_input_of_train(corpus, run, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "short.txt").write_text("short")
    for data, options, words in [
        (tmp_path / "empty.txt", {}, "empty.txt"),
        (tmp_path / "short.txt", {}, "32"),
        (tmp_path / "none.txt", {}, "none.txt"),
        (None, {}, "data: expected text files"),
        (corpus, {"steps": 0}, "steps: expected 1 or more"),
        (corpus, {"heads": 3}, "not a multiple of heads"),
        (corpus, {"preset": "huge"}, 'unknown preset "huge"'),
        (corpus, {"batch": 8, "micro_batch": 3}, "micro_batch 3"),
        (corpus, {"out": run}, "already holds a run"),
        (corpus, {"resume": True}, "pass out="),
    ]:
        with pytest.raises(cw.Error, match=words):
            cw.gpt.train(data, **{"steps": 3} | SMALL | options)
    with pytest.raises(TypeError, match="did you mean 'width'"):
        cw.gpt.train(corpus, widht=3)


def test_documented():
    for name in ("steps", "seconds", "preset", "micro_batch", "learning_rate"):
        assert f"    {name}: " in cw.gpt.train.__doc__
