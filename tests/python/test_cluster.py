"""cw.dask and cw.ray on local clusters of two workers, one of which is killed while it runs a shard.

CAUSEWAY_TEST_CLUSTER names the engine. By default it is dask, and test_ray runs the tests on Ray in a process
of their own.
"""

import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import causeway as cw
import numpy as np
import pytest
from causeway import cluster


def runs(pid):
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class DaskCluster:
    def __init__(self):
        import dask

        dask.config.set({"distributed.scheduler.allowed-failures": 1})
        self.jobs, self._delayed = cw.dask, dask.delayed
        self._start()

    def _start(self):
        import distributed

        self._cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
        self._client = distributed.Client(self._cluster)
        self._client.wait_for_workers(2, timeout=120)
        self._pids = list(self._client.run(os.getpid).values())

    def ready(self):
        """Replaces a cluster in which a test has killed a worker: on busy cores Dask starts it again late or
        not at all."""
        if not all(runs(pid) for pid in self._pids):
            self.close()
            self._start()

    def busy(self):
        """Process ids of the workers that have a shard."""
        pids = self._client.run(os.getpid)
        return [pids[worker] for worker, tasks in self._client.processing().items() if tasks and worker in pids]

    def promise(self, value):
        return self._delayed(value)

    def close(self):
        self._client.close()
        self._cluster.close()


class RayCluster:
    # On busy cores its processes start late, and workers of the lowest priority, the default, hardly run.
    # Versions of Ray that do not have a setting ignore it.
    ENVIRONMENT = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_agent_register_timeout_ms": "300000",
        "RAY_gcs_server_port_wait_time_s": "300",
        "RAY_worker_niceness": "0",
        "RAY_worker_register_timeout_seconds": "300",
        "RAY_AUTH_MODE": "token",
    }

    def __init__(self):
        # A token that Ray makes would be stored in the home folder.
        os.environ.update(self.ENVIRONMENT, RAY_AUTH_TOKEN=secrets.token_hex(32))
        import ray

        self.jobs, self._ray = cw.ray, ray
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
        self._session = ray._private.worker._global_node.get_session_dir_path()

    def ready(self):
        """Ray starts workers when it needs them."""

    def busy(self):
        """Process ids of the workers that have a shard: Ray names their processes."""
        pids = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "cmdline").read_bytes().startswith(b"ray::_shard"):
                    parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                    if self._session in Path("/proc", parent, "cmdline").read_text():
                        pids.append(int(folder.name))
            except OSError:
                pass  # it has ended
        return pids

    def promise(self, value):
        return self._ray.put(value)

    def close(self):
        self._ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
        self._ray.shutdown()


ENGINES = {"dask": ("distributed", DaskCluster), "ray": ("ray", RayCluster)}


@pytest.fixture(scope="module", params=[os.environ.get("CAUSEWAY_TEST_CLUSTER", "dask")])
def started_engine(request):
    package, start = ENGINES[request.param]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'causeway[{request.param}]'")
    engine = start()
    yield engine
    engine.close()


@pytest.fixture
def engine(started_engine):
    started_engine.ready()
    return started_engine


class Killer(threading.Thread):
    """Kills a worker once a condition holds."""

    def __init__(self, pid_of):
        super().__init__(daemon=True)
        self.killed, self._pid_of, self._done = None, pid_of, False

    def run(self):
        while self.killed is None and not self._done:
            pid = self._pid_of()
            if pid is None:
                time.sleep(0.002)
                continue
            os.kill(pid, signal.SIGKILL)
            self.killed = pid

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *problem):
        self._done = True
        self.join()


class BlocksOnce:
    """A function whose first call writes its process id and does not end."""

    def __init__(self, file, value):
        self.file, self.value = file, value

    def __call__(self):
        if not self.file.exists():
            self.file.with_suffix(".new").write_text(str(os.getpid()))
            self.file.with_suffix(".new").replace(self.file)
            time.sleep(600)
        return self.value

    def pid(self):
        return int(self.file.read_text()) if self.file.exists() else None


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and ".causeway" not in path.parts and not path.name.startswith(".lock")}


def worker_at_work(engine, out, finished, n_shards):
    """Finds a worker in the middle of a shard that writes to a folder."""
    def pid():
        at_work = any(out.glob(".causeway/scratch/*/*"))
        busy = engine.busy() if at_work else []
        return busy[0] if busy and len(list(out.glob(finished))) < n_shards else None
    return pid


PRIOR = {"family": "mlp", "rows": 64, "features": (2, 5), "classes": 2, "seed": 7}


def generate(engine, out, **settings):
    return engine.jobs.generate(cw.Prior(**PRIOR), out, 40, **({"shards": 4, "batch": 8, "format": "npz"} | settings))


