"""Groups of several processes, started with torchrun's variables, and by mpirun if it is installed;
OnGpus with one GPU per rank.

Usage: ranks_test.py ranks-program [--mpirun path] [unittest's arguments].
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest

PROGRAM = ""
MPIRUN = ""
LIMIT = 120  # seconds for a successful run
END = 30  # seconds within which the remaining ranks must stop


def clean_environment(**more):
    launchers = ("OMPI_", "PMI_", "SLURM_", "TORCHELASTIC_", "MASTER_", "CAUSEWAY_DIST")
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(launchers) and k not in names}
    return {**kept, "OMP_NUM_THREADS": "1", **more}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Rank:
    """Output and exit code of one process."""

    def __init__(self, process, limit):
        try:
            self.out, self.err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            self.out, self.err = process.communicate()
            self.err += "\nkilled by the test: it did not exit"
        self.code = process.returncode


def count_gpus():
    if shutil.which("nvidia-smi") is None:
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return listed.stdout.count("UUID: GPU-")


def start(rank, size, port, what, device="cpu", **more):
    variables = dict(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank, MASTER_PORT=port)
    variables = {"MASTER_ADDR": "127.0.0.1", **{k: str(v) for k, v in variables.items()}, **more}
    return subprocess.Popen(
        [PROGRAM, what, device],
        env=clean_environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_tcp(size, what, limit=LIMIT, **more):
    port = free_port()
    processes = [start(rank, size, port, what, **more) for rank in range(size)]
    return [Rank(process, limit) for process in processes]


class Ranks(unittest.TestCase):
    def results(self, size, what, **more):
        ranks = run_tcp(size, what, **more)
        for rank in ranks:
            self.assertEqual(rank.code, 0, rank.err)
        return [re.search(r"rank \d+: (.*)", rank.out)[1] for rank in ranks]

    def lost(self, what, words, size=3, **more):
        """Loses rank 1 through `what`; the others must print `words` and exit with an error soon."""
        before = time.monotonic()
        ranks = run_tcp(size, what, END, **more)
        self.assertLess(time.monotonic() - before, END)
        for number, rank in enumerate(ranks):
            if number == 1:
                continue
            self.assertIn(f"rank {number} is there", rank.out)
            self.assertEqual(rank.code, 1, rank.out + rank.err)
            self.assertIn(words, rank.err)
        return ranks[1]


class OverTcp(Ranks):
    def test_numbers(self):
        self.assertEqual(self.results(3, "numbers"), ["0 3 0", "1 3 1", "2 3 2"])

    def test_one_rank_alone(self):
        done = subprocess.run(
            [PROGRAM, "collectives"], env=clean_environment(), capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_collectives(self):
        for size in (2, 3):
            self.assertEqual(len(set(self.results(size, "collectives"))), 1)

    def test_gradients(self):
        for size in (2, 3):
            self.assertEqual(len(set(self.results(size, "gradients"))), 1)

    def test_pretrain(self):
        for size in (2, 3):
            self.assertEqual(len(set(self.results(size, "pretrain"))), 1)

    def test_gpt(self):
        for size in (2, 3):
            self.assertEqual(len(set(self.results(size, "gpt"))), 1)

    def test_a_rank_killed_in_training(self):
        self.assertEqual(self.lost("die-in-training", "rank 1 is lost").code, -9)

    def test_a_killed_rank_ends_the_others(self):
        self.assertEqual(self.lost("die", "rank 1").code, -9)

    def test_a_killed_rank_ends_those_that_compute(self):
        self.assertEqual(self.lost("die-idle", "rank 1 is lost").code, -9)

    def test_rank_0_killed(self):
        port = free_port()
        processes = [start(rank, 2, port, "stay") for rank in (0, 1)]
        for process in processes:
            self.assertIn("is there", process.stdout.readline())
        processes[0].kill()
        rank = Rank(processes[1], END)
        Rank(processes[0], END)
        self.assertEqual(rank.code, 1, rank.err)
        self.assertIn("rank 0 is lost", rank.err)

    def test_an_error_of_one_rank_ends_the_others(self):
        self.assertIn("no such file", self.lost("throw", "rank 1 failed").err)

    def test_a_rank_that_hangs(self):
        port = free_port()
        limit = {"CAUSEWAY_DIST_TIMEOUT": "2"}
        processes = [start(rank, 2, port, "hang", **limit) for rank in (0, 1)]
        rank = Rank(processes[0], END)
        processes[1].kill()
        Rank(processes[1], END)
        self.assertEqual(rank.code, 1, rank.out)
        self.assertIn("rank 0 waited 2 s for rank 1", rank.err)

    def test_a_stopped_rank(self):
        port = free_port()
        limit = {"CAUSEWAY_DIST_ALIVE_TIMEOUT": "3"}
        processes = [start(rank, 2, port, "stop", **limit) for rank in (0, 1)]
        rank = Rank(processes[0], END)
        processes[1].kill()
        Rank(processes[1], END)
        self.assertEqual(rank.code, 1, rank.out)
        self.assertIn("rank 0 has waited 1 s for a heartbeat of rank 1", rank.err)
        self.assertIn("rank 1 is lost: no heartbeat for 3 s", rank.err)

    def test_shapes_that_differ(self):
        for rank in run_tcp(2, "mismatch", END):
            self.assertEqual(rank.code, 1, rank.out)
            self.assertIn("rank 0 calls all_reduce sum of f32 (4,)", rank.err)
            self.assertIn("rank 1 calls all_reduce sum of f32 (5,)", rank.err)

    def test_wrong_address(self):
        limit = {"CAUSEWAY_DIST_JOIN_TIMEOUT": "2"}
        port = free_port()
        for address, words in (("127.0.0.1", "Connection refused"), ("no.such.invalid", "looked up")):
            rank = Rank(start(1, 2, port, "numbers", MASTER_ADDR=address, **limit), END)
            self.assertEqual(rank.code, 1, rank.out)
            self.assertIn(words, rank.err)
            self.assertIn("MASTER_ADDR", rank.err)

    def test_half_set_variables(self):
        rank = Rank(start(1, 2, 1, "numbers", LOCAL_RANK=""), END)
        self.assertEqual(rank.code, 1)
        self.assertIn("LOCAL_RANK not", rank.err)

    def test_slurm_variables(self):
        port = free_port()
        processes = []
        for rank in (0, 1):
            variables = dict(SLURM_PROCID=rank, SLURM_STEP_NUM_TASKS=2, SLURM_LOCALID=rank)
            variables.update(SLURM_JOB_NODELIST="localhost,other", SLURM_JOB_ID=port - 20000)
            variables = {k: str(v) for k, v in variables.items()}
            if not 20000 <= port < 30000:
                variables.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
            processes.append(
                subprocess.Popen(
                    [PROGRAM, "gradients"],
                    env=clean_environment(**variables),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        for rank in [Rank(process, LIMIT) for process in processes]:
            self.assertEqual(rank.code, 0, rank.err)


class OnGpus(Ranks):
    """NCCL: one rank per GPU, with 2 ranks and with all GPUs up to 8."""

    def setUp(self):
        self.gpus = min(count_gpus(), 8)
        self.need(1)

    def need(self, count):
        if self.gpus < count:
            self.skipTest(f"{self.gpus} GPUs; {count} are needed")

    def test_results(self):
        self.need(2)
        for what in ("collectives", "gradients", "gpt"):
            for size in sorted({2, self.gpus}):
                with self.subTest(what=what, size=size):
                    self.assertEqual(len(set(self.results(size, what, device="cuda"))), 1)

    def test_a_rank_killed_while_graphs_are_replayed(self):
        self.need(2)
        for size in sorted({2, self.gpus}):
            lost = self.lost("die-in-training", "rank 1", size=size, device="cuda")
            self.assertEqual(lost.code, -9)

    def test_two_ranks_on_one_gpu(self):
        for rank in run_tcp(2, "numbers", END, device="cuda", CUDA_VISIBLE_DEVICES="0"):
            self.assertEqual(rank.code, 1, rank.out)
            self.assertIn("ranks 0 and 1 would use the same GPU", rank.err)


class OverMpi(unittest.TestCase):
    def setUp(self):
        if not MPIRUN:
            self.skipTest("this build has no MPI")

    def run_mpi(self, size, what, limit=LIMIT, **more):
        command = [MPIRUN, "-n", str(size), "--allow-run-as-root", "--oversubscribe", PROGRAM, what]
        process = subprocess.Popen(
            command,
            env=clean_environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return Rank(process, limit)

    def results(self, size, what):
        run = self.run_mpi(size, what)
        self.assertEqual(run.code, 0, run.err)
        found = dict(re.findall(r"rank (\d+): (.*)", run.out))
        self.assertEqual(sorted(found), [str(rank) for rank in range(size)])
        return found

    def test_numbers(self):
        self.assertEqual(self.results(3, "numbers"), {"0": "0 3 0", "1": "1 3 1", "2": "2 3 2"})

    def test_collectives(self):
        for size in (2, 3):
            self.assertEqual(len(set(self.results(size, "collectives").values())), 1)

    def test_gradients(self):
        for size in (2, 3):
            self.assertEqual(len(set(self.results(size, "gradients").values())), 1)

    def test_pretrain(self):
        self.assertEqual(len(set(self.results(2, "pretrain").values())), 1)

    def test_same_bits_as_over_tcp(self):
        over_tcp = run_tcp(2, "collectives")[0].out
        self.assertIn(self.results(2, "collectives")["0"], over_tcp)

    def test_one_rank(self):
        self.results(1, "collectives")

    def lost(self, what, **more):
        before = time.monotonic()
        run = self.run_mpi(3, what, END, **more)
        self.assertLess(time.monotonic() - before, END)
        self.assertNotIn("killed by the test", run.err)
        self.assertEqual(run.out.count("is there"), 3)
        self.assertNotIn("survived", run.out)
        self.assertNotEqual(run.code, 0)
        return run.err

    def test_a_killed_rank_ends_the_others(self):
        self.assertRegex(self.lost("die"), "rank 1 .*signal 9")

    def test_a_killed_rank_ends_those_that_compute(self):
        self.assertRegex(self.lost("die-idle"), "rank 1 .*signal 9")

    def test_a_stopped_rank(self):
        err = self.lost("stop", CAUSEWAY_DIST_ALIVE_TIMEOUT="3")
        self.assertIn("for a heartbeat of rank 1", err)
        self.assertIn("rank 1 is lost: no heartbeat for 3 s", err)

    def test_an_error_of_one_rank_ends_the_others(self):
        self.assertIn("no such file", self.lost("throw"))

    def test_shapes_that_differ(self):
        run = self.run_mpi(2, "mismatch", END)
        self.assertNotEqual(run.code, 0)
        self.assertIn("rank 1 calls all_reduce sum of f32 (5,)", run.err)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if "--mpirun" in sys.argv:
        at = sys.argv.index("--mpirun")
        MPIRUN = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    unittest.main()
