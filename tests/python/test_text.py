"""Text: BPE compared with Hugging Face's `tokenizers`, shards, documents, streams."""

import json
import random
import struct
import time
import unicodedata

import causeway as cw
import numpy as np
import pytest
from hostile_text import hostile, pre_tokenizers, train_bpe, train_characters

pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def texts():
    """1.2 MB of hostile text, and edge cases."""
    rng = random.Random(5)
    edges = ["", " ", "\n", "a", "'", "\u0301", "<|endoftext|>", " <|special|> ", "<|special|><|special|>", "a" * 5000,
             " " * 5000, "\r\n" * 3000]  # fmt: skip
    return edges + [hostile(rng, size) for size in [10, 100, 1000, 10_000] * 10 + [100_000] * 10]


def check_equal(path, package, texts):
    ours = cw.text.Tokenizer(path)
    assert sum(len(text.encode()) for text in texts) >= 1_000_000
    expected = package.encode_batch(texts, add_special_tokens=False)
    for text, ids, one in zip(texts, ours.encode_batch(texts), expected, strict=True):
        if ids.tolist() != one.ids:
            at = next((i for i, (a, b) in enumerate(zip(ids, one.ids, strict=False)) if a != b), 0)
            pytest.fail(f"{text[:40]!r}: token {at}: {ids[at : at + 5]}, expected {one.ids[at : at + 5]}")
    assert ours.vocabulary == package.get_vocab_size()
    return ours


@pytest.mark.parametrize(("name", "ignore_merges"), [(name, False) for name in sorted(pre_tokenizers())] + [
    ("gpt2", True), ("llama3", True)])  # fmt: skip
def test_equals_tokenizers(tmp_path, texts, name, ignore_merges):
    package = train_bpe(tmp_path / "t.json", pre_tokenizers()[name], ignore_merges=ignore_merges)
    ours = check_equal(tmp_path / "t.json", package, texts)
    if name in ("gpt2", "llama3", "qwen2", "gpt4o", "digits"):  # the others change the text
        plain = [text.replace("<|special|>", "") for text in texts]  # strips spaces
        for text, ids in zip(plain, ours.encode_batch(plain), strict=True):
            assert ours.decode_bytes(ids) == text.encode()


def test_nfc_equals_tokenizers(tmp_path, texts):
    package = train_bpe(tmp_path / "t.json", pre_tokenizers()["qwen2"], nfc=True)
    check_equal(tmp_path / "t.json", package, texts)