def test_generate_has_the_bytes_of_one_machine(engine, tmp_path):
    out = tmp_path / "cluster"
    with Killer(worker_at_work(engine, out, "shard-*.npz", 4)) as killer:
        made = generate(engine, out, device="cpu")
    assert killer.killed is not None
    (tmp_path / "one").mkdir()
    for i in range(4):
        subprocess.run(
            [sys.executable, "-m", "causeway", "prior", "generate", "--prior", "mlp", "--rows", "64", "--features",
             "2:5", "--classes", "2", "--seed", "7", "--count", "40", "--batch", "8", "--shard", f"{i}/4", "--device",
             "cpu", "--quiet", "--out", tmp_path / "one" / f"shard-{i:05}-of-00004.npz"], check=True,
            stdout=subprocess.DEVNULL)
    assert files(out) == files(tmp_path / "one")
    assert [path.name for path in made] == [f"shard-{i:05}-of-00004.npz" for i in range(4)]
    assert not list(out.glob(".causeway/scratch/*"))


def test_finished_shards_are_kept(engine, tmp_path):
    made = generate(engine, tmp_path, shards=2, format="h5")
    times = [path.stat().st_mtime_ns for path in made]
    data = made[1].read_bytes()
    made[1].unlink()
    assert generate(engine, tmp_path, shards=2, format="h5") == made
    assert made[0].stat().st_mtime_ns == times[0]
    assert made[1].stat().st_mtime_ns != times[1] and made[1].read_bytes() == data
    with pytest.raises(cw.InvalidArgument, match="its batch differs; choose another folder"):
        generate(engine, tmp_path, shards=2, format="h5", batch=4)


def test_fit_has_the_bytes_of_one_fit(engine, rng, tmp_path):
    x = np.stack([rng.normal(size=20_000), rng.integers(0, 5, 20_000), np.exp(5 * rng.normal(size=20_000))], axis=1)
    parts = np.array_split(x, 5)
    np.save(tmp_path / "part.npy", parts[1])
    slow = BlocksOnce(tmp_path / "pid", parts[0])
    tokenizer = cw.Tokenizer(bins=32, dtype="u16")
    given = [slow, tmp_path / "part.npy", engine.promise(parts[2]), *parts[3:]]
    with Killer(slow.pid) as killer:
        fitted = engine.jobs.fit_tokenizer(tokenizer, given)
    assert killer.killed is not None
    assert fitted.to_json() == cw.Tokenizer(bins=32).fit(x).to_json()
    assert fitted.transform(x[:3]).dtype == np.uint16
    assert not hasattr(tokenizer, "_tokenizer")


def test_fit_with_little_memory_counts_again(engine, rng):
    x = rng.normal(size=(30_000, 2))
    fitted = engine.jobs.fit_tokenizer(cw.Tokenizer(bins=16), np.array_split(x, 3), memory=2000)
    assert fitted.to_json() == cw.Tokenizer(bins=16).fit(x).to_json()


def test_pairs_have_the_bytes_of_one_machine(engine, tmp_path):
    out, settings = tmp_path / "cluster", {"seed": 9, "verify": ["run"]}
    with Killer(worker_at_work(engine, out, "dataset-*.json", 4)) as killer:
        assert engine.jobs.pairs(out, 2000, shards=4, **settings) == out
    assert killer.killed is not None
    for i in range(4):
        cw.pairs.write(tmp_path / "one", 2000, shard=f"{i}/4", **settings)
    assert files(out) == files(tmp_path / "one")
    assert len(cw.pairs.read(out)) == 2000


