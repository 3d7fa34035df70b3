"""Models in the format of Hugging Face's transformers, without that package: hand-made folders, imported, run
against NumPy and exported."""

import json
import struct

import causeway as cw
import numpy as np
import pytest

VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS, KV_HEADS, HIDDEN = 37, 12, 32, 2, 4, 2, 48
SIZE = WIDTH // HEADS
GPT2 = {"model_type": "gpt2", "vocab_size": VOCABULARY, "n_positions": LENGTH, "n_embd": WIDTH, "n_layer": LAYERS,
        "n_head": HEADS, "n_inner": HIDDEN, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}  # fmt: skip
LLAMA = {"model_type": "llama", "vocab_size": VOCABULARY, "max_position_embeddings": LENGTH, "hidden_size": WIDTH,
         "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
         "intermediate_size": HIDDEN, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 500.0,
         "tie_word_embeddings": False}  # fmt: skip
TOKENS = np.arange(10) * 7 % VOCABULARY


def gpt2_tensors(rng):
    shapes = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (LENGTH, WIDTH), "ln_f.weight": (WIDTH,),
              "ln_f.bias": (WIDTH,)}  # fmt: skip
    linear = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, HIDDEN),
              "mlp.c_proj": (HIDDEN, WIDTH)}  # fmt: skip
    for i in range(LAYERS):
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"h.{i}.{norm}.weight": (WIDTH,), f"h.{i}.{norm}.bias": (WIDTH,)}
        for name, shape in linear.items():
            shapes |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[1:]}
    return {f"transformer.{name}": draw(rng, shape) for name, shape in shapes.items()}


def llama_tensors(rng):
    shapes = {"model.embed_tokens.weight": (VOCABULARY, WIDTH), "model.norm.weight": (WIDTH,),
              "lm_head.weight": (VOCABULARY, WIDTH)}  # fmt: skip
    linear = {"self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (KV_HEADS * SIZE, WIDTH),
              "self_attn.v_proj": (KV_HEADS * SIZE, WIDTH), "self_attn.o_proj": (WIDTH, WIDTH),
              "mlp.gate_proj": (HIDDEN, WIDTH), "mlp.up_proj": (HIDDEN, WIDTH), "mlp.down_proj": (WIDTH, HIDDEN),
              "input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,)}  # fmt: skip
    for i in range(LAYERS):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in linear.items()}
    return {name: draw(rng, shape) for name, shape in shapes.items()}


