"""Models saved by `transformers` are imported, and what is exported is loaded by it, bit for bit."""

import causeway as cw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS = 300, 64, 96, 3, 4


def gpt2(**changes):
    return transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS,
                                   n_head=HEADS, **changes)  # fmt: skip


def llama(**changes):
    return transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LENGTH, hidden_size=WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=2, intermediate_size=160, **changes,
    )  # fmt: skip


CONFIGS = {
    "gpt2": gpt2,
    "gpt2 untied": lambda: gpt2(tie_word_embeddings=False),
    "gpt2 hidden": lambda: gpt2(n_inner=200),
    "llama": llama,
    "llama tied": lambda: llama(tie_word_embeddings=True, rms_norm_eps=1e-5),
}


def twin_of(name, dtype=torch.float32):
    torch.manual_seed(3)
    twin = transformers.AutoModelForCausalLM.from_config(CONFIGS[name]())
    for parameter in twin.parameters():  # no zero biases, no ones in norms
        parameter.data += 0.02 * torch.randn_like(parameter)
    return twin.to(dtype).eval()


def logits_of(twin, tokens):
    with torch.no_grad():
        return twin(torch.from_numpy(tokens)).logits.float().numpy()


def load(folder, dtype):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()


def same_tensors(found, expected):
    assert list(found.state_dict()) == list(expected.state_dict())
    for name, values in expected.state_dict().items():
        assert found.state_dict()[name].dtype == values.dtype
        assert torch.equal(found.state_dict()[name], values), name


@pytest.mark.parametrize("name", CONFIGS)
def test_logits_and_round_trip(name, tmp_path):
    twin = twin_of(name)
    twin.save_pretrained(tmp_path / "theirs")
    ours = cw.gpt.from_huggingface(tmp_path / "theirs")
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (2, LENGTH))
    expected = logits_of(twin, tokens)
    assert np.abs(ours.logits(tokens).numpy() - expected).max() < 1e-4 * np.abs(expected).max()
    cw.gpt.to_huggingface(ours, tmp_path / "ours")
    again = load(tmp_path / "ours", torch.float32)
    same_tensors(again, twin)
    np.testing.assert_array_equal(logits_of(again, tokens), expected)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_bf16(name, tmp_path):
    twin = twin_of(name, torch.bfloat16)
    twin.save_pretrained(tmp_path / "theirs")
    ours = cw.gpt.from_huggingface(tmp_path / "theirs")
    assert {parameter.dtype for parameter in ours.parameters()} == {cw.bf16}
    cw.gpt.to_huggingface(ours, tmp_path / "ours")
    same_tensors(load(tmp_path / "ours", "auto"), twin)


def test_shards(tmp_path):
    twin = twin_of("llama")
    twin.save_pretrained(tmp_path, max_shard_size="200KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    cw.gpt.to_huggingface(cw.gpt.from_huggingface(tmp_path), tmp_path / "ours")
    same_tensors(load(tmp_path / "ours", torch.float32), twin)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_greedy_generation(name, tmp_path):
    twin = twin_of(name)
    for parameter in twin.parameters():
        parameter.data *= 3
    twin.save_pretrained(tmp_path)
    prompt = [5, 7, 11]
    theirs = twin.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False, eos_token_id=None,
                           pad_token_id=0)  # fmt: skip
    found = cw.gpt.from_huggingface(tmp_path).generate(prompt, tokens=20, temperature=0)
    assert len(set(found.tolist())) > 3
    assert found.tolist() == theirs[0, 3:].tolist()