def test_score_equals_cross_validation(engine, rng, tmp_path):
    pytest.importorskip("sklearn")
    pandas = pytest.importorskip("pandas")
    from sklearn.model_selection import cross_val_score

    tables = []
    for _ in range(3):
        x = rng.normal(size=(40, 3))
        tables.append((x, (x[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)))
    frame = pandas.DataFrame(tables[1][0], columns=list("abc")).assign(label=tables[1][1])
    frame.to_csv(tmp_path / "table.csv", index=False)
    slow = BlocksOnce(tmp_path / "pid", tables[0])
    estimator = cw.TabularClassifier(n_estimators=1, device="cpu")
    with Killer(slow.pid) as killer:
        scores = engine.jobs.score(
            estimator, [slow, (tmp_path / "table.csv", "label"), engine.promise(tables[2])], cv=3, scoring="roc_auc")
    assert killer.killed is not None
    expected = [cross_val_score(estimator, x, y, cv=3, scoring="roc_auc") for x, y in tables]
    np.testing.assert_array_equal(scores, expected)


class AlwaysDies:
    def __call__(self):
        os.kill(os.getpid(), signal.SIGKILL)


class TimesOut:
    def __init__(self, after=None):
        self.after = after

    def __call__(self):
        limit = time.monotonic() + 120
        while self.after is not None and not self.after.exists():
            assert time.monotonic() < limit, "the other shard has not started"
            time.sleep(0.01)
        raise TimeoutError("the file server does not answer")


class WaitsWhile:
    """A function that makes a file and ends when it is removed."""

    def __init__(self, file):
        self.file = file

    def __call__(self):
        self.file.touch()
        while self.file.exists():
            time.sleep(0.01)
        return np.zeros((3, 1))


def test_errors_of_workers_reach_the_client(engine, tmp_path):
    with pytest.raises(cw.FileError, match="missing.csv"):
        engine.jobs.fit_tokenizer(cw.Tokenizer(), [tmp_path / "missing.csv"])
    with pytest.raises(TimeoutError, match="the file server"):
        engine.jobs.fit_tokenizer(cw.Tokenizer(), [TimesOut()])
    with pytest.raises(cw.DistributedError, match="lost too many workers"):
        engine.jobs.fit_tokenizer(cw.Tokenizer(), [AlwaysDies()])


def test_an_error_stops_the_other_shards(engine, tmp_path):
    file = tmp_path / "waits"
    with pytest.raises(TimeoutError, match="the file server"):
        engine.jobs.fit_tokenizer(cw.Tokenizer(), [WaitsWhile(file), TimesOut(after=file)])
    limit = time.monotonic() + 60
    while engine.busy():
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert file.exists()
    file.unlink()


def test_calls_that_have_ended_are_not_cancelled():
    class Fails:
        """Its first call fails, and the second one does not end."""
        submit, wait = staticmethod(lambda function, version, job, i: i), staticmethod(lambda handles, seconds: [0])

        def result(self, handle, seconds):
            raise ValueError("failed")

        def cancel(self, handles):
            self.cancelled = handles

    executor = Fails()
    with pytest.raises(ValueError, match="failed"):
        list(cluster.run(executor, "test", None, [(0,), (1,)]))
    assert executor.cancelled == [1]


def test_workers_of_another_version_are_refused(engine, monkeypatch, rng):
    monkeypatch.setattr(cluster, "__version__", "0.0.1")
    with pytest.raises(cw.DistributedError, match=f"has causeway {cw.__version__}, but the client has 0.0.1"):
        engine.jobs.fit_tokenizer(cw.Tokenizer(), [rng.normal(size=(10, 2))])


def test_no_worker_is_an_error(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_PATIENCE", 2.0)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty, distributed.Client(empty) as client:
        with pytest.raises(cw.DistributedError, match="no worker for 2 s, with 1 of 1 shards unfinished"):
            cw.dask.fit_tokenizer(cw.Tokenizer(), [np.zeros((3, 1))], client=client)


def test_bad_arguments(engine, tmp_path):
    with pytest.raises(cw.InvalidArgument, match=r"shards 41: expected 1 to count, which is 40"):
        generate(engine, tmp_path, shards=41)
    with pytest.raises(cw.InvalidArgument, match='format .*expected "h5" or "npz"'):
        generate(engine, tmp_path, format="csv")
    with pytest.raises(TypeError, match="did you mean 'seed'"):
        engine.jobs.pairs(tmp_path, 10, shards=2, sed=1)
    with pytest.raises(cw.InvalidArgument, match="no parts"):
        engine.jobs.fit_tokenizer(cw.Tokenizer(), [])
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(cw.InvalidArgument, match="has other files"):
        generate(engine, tmp_path)


def test_a_folder_that_is_not_shared_is_refused(tmp_path):
    folder = cluster.OutputFolder(tmp_path / "elsewhere", {"job": "generate"})
    with pytest.raises(cw.DistributedError, match="does not see the client's .*elsewhere"):
        folder.require_shared()
    folder.open()
    folder.require_shared()


@pytest.mark.parametrize("name, package", [("dask", "distributed"), ("ray", "ray")])
def test_missing_package_says_what_to_install(name, package):
    code = (f"import sys; sys.modules[{package!r}] = None\nimport causeway\n"
            f"try: causeway.{name}\nexcept ImportError as problem: print(problem)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"pip install 'causeway[{name}]'" in done.stdout


def test_ray(tmp_path):
    """Ray ends the process of the client when one of its checks fails, so it gets a process of its own."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed: pip install 'causeway[ray]'")
    output = tmp_path / "output.txt"
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-k", "[ray]", __file__]
    with tempfile.TemporaryDirectory(prefix="ray-") as folder, output.open("w") as file:  # short, since it has sockets
        environment = os.environ | {"CAUSEWAY_TEST_CLUSTER": "ray", "RAY_TMPDIR": folder}
        try:
            status = subprocess.run(
                command, env=environment, stdout=file, stderr=subprocess.STDOUT, timeout=900).returncode
        except subprocess.TimeoutExpired:
            status = "none after 900 s"
    assert status == 0, output.read_text()
