"""Custom models in cw.pretrain."""

import causeway as cw
import numpy as np
import pytest
from causeway import nn

SMALL = {
    "rows": 24, "features": 3, "classes": 2, "batch": 8, "warmup": 2, "log_steps": 1, "steps": 6, "seed": 5,
    "train_share": 0.5, "device": "cpu",
}  # fmt: skip


class Nearest(nn.Module):
    """Attention from query rows to context rows, whose labels are the values."""

    def __init__(self, features=3, classes=2, width=8, dropout=0.0):
        super().__init__()
        cw.manual_seed(3)
        self.embed = nn.Linear(features, width)
        self.drop = nn.Dropout(dropout)
        self.classes = classes
        self.calls = []

    def forward(self, x, y, n_context):
        self.calls.append((x.shape, y.shape, n_context))
        h = self.drop(self.embed(x))
        weights = (h[:, n_context:] @ h[:, :n_context].transpose(1, 2)).softmax(dim=-1)
        labels = cw.nn.functional.one_hot(y.to("i64"), self.classes).to("f32")
        return (weights @ labels + 1e-3).log()


def train(model, prior="simple", **options):
    return cw.pretrain(prior, model=model, **SMALL | options)


def losses(done):
    return [line["loss"] for line in done.log]


def sign(rng, rows, features, classes):
    x = rng.normal(size=(rows, features))
    return x, x[:, 0] > 0


def test_it_is_trained():
    model = Nearest()
    before = model.embed.weight.numpy().copy()
    done = train(model, sign, steps=300, learning_rate=3e-2, log_steps=50)
    assert done.model is model and done.config["custom_model"] == "Nearest"
    assert losses(done)[-1] < 0.5 * losses(done)[0]
    assert (model.embed.weight.numpy() != before).any()
    assert set(model.calls) == {((8, 24, 3), (8, 12), 12)}


def test_the_loss_is_the_mean_over_query_rows():
    model = Nearest()
    expected = []
    prior = cw.Prior("simple", **{key: SMALL[key] for key in ("rows", "features", "classes", "seed", "train_share")})
    batch = prior.batch(8)
    for k in range(8):
        n = int(batch.n_train[k])
        logits = model(batch.x[k : k + 1], batch.y[k : k + 1, :n], n)
        expected.append(nn.functional.cross_entropy(logits[0], batch.y[k, n:].to("i64")).item())
    done = train(model, steps=1, window_steps=1)
    np.testing.assert_allclose(losses(done)[0], np.mean(expected), rtol=1e-5)


def test_tables_of_different_sizes_are_passed_in_groups():
    model = Nearest()
    done = train(model, rows=(16, 24), train_share=(0.3, 0.8), steps=2)
    assert len(model.calls) > 4 and np.isfinite(losses(done)).all()
    for (n_tables, n_rows, _), y_shape, n_context in model.calls:
        assert y_shape == (n_tables, n_context) and 0 < n_context < n_rows


def test_resume_with_dropout(tmp_path):
    whole = train(Nearest(dropout=0.3))
    train(Nearest(dropout=0.3), steps=3, out=tmp_path)
    with pytest.raises(cw.InvalidArgument, match=r"with the model Nearest; .*\(model=...\)"):
        cw.pretrain(out=tmp_path, resume=True, steps=6, device="cpu")
    done = cw.pretrain(model=Nearest(dropout=0.3), out=tmp_path, resume=True, steps=6, device="cpu")
    assert losses(done) == losses(whole)[3:]
    stored = cw.load_safetensors(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(stored["embed.weight"].numpy(), whole.model.embed.weight.numpy())


def test_batches_and_evaluation():
    def batch(k):
        x = np.random.default_rng(k).normal(size=(4, 20, 3)).astype(np.float32)
        return x, (x[:, :, 0] > 0).astype(np.int64), 10

    model = Nearest()
    seen = []

    def score(found):
        seen.append(found)
        assert not found.training
        return -1.0

    done = cw.pretrain(batches=[batch(k) for k in range(5)], model=model, classes=2, evaluate=score, log_steps=1,
                       device="cpu")
    assert len(done.log) == 5 and seen == [model] and model.training and done.log[-1]["score"] == -1


class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Linear(3, 1)

    def forward(self, x, y, n_context):
        return self.weight(x[:, n_context:])

    def loss(self, logits, y):
        return ((logits[:, :, 0] - y) ** 2).mean()


def test_regression_with_a_loss():
    done = train(Mean(), classes=None, regression=True, steps=3)
    assert np.isfinite(losses(done)).all() and done.log[-1]["mfu"] == 0
    with pytest.raises(cw.InvalidArgument, match=r"for regression, expected a method loss\(logits, y\)"):
        train(Nearest(), classes=None, regression=True)


def test_mistakes():
    class Wrong(Nearest):
        def forward(self, x, y, n_context):
            return super().forward(x, y, n_context)[:, 1:]

    class Few(Nearest):
        def forward(self, x, y, n_context):
            return super().forward(x, y, n_context)[:, :, :1]

    class Arrays(Nearest):
        def forward(self, x, y, n_context):
            return super().forward(x, y, n_context).detach().numpy()

    with pytest.raises(cw.InvalidArgument, match=r"Wrong.forward.*= \(8, 12, 2 or more outputs\), got \(8, 11, 2\)"):
        train(Wrong())
    with pytest.raises(cw.InvalidArgument, match=r"got \(8, 12, 1\)"):
        train(Few())
    with pytest.raises(cw.InvalidArgument, match="expected a cw.Tensor of logits, got ndarray"):
        train(Arrays())
    with pytest.raises(TypeError, match="got model=TabularTransformer; expected an nn.Module with forward"):
        train(cw.models.TabularTransformer())
    with pytest.raises(TypeError, match="'width' is a setting of the built-in model"):
        train(Nearest(), width=32)
    with pytest.raises(TypeError, match="pass a function instead of CSV files"):
        train(Nearest(), evaluate=["a.csv"])
