"""Generates a dump and fits a tokenizer to it over two Dask workers on this machine.

On a cluster, connect the client to its scheduler instead: Client("tcp://scheduler:8786").
"""

import tempfile
from functools import partial
from pathlib import Path

import causeway as cw
import numpy as np
from distributed import Client, LocalCluster


def rows_of(file):
    """The rows of a shard's datasets, without padding."""
    with np.load(file) as dump:
        return np.concatenate([x[:n] for x, n in zip(dump["X"], dump["num_datapoints"])])


def main():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster), \
            tempfile.TemporaryDirectory() as folder:  # fmt: skip
        prior = cw.Prior("mlp", rows=128, features=4, classes=2, seed=7)
        shards = cw.dask.generate(prior, Path(folder, "dump"), 64, shards=4, batch=16, format="npz")
        print("shards:", *(shard.name for shard in shards))
        tokenizer = cw.dask.fit_tokenizer(cw.Tokenizer(bins=16), [partial(rows_of, shard) for shard in shards])
        print("edges of the first column:", tokenizer.bin_edges_[0][:4].round(3), "...")
        whole = cw.Tokenizer(bins=16).fit(np.concatenate([rows_of(shard) for shard in shards]))
        print("equal to one fit:", tokenizer.to_json() == whole.to_json())


if __name__ == "__main__":
    main()