def draw(rng, shape):
    return rng.normal(0, 0.3, shape).astype(np.float32)


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def attend(q, k, v):
    """Causal attention of (length, heads, size)."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = np.einsum("qhs,khs->hqk", q, k) / np.sqrt(SIZE)
    scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    return np.einsum("hqk,khs->qhs", softmax(scores), v).reshape(len(q), WIDTH)


def gpt2_logits(t, tokens):
    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * t[f"transformer.{name}.weight"] + t[f"transformer.{name}.bias"]

    def linear(x, name):
        return x @ t[f"transformer.{name}.weight"] + t[f"transformer.{name}.bias"]

    x = t["transformer.wte.weight"][tokens] + t["transformer.wpe.weight"][: len(tokens)]
    for i in range(LAYERS):
        qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").reshape(len(x), 3, HEADS, SIZE)
        x = x + linear(attend(qkv[:, 0], qkv[:, 1], qkv[:, 2]), f"h.{i}.attn.c_proj")
        y = linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        x = x + linear(y, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ t["transformer.wte.weight"].T


def llama_logits(t, tokens, base=500.0):
    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * t[f"model.{name}.weight"]

    def rotate(x):
        angles = np.arange(len(x))[:, None] / base ** (np.arange(0, SIZE, 2) / SIZE)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = x[..., : SIZE // 2], x[..., SIZE // 2 :]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    x = t["model.embed_tokens.weight"][tokens]
    for i in range(LAYERS):
        def linear(x, name, i=i):
            return x @ t[f"model.layers.{i}.{name}.weight"].T

        y = norm(x, f"layers.{i}.input_layernorm")
        q, k, v = (linear(y, f"self_attn.{part}_proj").reshape(len(x), -1, SIZE) for part in "qkv")
        x = x + linear(attend(rotate(q), rotate(k), v), "self_attn.o_proj")
        y = norm(x, f"layers.{i}.post_attention_layernorm")
        gate = linear(y, "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, "mlp.up_proj"), "mlp.down_proj")
    return norm(x, "norm") @ t["lm_head.weight"].T


NAMES = {np.dtype("f4"): "F32", np.dtype("f2"): "F16", np.dtype("u2"): "BF16", np.dtype("u1"): "U8"}


def write_safetensors(path, tensors):
    """uint16 values are the bits of bf16."""
    header, blob = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        data = np.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": NAMES[values.dtype], "shape": list(values.shape),
                        "data_offsets": [len(blob), len(blob) + len(data)]}  # fmt: skip
        blob += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)


def read_safetensors(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    assert header.pop("__metadata__") == {"format": "pt"}
    dtypes = {name: dtype for dtype, name in NAMES.items()}
    found = {}
    for name, entry in header.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        found[name] = np.frombuffer(content[begin:end], dtypes[entry["dtype"]]).reshape(entry["shape"])
    return found


def write(folder, config, tensors):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


MODELS = {"gpt2": (GPT2, gpt2_tensors, gpt2_logits), "llama": (LLAMA, llama_tensors, llama_logits)}


def as_bf16(values):
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def same(found, expected):
    assert sorted(found) == sorted(expected)
    for name, values in expected.items():
        assert found[name].dtype == values.dtype, name
        np.testing.assert_array_equal(found[name], values, name)


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_round_trip(name, rng, tmp_path):
    config, tensors_of, logits_of = MODELS[name]
    tensors = tensors_of(rng)
    model = cw.gpt.from_huggingface(write(tmp_path / "in", config, tensors))
    found = model.logits(TOKENS[None]).numpy()[0]
    expected = logits_of({key: values.astype(np.float64) for key, values in tensors.items()}, TOKENS)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    cw.gpt.to_huggingface(model, tmp_path / "out")
    same(read_safetensors(tmp_path / "out/model.safetensors"), tensors)
    written = json.loads((tmp_path / "out/config.json").read_text())
    assert written["torch_dtype"] == "float32"
    assert {key: written[key] for key in config} == config
    again = cw.gpt.from_huggingface(tmp_path / "out")
    assert again.config == model.config
    np.testing.assert_array_equal(again.logits(TOKENS[None]).numpy()[0], found)


@pytest.mark.parametrize("name", MODELS)
def test_16_bit_files_keep_their_bits(name, rng, tmp_path):
    config, tensors_of, _ = MODELS[name]
    for dtype, convert in {"bf16": as_bf16, "f16": lambda values: values.astype(np.float16)}.items():
        tensors = {key: convert(values) for key, values in tensors_of(rng).items()}
        model = cw.gpt.from_huggingface(write(tmp_path / "in", config, tensors))
        assert next(iter(model.parameters())).dtype == getattr(cw, dtype)
        cw.gpt.to_huggingface(model, tmp_path / dtype)
        same(read_safetensors(tmp_path / dtype / "model.safetensors"), tensors)


def test_mixed_dtypes_become_f32(rng, tmp_path):
    tensors = gpt2_tensors(rng)
    half = {key: values.astype(np.float16) if "ln_" in key else values for key, values in tensors.items()}
    model = cw.gpt.from_huggingface(write(tmp_path, GPT2, half))
    cw.gpt.to_huggingface(model, tmp_path / "out")
    same(read_safetensors(tmp_path / "out/model.safetensors"), {k: v.astype(np.float32) for k, v in half.items()})


def test_gpt2_without_prefix_and_with_buffers(rng, tmp_path):
    tensors = gpt2_tensors(rng)
    bare = {key.removeprefix("transformer."): values for key, values in tensors.items()}
    for i in range(LAYERS):
        bare[f"h.{i}.attn.bias"] = np.tri(LENGTH, dtype=np.uint8)[None, None]
        bare[f"h.{i}.attn.masked_bias"] = np.array(-1e4, np.float32)
    bare["lm_head.weight"] = bare["wte.weight"]
    cw.gpt.to_huggingface(cw.gpt.from_huggingface(write(tmp_path, GPT2, bare)), tmp_path / "out")
    same(read_safetensors(tmp_path / "out/model.safetensors"), tensors)


def test_heads_of_their_own_and_tied_heads(rng, tmp_path):
    tensors = gpt2_tensors(rng) | {"lm_head.weight": draw(rng, (VOCABULARY, WIDTH))}
    model = cw.gpt.from_huggingface(write(tmp_path / "untied", GPT2 | {"tie_word_embeddings": False}, tensors))
    cw.gpt.to_huggingface(model, tmp_path / "out")
    same(read_safetensors(tmp_path / "out/model.safetensors"), tensors)
    with pytest.raises(cw.Error, match='"lm_head.weight" differs from "wte.weight"'):
        cw.gpt.from_huggingface(write(tmp_path / "tied", GPT2, tensors))
    tied = llama_tensors(rng)
    del tied["lm_head.weight"]
    model = cw.gpt.from_huggingface(write(tmp_path / "llama", LLAMA | {"tie_word_embeddings": True}, tied))
    assert model.config["tied_head"]


def test_shards(rng, tmp_path):
    tensors = llama_tensors(rng)
    names = sorted(tensors)
    files = {name: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, name in enumerate(names)}
    for file in set(files.values()):
        write_safetensors(tmp_path / file, {name: tensors[name] for name in names if files[name] == file})
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    cw.gpt.to_huggingface(cw.gpt.from_huggingface(tmp_path), tmp_path / "out")
    same(read_safetensors(tmp_path / "out/model.safetensors"), tensors)
    index.write_text(json.dumps({"weight_map": files | {names[0]: "../x.safetensors"}}))
    with pytest.raises(cw.Error, match="expected the name of a file"):
        cw.gpt.from_huggingface(tmp_path)
    index.write_text(json.dumps({"weight_map": dict.fromkeys(names, "absent.safetensors")}))
    with pytest.raises(cw.Error, match="absent.safetensors"):
        cw.gpt.from_huggingface(tmp_path)


def test_rope_parameters(rng, tmp_path):
    tensors = llama_tensors(rng)
    changed = {key: value for key, value in LLAMA.items() if key != "rope_theta"}
    changed |= {"rope_parameters": {"rope_theta": 300.0, "rope_type": "default"}, "rope_scaling": None}
    model = cw.gpt.from_huggingface(write(tmp_path, changed, tensors))
    assert model.config["rotary_base"] == 300
    found = model.logits(TOKENS[None]).numpy()[0]
    expected = llama_logits({key: values.astype(np.float64) for key, values in tensors.items()}, TOKENS, 300.0)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (GPT2 | {"model_type": "bert"}, '"model_type": "bert" is not supported'),
        (GPT2 | {"activation_function": "relu"}, '"activation_function": "relu" is not supported'),
        (GPT2 | {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        (GPT2 | {"n_embd": "wide"}, '"n_embd": expected an integer'),
        (GPT2 | {"n_head": 3}, "not a multiple of heads"),
        ({"model_type": "gpt2"}, 'no "vocab_size"'),
        (GPT2 | {"vocab_size": 38}, r"wte.weight\" has shape \(37, 32\), but config.json asks for \(38, 32\)"),
        (GPT2 | {"n_layer": 3}, '"h.2.ln_1.weight" is missing'),
        (GPT2 | {"n_layer": 1}, 'unexpected tensor "h.1.attn.c_attn.bias"'),
        (LLAMA | {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, '"rope_scaling" of type "llama3"'),
        (LLAMA | {"rope_parameters": {"rope_type": "yarn"}}, '"rope_parameters" of type "yarn"'),
        (LLAMA | {"attention_bias": True}, '"attention_bias": true is not supported'),
        (LLAMA | {"mlp_bias": True}, '"mlp_bias": true is not supported'),
        (LLAMA | {"hidden_act": "gelu"}, '"hidden_act": "gelu" is not supported'),
        (LLAMA | {"head_dim": 16}, '"head_dim": 16 with 4 heads is not supported'),
        (LLAMA | {"num_key_value_heads": 4}, "k_proj.weight"),
    ],
)
def test_refused_on_import(config, words, rng, tmp_path):
    tensors = gpt2_tensors(rng) if config["model_type"] != "llama" else llama_tensors(rng)
    with pytest.raises(cw.Error, match=words) as caught:
        cw.gpt.from_huggingface(write(tmp_path, config, tensors))
    assert "\n" not in str(caught.value) and tmp_path.name in str(caught.value)


def test_refused_files(tmp_path):
    with pytest.raises(cw.Error, match="config.json"):
        cw.gpt.from_huggingface(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    with pytest.raises(cw.Error, match="model.safetensors"):
        cw.gpt.from_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"norm": "rms"}, "norm: rms"),
        ({"activation": "swiglu"}, "activation: swiglu"),
        ({"bias": False}, "bias: false"),
        ({"kv_heads": 2}, "kv_heads"),
        ({"positions": "rotary", "norm": "rms", "activation": "swiglu"}, "bias: true"),
    ],
)
def test_refused_on_export(settings, words, tmp_path):
    model = cw.models.GPT("bytes", width=32, layers=1, heads=4, **settings)
    with pytest.raises(cw.InvalidArgument, match=words):
        cw.gpt.to_huggingface(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()
