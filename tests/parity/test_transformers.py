"""The GPT model against PyTorch and `transformers`, from the same random weights."""

import causeway as cw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

DEVICES = [entry["device"] for entry in cw.devices()]
VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS = 300, 64, 96, 3, 4


def gpt2_twin():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(3)
    twin = transformers.GPT2LMHeadModel(config)
    for parameter in twin.parameters():  # no zero biases, no ones in norms
        parameter.data += 0.02 * torch.randn_like(parameter)
    return twin.train()


def llama_twin():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LENGTH, hidden_size=WIDTH,
        num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=2,
        intermediate_size=160, rms_norm_eps=1e-5, tie_word_embeddings=False,
        attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(4)
    twin = transformers.LlamaForCausalLM(config)
    for parameter in twin.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    return twin.train()


def padded(values, rows):
    return np.concatenate([values, np.zeros((rows - len(values), values.shape[1]), values.dtype)])


def gpt2_state(values, rows):
    """Our names for the values of a GPT-2 by the names of `transformers`."""
    state = {"embedding": padded(values["transformer.wte.weight"], rows),
             "positions": values["transformer.wpe.weight"],
             "norm.weight": values["transformer.ln_f.weight"],
             "norm.bias": values["transformer.ln_f.bias"]}  # fmt: skip
    parts = {"norm_1": "ln_1", "attention.qkv": "attn.c_attn", "attention.projection": "attn.c_proj",
             "norm_2": "ln_2", "mlp.in": "mlp.c_fc", "mlp.out": "mlp.c_proj"}  # fmt: skip
    for i in range(LAYERS):
        for ours, theirs in parts.items():
            weight = values[f"transformer.h.{i}.{theirs}.weight"]
            state[f"layers.{i}.{ours}.weight"] = weight.T.copy() if weight.ndim == 2 else weight
            state[f"layers.{i}.{ours}.bias"] = values[f"transformer.h.{i}.{theirs}.bias"]
    return state


def llama_state(values, rows):
    state = {"embedding": padded(values["model.embed_tokens.weight"], rows),
             "head": padded(values["lm_head.weight"], rows),
             "norm.weight": values["model.norm.weight"]}  # fmt: skip
    joined = {"norm_1": ["input_layernorm"], "norm_2": ["post_attention_layernorm"],
              "attention.qkv": [f"self_attn.{x}_proj" for x in "qkv"],
              "attention.projection": ["self_attn.o_proj"],
              "mlp.in": ["mlp.gate_proj", "mlp.up_proj"], "mlp.out": ["mlp.down_proj"]}  # fmt: skip
    for i in range(LAYERS):
        for ours, theirs in joined.items():
            state[f"layers.{i}.{ours}.weight"] = np.concatenate(
                [values[f"model.layers.{i}.{name}.weight"] for name in theirs]
            )
    return state


def by_name(twin, gradients=False):
    named = dict(twin.named_parameters())
    return {name: (p.grad if gradients else p.detach()).float().numpy() for name, p in named.items()}


MODELS = {
    "gpt2": (gpt2_twin, gpt2_state, {}),
    "gpt2 recompute mlp": (gpt2_twin, gpt2_state, {"recompute": "mlp"}),
    "gpt2 recompute layers": (gpt2_twin, gpt2_state, {"recompute": "layers"}),
    "llama": (llama_twin, llama_state, {
        "norm": "rms", "positions": "rotary", "activation": "swiglu", "bias": False, "kv_heads": 2,
        "hidden": 160, "tied_head": False}),
}  # fmt: skip


def pair(name, device, dtype="f32"):
    make, state_of, changes = MODELS[name]
    twin = make()
    ours = cw.models.GPT("gpt2", vocabulary=VOCABULARY, length=LENGTH, width=WIDTH, layers=LAYERS,
                         heads=HEADS, device=device, dtype=dtype, **changes)  # fmt: skip
    rows = ours.state_dict()["embedding"].shape[0]
    ours.load_state_dict({k: cw.array(v) for k, v in state_of(by_name(twin), rows).items()})
    return ours, twin, lambda values: state_of(values, rows)


def batch(seed=0):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, VOCABULARY, (4, LENGTH + 1))
    targets = tokens[:, 1:].copy()
    targets[0, :7] = -100
    return tokens[:, :-1], targets


def torch_loss(twin, tokens, targets):
    logits = twin(torch.from_numpy(tokens)).logits
    loss = torch.nn.functional.cross_entropy(
        logits.reshape(-1, VOCABULARY), torch.from_numpy(targets).reshape(-1)
    )
    return logits, loss


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MODELS)
def test_logits_loss_and_gradients(name, device):
    ours, twin, renamed = pair(name, device)
    tokens, targets = batch()
    logits, loss = torch_loss(twin, tokens, targets)
    loss.backward()
    expected = logits.detach().numpy()
    got = ours.logits(tokens).numpy()
    assert np.abs(got - expected).max() < 1e-4 * np.abs(expected).max()
    mine = ours.loss(tokens, targets)
    assert abs(mine.item() - loss.item()) < 1e-5 * loss.item()
    mine.backward()
    gradients = {k: p.grad.numpy() for k, p in ours.named_parameters()}
    for key, value in renamed(by_name(twin, gradients=True)).items():
        error = np.abs(gradients[key] - value).max()
        assert error < 1e-4 * np.abs(value).max(), (key, error, np.abs(value).max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_ten_adamw_steps(name, device):
    ours, twin, _ = pair(name, device)
    optimizer = cw.optim.AdamW(list(ours.parameters()), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95))
    peer = torch.optim.AdamW(twin.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95))
    for step in range(10):
        tokens, targets = batch(step)
        mine = ours.loss(tokens, targets)
        mine.backward()
        optimizer.step()
        optimizer.zero_grad()
        _, loss = torch_loss(twin, tokens, targets)
        peer.zero_grad()
        loss.backward()
        peer.step()
        assert abs(mine.item() - loss.item()) < 1e-4 * loss.item(), step


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_bf16(name, device):
    ours, twin, renamed = pair(name, device, "bf16")
    tokens, targets = batch()
    _, loss = torch_loss(twin, tokens, targets)
    loss.backward()
    mine = ours.loss(tokens, targets)
    assert abs(mine.item() - loss.item()) < 2e-3 * loss.item()
    mine.backward()
    gradients = {k: p.grad.to("f32").numpy() for k, p in ours.named_parameters()}
    for key, value in renamed(by_name(twin, gradients=True)).items():
        error = np.linalg.norm(gradients[key] - value) / np.linalg.norm(value)
        assert error < 2e-2, (key, error)
