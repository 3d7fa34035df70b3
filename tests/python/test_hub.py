"""Models on the Hugging Face Hub, with a module that keeps repositories in a folder, and model cards."""

import shutil
import sys
import types
from pathlib import Path

import causeway as cw
import numpy as np
import pytest

SMALL = {"width": 16, "heads": 2, "hidden": 24, "layers": 1, "thinking": 2, "classes": 3}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A module huggingface_hub whose repositories are folders."""
    module = types.ModuleType("huggingface_hub")
    module.calls = []

    class HfApi:
        def __init__(self, token=None):
            self.token = token

        def create_repo(self, repo_id, *, private=None, exist_ok=False):
            module.calls.append((repo_id, private, exist_ok, self.token))
            (tmp_path / repo_id).mkdir(parents=True, exist_ok=exist_ok)

        def upload_folder(self, *, repo_id, folder_path, revision, commit_message):
            shutil.copytree(folder_path, tmp_path / repo_id, dirs_exist_ok=True)
            return f"{repo_id}@{revision or 'main'}"

    def hf_hub_download(repo_id, filename, *, revision=None, token=None):
        module.calls.append((repo_id, filename, revision, token))
        return str(tmp_path / repo_id / filename)

    module.HfApi, module.hf_hub_download = HfApi, hf_hub_download
    module.folder = tmp_path
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    return module


def same(a, b):
    for name, values in a.state_dict().items():
        np.testing.assert_array_equal(values.numpy(), b.state_dict()[name].numpy())
    assert a.config == b.config


def test_push_and_load(hub):
    model = cw.models.TabularTransformer(**SMALL)
    assert model.push_to_hub("user/tables", private=True, token="t", license="mit") == "user/tables@main"
    assert hub.calls == [("user/tables", True, True, "t")]
    assert sorted(path.name for path in (hub.folder / "user/tables").iterdir()) == ["README.md", "model.safetensors"]
    found = cw.models.TabularTransformer.from_pretrained("user/tables", revision="v1", token="t")
    assert hub.calls[-1] == ("user/tables", "model.safetensors", "v1", "t")
    same(found, model)
    model.push_to_hub("user/tables")  # again
    card = (hub.folder / "user/tables" / "README.md").read_text()
    assert 'from_pretrained("user/tables")' in card and "license" not in card


def test_a_folder_and_a_file(tmp_path):
    model = cw.models.TabularTransformer(**SMALL)
    model.save_pretrained(tmp_path / "a" / "model")
    same(cw.models.TabularTransformer.from_pretrained(tmp_path / "a" / "model"), model)
    same(cw.models.TabularTransformer.from_pretrained(tmp_path / "a/model/model.safetensors"), model)
    safetensors = pytest.importorskip("safetensors.numpy")
    stored = safetensors.load_file(tmp_path / "a" / "model" / "model.safetensors")
    np.testing.assert_array_equal(stored["encoder"], model.state_dict()["encoder"].numpy())


def test_the_card_of_a_run(tmp_path):
    done = cw.pretrain("simple", rows=20, features=3, steps=4, log_steps=2, batch=4, device="cpu",
                       evaluate=lambda model: 0.25, **SMALL)
    done.model.save_pretrained(tmp_path, run=done, license="mit")
    front, text = (tmp_path / "README.md").read_text().split("---\n")[1:]
    assert front == ("library_name: causeway\npipeline_tag: tabular-classification\ntags:\n- tabular\n- causeway\n"
                     "license: mit\n")
    assert "up to 3 classes" in text and "| `width` | 16 |" in text and "cw.TabularClassifier(model=model)" in text
    assert "on 16 datasets from the prior `simple`: 4 steps, last loss" in text
    assert "Score of the last evaluation: 0.25." in text
    card = cw.hub.model_card(cw.models.TabularTransformer(**SMALL | {"classes": 0}))
    assert "tabular-regression" in card and "cw.TabularRegressor" in card and "## Training" not in card


def test_mistakes(monkeypatch, tmp_path):
    load = cw.models.TabularTransformer.from_pretrained
    with pytest.raises(cw.FileError, match="has no model.safetensors"):
        load(tmp_path)
    for name in ("nothing", "./a/b", "/no/such", "a/b/c", Path("a/b")):
        with pytest.raises(cw.FileError, match="no such file or folder, and not the name of a repository"):
            load(name)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="pip install huggingface_hub"):
        load("user/name")