def test_nfc_of_all_characters(tmp_path):
    """Every character among marks, jamo and decompositions is normalized as by the package."""
    from tokenizers import normalizers

    # One token per byte, so that decoding gives the normalized text.
    vocabulary = {character: byte for byte, character in enumerate(byte_alphabet())}
    content = {"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "normalizer": {"type": "NFC"},
               "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}}  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(content))
    ours, package = cw.text.Tokenizer(tmp_path / "t.json"), normalizers.NFC()
    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    decomposed = [unicodedata.normalize("NFD", point) for point in points]
    rng = random.Random(6)
    marks = [chr(point) for point in range(0x300, 0x370)] + ["\u05b0", "\u0f71", "\u3099", "\u1161", "\u11a8", "\U0001d165"]
    texts = ["".join(points[i : i + 4096]) for i in range(0, len(points), 4096)]
    for before, after in [("a", "\u0301\u0323"), ("\u0301", "\u0334"), ("\u1100", "\u11a8"), ("\u09c7", "")]:
        texts += ["".join(before + one + after for one in points[i : i + 4096]) for i in range(0, len(points), 4096)]
    texts += ["".join(one + rng.choice(marks) for one in decomposed[i : i + 4096]) for i in range(0, len(points), 4096)]
    texts += ["".join(rng.choice(marks) for _ in range(5000)) for _ in range(20)]
    for text in texts:
        assert ours.decode_bytes(ours.encode(text)).decode() == package.normalize_str(text)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("unknown", [None, "<unk>"])
@pytest.mark.parametrize("byte_tokens", [range(0), range(256), range(0, 256, 3)], ids=["none", "all", "some"])
def test_characters_and_byte_fallback(tmp_path, texts, byte_tokens, unknown, fuse):
    package = train_characters(tmp_path / "t.json", byte_tokens, unknown, fuse)
    ours = check_equal(tmp_path / "t.json", package, texts)
    if len(byte_tokens) == 256:
        assert all(ours.decode_bytes(ours.encode(text)) == text.encode() for text in texts)


def byte_alphabet():
    """GPT-2's printable characters of the bytes 0 to 255."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def test_unicode_classes(tmp_path):
    """The classes of all code points are those of the package's regular expressions: there is no difference."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    blocks = ["".join(points[i : i + 4096]) for i in range(0, len(points), 4096)]
    vocabulary = {"<unk>": 0, "</s>": 1}
    for name in ["L", "N", "M", "Lu", "Ll", "Lt", "Lm", "Lo", "s"]:
        regex = rf"\{name}" if name == "s" else rf"\p{{{name}}}"
        package = Split(Regex(regex), "removed", invert=True)
        content = {"model": {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": "<unk>"}, "pre_tokenizer":
                   {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": True}}  # fmt: skip
        (tmp_path / "t.json").write_text(json.dumps(content))
        ours = cw.text.Tokenizer(tmp_path / "t.json")  # one <unk> per character of the class
        for block in blocks:
            expected = sum(len(piece) for piece, _ in package.pre_tokenize_str(block))
            if len(ours.encode(block)) != expected:
                differ = [hex(ord(c)) for c in block if len(ours.encode(c)) != len(package.pre_tokenize_str(c))]
                pytest.fail(f"{regex}: {differ[:10]}")


def test_one_long_word(tmp_path):
    """A run of one letter takes O(n log n) time."""
    train_bpe(tmp_path / "t.json", pre_tokenizers()["gpt2"], texts=["a" * 4096] * 5)
    ours = cw.text.Tokenizer(tmp_path / "t.json")
    start = time.monotonic()
    for letter in "a x":
        assert ours.decode(ours.encode(letter * 1_000_000)) == letter * 1_000_000
    assert time.monotonic() - start < 20  # quadratic: hours


def test_tokenizer_interface(tmp_path):
    package = train_bpe(tmp_path / "t.json", pre_tokenizers()["gpt2"])
    ours = cw.text.Tokenizer(tmp_path / "t.json")
    assert ours.end_of_text == package.token_to_id("<|endoftext|>")
    assert ours.token(ours.end_of_text) == b"<|endoftext|>"
    assert ours.encode("héllo").dtype == np.uint32
    assert ours.decode(ours.encode("héllo")) == "héllo"
    assert ours.encode(b"") .tolist() == []
    with pytest.raises(cw.Error, match=r"invalid UTF-8 at byte 2"):
        ours.encode(b"ab\xff")
    with pytest.raises(cw.Error, match=r"no id 99999"):
        ours.decode([99_999])
    with pytest.raises(ValueError, match="integers of 0 or more"):
        ours.decode([-1])
    with pytest.raises(cw.Error, match="absent.json"):
        cw.text.Tokenizer(tmp_path / "absent.json")
    raw = cw.text.Tokenizer("bytes")
    assert raw.encode("hé").tolist() == list("hé".encode())
    assert (raw.vocabulary, raw.end_of_text) == (257, 256)


GOOD = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}


def changed(**changes):
    content = json.loads(json.dumps(GOOD))
    for path, value in changes.items():
        *parents, last = path.split("__")
        at = content
        for parent in parents:
            at = at[parent]
        at[last] = value
    return content


@pytest.mark.parametrize(("content", "message"), [
    (changed(model__type="WordPiece"), "the model is not BPE"),
    (changed(model__vocab=7), "\"vocab\" must be an object"),
    (changed(model__vocab__a=-1), "the id must be an integer"),
    (changed(model__vocab__a=1 << 40), "the id must be an integer"),
    (changed(model__merges=["a c"]), "is not in the vocabulary"),
    (changed(model__merges=["a"]), "merge 0 must be two tokens"),
    (changed(model__merges=[["a", "b", "c"]]), "merge 0 must be two tokens"),
    (changed(model__unk_token="u"), "unk_token \"u\" is not in the vocabulary"),
    (changed(model__dropout=0.1), "\"dropout\" is not supported"),
    (changed(model__end_of_word_suffix="</w>"), "\"end_of_word_suffix\" is not supported"),
    (changed(model__byte_fallback="yes"), "must be true or false"),
    (changed(normalizer={"type": "Lowercase"}), "normalizer \"Lowercase\" is not supported"),
    (changed(pre_tokenizer={"type": "Whitespace"}), "pre-tokenizer \"Whitespace\" is not supported"),
    (changed(pre_tokenizer={"type": "Split", "pattern": {"Regex": "a(b"}, "behavior": "Isolated"}), "not closed"),
    (changed(pre_tokenizer={"type": "Split", "pattern": {"Regex": "a++"}, "behavior": "Isolated"}), "possessive"),
    (changed(pre_tokenizer={"type": "Split", "pattern": {"Regex": "a"}, "behavior": "MergedWithNext"}), "behavior"),
    (changed(decoder={"type": "WordPiece"}), "decoder \"WordPiece\" is not supported"),
    (changed(added_tokens=[{"content": "a", "id": 5}]), "in the vocabulary it is 0"),
    (changed(added_tokens=[{"content": "x", "id": 5, "single_word": True}]), "single_word is not supported"),
    ([], "expected a JSON object"),
])  # fmt: skip
def test_refuses_other_files(tmp_path, content, message):
    (tmp_path / "t.json").write_text(json.dumps(content))
    with pytest.raises(cw.Error) as error:
        cw.text.Tokenizer(tmp_path / "t.json")
    assert message in str(error.value)
    assert "load_tokenizer" in str(error.value)


def test_refuses_invalid_json(tmp_path):
    (tmp_path / "t.json").write_text('{"model": ')
    with pytest.raises(cw.Error, match=r't.json": invalid JSON'):
        cw.text.Tokenizer(tmp_path / "t.json")


def test_end_of_text_is_required(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(GOOD))
    (tmp_path / "a.txt").write_text("ab")
    with pytest.raises(cw.Error, match=r"none of <\|endoftext\|>"):
        cw.text.tokenize(tmp_path / "a.txt", tmp_path / "out", tokenizer=tmp_path / "t.json")
    assert not (tmp_path / "out").exists()


def test_documents(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"q": "1+1", "a": "2"}\n{"q": "é", "a": ""}\n')
    assert list(cw.text.documents(tmp_path, template="{q}=\\n{a}", answer="a")) == [("1+1=\n", "2"), ("é=\n", "")]
    (tmp_path / "b.txt").write_text("x\n--\ny\n")
    assert list(cw.text.documents([tmp_path / "b.txt"], separator="--")) == [("", "x\n"), ("", "y\n")]


def read_shard(path):
    content = path.read_bytes()
    magic, version, n_tokens = struct.unpack("<3i", content[:12])
    dtype = {20240520: "<u2", 20240801: "<u4"}[magic]
    assert version == {20240520: 1, 20240801: 7}[magic]
    ids = np.frombuffer(content[1024:], dtype)
    assert len(ids) == n_tokens
    return ids


def test_tokenize_and_train(tmp_path):
    package = train_bpe(tmp_path / "t.json", pre_tokenizers()["gpt2"])
    rng = random.Random(2)
    records = [{"prompt": hostile(rng, 50), "code": hostile(rng, 300)} for _ in range(200)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    result = cw.text.tokenize(tmp_path / "a.jsonl", tmp_path / "out", tokenizer=tmp_path / "t.json", shard_tokens=7000,
                              template="{prompt}\n{code}", answer="code", validation=0.2, seed=4)  # fmt: skip
    assert sorted(json.loads((tmp_path / "out" / "tokens.json").read_text())) == [
        "end_of_text", "tokenizer", "train", "validation", "vocabulary"]  # fmt: skip
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (tmp_path / "t.json").read_bytes()
    end = package.token_to_id("<|endoftext|>")
    encode = lambda text: package.encode(text, add_special_tokens=False).ids  # noqa: E731
    expected = [([end], encode(r["prompt"] + "\n"), encode(r["code"])) for r in records]
    found = {}
    for part, name in [("train", "train"), ("validation", "val")]:
        shards = sorted((tmp_path / "out").glob(f"{name}_*.bin"))
        ids = np.concatenate([read_shard(shard) for shard in shards])
        assert len(shards) == result[part]["shards"] == -(-len(ids) // 7000)
        assert len(ids) == result[part]["tokens"]
        data = cw.text.TokenData.open(tmp_path / "out" / f"{name}_*.bin", result["vocabulary"])
        np.testing.assert_array_equal(data.read(), ids)
        found[part] = (ids.tolist(), data.targets().tolist())
    assert result["train"]["documents"] + result["validation"]["documents"] == 200
    assert 20 <= result["validation"]["documents"] <= 60
    at = {"train": 0, "validation": 0}
    for parts in expected:  # every document is complete on one side, in order
        ids = sum(parts, [])
        targets = parts[0] + [-100] * len(parts[1]) + parts[2]
        side = next(s for s in at if found[s][0][at[s] : at[s] + len(ids)] == ids)
        assert found[side][1][at[side] : at[side] + len(ids)] == targets
        at[side] += len(ids)
    assert all(at[side] == len(found[side][0]) for side in at)

    data = cw.text.TokenData.open(tmp_path / "out" / "train_*.bin")
    stream = cw.text.TokenStream(data, batch=4, length=64, seed=1)
    tokens, targets = stream.batch(3)
    assert tokens.shape == targets.shape == (4, 64)
    assert tokens.dtype == cw.int64
    both = targets.numpy()[:, :-1]
    same = tokens.numpy()[:, 1:]
    np.testing.assert_array_equal(both[both != -100], same[both != -100])
    assert (both == -100).any()


def test_tokenize_one_document(tmp_path):
    (tmp_path / "a.txt").write_text("x" * 900 + "y" * 100)
    result = cw.text.tokenize(tmp_path / "a.txt", tmp_path / "out", validation=0.1)
    assert read_shard(tmp_path / "out" / "train_000000.bin").tolist() == [256] + [ord("x")] * 900
    assert read_shard(tmp_path / "out" / "val_000000.bin").tolist() == [256] + [ord("y")] * 100
    assert result["validation"] == {"documents": 1, "tokens": 101, "shards": 1}
    with pytest.raises(cw.Error, match="exists and is not empty"):
        cw.text.tokenize(tmp_path / "a.txt", tmp_path / "out")


def test_tokenize_keeps_nothing_after_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"txt": "x"}\n')
    with pytest.raises(cw.Error, match=r'a.jsonl": line 2: no field "text"'):
        cw.text.tokenize(tmp_path / "a.jsonl", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]
    (tmp_path / "b.txt").write_text("a\n--\nb\n")
    with pytest.raises(cw.Error, match="none of 2 documents is in the validation part"):
        cw.text.tokenize(tmp_path / "b.txt", tmp_path / "out", separator="--", validation=1e-9)


def test_token_data():
    data = cw.text.TokenData.from_ids(np.arange(100), np.arange(100) % 10 == 0)
    assert len(data) == 100
    assert data.targets(9, 12).tolist() == [9, -100, 11]
    train, validation = data.split_end(0.25)
    assert train.read().tolist() == list(range(75))
    assert validation.read().tolist() == list(range(75, 100))
    with pytest.raises(cw.Error, match="range outside the data"):
        data.read(90, 101)
    with pytest.raises(cw.Error, match="101 or more"):
        cw.text.TokenStream(data, batch=1, length=100)


def test_stream_equals_numpy():
    """The windows of an epoch, put in order, are the data."""
    data = cw.text.TokenData.from_ids(np.arange(1010))
    stream = cw.text.TokenStream(data, batch=3, length=37, seed=8)
    assert stream.windows_per_epoch == 27
    assert stream.steps_per_epoch == 9
    tokens = np.concatenate([stream.batch(step)[0].numpy() for step in range(9)])
    windows = tokens[np.argsort(tokens[:, 0])]
    start = windows[0, 0]
    assert 0 <= start <= 10
    np.testing.assert_array_equal(windows.ravel(), np.arange(27 * 37) + start)
