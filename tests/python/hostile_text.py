"""Text that is hard to tokenize, and BPE tokenizers made by Hugging Face's `tokenizers`."""

import json
import random

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_TAIL}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_TAIL}|\p{{N}}{{1,3}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_WORDS = (
    "the of don't I'LL we'Ve they're it's 'S 'ſ x'D naïve straße Ǆungla ǅ 中文 日本語 한국어 русский العربية "
    "हिन्दी ไทย 12345 ٣٤٥ ४५६ Ⅷ ½ ² <|endoftext|> <|end <|special|> 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 e\u0301\u0323 "
    "\ufeff \u200b \u200d \u1112\u1161\u11ab Å ﬁ"
).split(" ")
_SPACES = [" ", "  ", "   ", "\n", "\r\n", "\r\n\r\n", "\t", " \n", "\n ", "\r", "\u00a0", "\u3000", "\u2028",
           "\x85", "\x0b", "\x1c", " " * 50]  # fmt: skip
_EDGES = "\ud7ff\ue000\ufffd\uffff\ufffe\x00\x01\x7f\x80\x9f\U0010ffff\U0001ffff\u07ff\u0800"
_DIGITS = "0123456789٠١٢๓߅০𝟘𝟙Ⅻ¾"


def hostile(rng: random.Random, n_bytes: int) -> str:
    """At least n_bytes of text: all planes, combining marks, runs of spaces, line ends, digits of many scripts."""
    parts, size = [], 0
    while size < n_bytes:
        kind = rng.random()
        if kind < 0.35:
            part = rng.choice(_WORDS)
        elif kind < 0.6:
            part = rng.choice(_SPACES) * rng.randint(1, 3)
        elif kind < 0.7:
            part = "".join(chr(rng.randint(32, 126)) for _ in range(rng.randint(1, 12)))
        elif kind < 0.8:
            plane = rng.randint(0, 16) * 0x10000
            points = [plane + rng.randint(0, 0xFFFF) for _ in range(rng.randint(1, 6))]
            part = "".join(chr(point) for point in points if not 0xD800 <= point <= 0xDFFF)
        elif kind < 0.86:
            block = rng.randint(0, 0x310) * 16
            part = "".join(chr(block + rng.randint(0, 15)) for _ in range(rng.randint(1, 8)))
        elif kind < 0.9:
            part = "".join(rng.choice(_EDGES) for _ in range(3))
        elif kind < 0.94:
            part = "".join(rng.choice(_DIGITS) for _ in range(rng.randint(1, 9)))
        elif kind < 0.97:
            part = rng.choice("abAB'") * rng.randint(1, 40)
        else:
            part = "a" + "".join(chr(rng.randint(0x300, 0x36F)) for _ in range(rng.randint(1, 20)))
        parts.append(part)
        size += len(part.encode())
    return "".join(parts)


def pre_tokenizers():
    """Pre-tokenizers by name, as files of well-known models have them."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    def split(regex, behavior="isolated", invert=False):
        return Sequence([Split(Regex(regex), behavior, invert), ByteLevel(add_prefix_space=False, use_regex=False)])

    return {
        "gpt2": ByteLevel(add_prefix_space=False),
        "prefix": ByteLevel(add_prefix_space=True),
        "no_regex": ByteLevel(add_prefix_space=False, use_regex=False),
        "llama3": split(LLAMA3),
        "qwen2": split(QWEN2),
        "gpt4": split(LLAMA3, "removed", True),
        "gpt4o": split(GPT4O),
        "digits": Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]),
        "digit_runs": Sequence([Digits(individual_digits=False), ByteLevel(add_prefix_space=False)]),
        "split_prefix": Sequence([Split(Regex(LLAMA3), "isolated"), ByteLevel(add_prefix_space=True)]),
        "removed": Sequence([Split(",", "removed"), ByteLevel(add_prefix_space=False)]),
    }


def train_bpe(path, pre_tokenizer, vocabulary=2000, ignore_merges=False, nfc=False, texts=()):
    """Trains a byte-level tokenizer, saves it and returns what the package loads from the file."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers
    from tokenizers.pre_tokenizers import ByteLevel

    rng = random.Random(1)
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=ByteLevel.alphabet())  # fmt: skip
    tokenizer.train_from_iterator([hostile(rng, 20_000) for _ in range(5)] + list(texts), trainer)
    tokenizer.add_special_tokens([AddedToken("<|special|>", lstrip=True, rstrip=True)])
    tokenizer.add_tokens(["straße", "e\u0301\u0323"])
    tokenizer.save(str(path))
    return Tokenizer.from_file(str(path))


def train_characters(path, byte_tokens, unknown, fuse, pre_tokenizer=None):
    """A BPE model over characters, with tokens <0x00> ... for the bytes of `byte_tokens`."""
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=unknown, fuse_unk=fuse, byte_fallback=bool(byte_tokens)))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    special = ["</s>"] + ([unknown] if unknown else []) + [f"<0x{byte:02X}>" for byte in byte_tokens]
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(["The quick brown fox. 中文 русский " * 20, __doc__], trainer)
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = [token for token in content["added_tokens"] if not token["content"].startswith("<0x")]
    path.write_text(json.dumps(content))
    return Tokenizer.from_file(str(path))
