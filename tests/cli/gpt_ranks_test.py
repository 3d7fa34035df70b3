"""`causeway gpt train` with several ranks: same results as one rank, resume, lost ranks, bad input.

Usage: gpt_ranks_test.py build/causeway [--mpirun path] [unittest's arguments].
"""

import json
import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pretrain_runs
from pretrain_runs import (
    END, Folder, clean_environment, finish, free_port, log_of, losses_of, start, steps_of, wait_until,
)  # fmt: skip

SMALL = {
    "device": "cpu", "threads": 1, "length": 16, "width": 32, "layers": 2, "heads": 2, "batch": 12,
    "seed": 3, "log-steps": 1, "warmup": 2, "learning-rate": 0.01, "decay": "constant",
    "sample-tokens": 0,
}  # fmt: skip


class GptRanks(Folder):
    def setUp(self):
        super().setUp()
        letters = random.Random(1)
        self.text = self.folder / "text.txt"
        self.text.write_text("".join(letters.choice("abcdefgh \n") for _ in range(4000)))

    def command(self, **options):
        options = SMALL | {"data": self.text} | {k.replace("_", "-"): v for k, v in options.items()}
        words = ["gpt", "train"]
        for name, value in options.items():
            if value is not None:
                words += ["--" + name] if value is True else ["--" + name, str(value)]
        return words

    def start(self, size, variables=None, **options):
        port = free_port()
        processes = []
        for rank in range(size):
            own = dict(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank, MASTER_PORT=port)
            own = {name: str(value) for name, value in own.items()} if size > 1 else {}
            environment = clean_environment(MASTER_ADDR="127.0.0.1", **own, **(variables or {}))
            processes.append(start(self.command(**options), environment))
        return processes

    def run_ranks(self, size, **options):
        for code, _, err in [finish(process) for process in self.start(size, **options)]:
            self.assertEqual(code, 0, err)

    def start_mpi(self, size, **options):
        if not pretrain_runs.MPIRUN:
            self.skipTest("this build has no MPI")
        launch = [pretrain_runs.MPIRUN, "-n", str(size), "--allow-run-as-root", "--oversubscribe"]
        return subprocess.Popen(
            [*launch, pretrain_runs.PROGRAM, *self.command(**options)],
            env=clean_environment(CAUSEWAY_DIST_ALIVE_TIMEOUT="6"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def close(self, folder, whole):
        found, expected = losses_of(folder), losses_of(whole)
        self.assertEqual(list(found), list(expected))
        for step, loss in expected.items():
            self.assertAlmostEqual(found[step], loss, delta=1e-4)

    def test_ranks_are_one(self):
        for options in ({}, {"muon": True}, {"micro_batch": 2}):
            whole = self.folder / f"whole{len(list(self.folder.iterdir()))}"
            self.run_ranks(1, out=whole, steps=6, **options)
            for size in (2, 3):
                folder = self.folder / f"{whole.name}.{size}"
                self.run_ranks(size, out=folder, steps=6, **options)
                self.close(folder, whole)
                self.assertNotEqual(losses_of(folder), losses_of(whole))  # it can fail
                self.assertTrue((folder / "model.safetensors").exists())

    def test_resume_with_other_numbers_of_ranks(self):
        for options in ({}, {"muon": True}):
            whole = self.folder / f"whole{len(options)}"
            folder = self.folder / f"ranks{len(options)}"
            self.run_ranks(1, out=whole, steps=9, **options)
            for size, steps in ((2, 3), (1, 6), (3, 9)):
                self.run_ranks(size, out=folder, steps=steps, resume=True if steps > 3 else None, **options)
            self.close(folder, whole)

    def test_a_killed_rank_is_named_and_the_run_resumes(self):
        folder = self.folder / "run"
        processes = self.start(2, out=folder, steps=100000, save_steps=2)
        wait_until(lambda: len(steps_of(folder)) > 1)
        processes[1].kill()
        code, _, err = finish(processes[0], END)
        finish(processes[1])
        self.assertEqual(code, 1, err)
        self.assertRegex(err, r"\[gpt train\] rank 0 stops at step \d+: .*rank 1 is lost")
        step = max(steps_of(folder))
        named = re.search(r"resume from the checkpoint of step (\d+) with --resume", err)
        self.assertIn(int(named[1]), (step - 2, step), err)  # it may be written at that moment
        self.run_ranks(3, out=folder, steps=step + 2, resume=True)
        self.assertEqual(log_of(folder)[-1]["step"], step + 2)

    def test_mpirun(self):
        folder = self.folder / "mpi"
        code, _, err = finish(self.start_mpi(2, out=folder, steps=4))
        self.assertEqual(code, 0, err)
        self.run_ranks(2, out=self.folder / "tcp", steps=4)
        self.assertEqual(losses_of(folder), losses_of(self.folder / "tcp"))

    def lose_under_mpirun(self, number):
        """Sends a signal to rank 1 of 2; the standard error of all."""
        folder = self.folder / "run"
        process = self.start_mpi(2, out=folder, steps=1000000, save_steps=2, log_steps=2)
        wait_until(lambda: len(steps_of(folder)) > 1)
        os.kill(process_of_rank(1, process.pid), number)
        code, _, err = finish(process, END)
        self.assertNotIn("killed by the test", err)
        self.assertNotEqual(code, 0)
        return err

    def test_a_killed_rank_under_mpirun(self):
        err = self.lose_under_mpirun(signal.SIGKILL)
        self.assertRegex(err, r"\[gpt train\] rank 0 stops at step \d+: .*rank 1 is lost")
        self.assertIn("with --resume", err)

    def test_a_stopped_rank_under_mpirun(self):
        err = self.lose_under_mpirun(signal.SIGSTOP)
        self.assertIn("for a heartbeat of rank 1", err)
        self.assertRegex(err, "rank 1 is lost: no heartbeat for 6 s")

    def refused(self, size, message, **options):
        for code, _, err in [finish(process, END) for process in self.start(size, **options)]:
            self.assertEqual(code, 3, err)
            self.assertIn(message, err)

    def test_bad_input(self):
        self.refused(
            3, "a batch of 10 cannot be divided among 3 ranks; use a multiple of 3", batch=10
        )
        self.refused(2, "not a multiple of the micro_batch 4", micro_batch=4)

    def test_ranks_with_other_settings(self):
        port = free_port()
        processes = []
        for rank in (0, 1):
            own = dict(RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, MASTER_PORT=port)
            own = {name: str(value) for name, value in own.items()}
            environment = clean_environment(MASTER_ADDR="127.0.0.1", **own)
            processes.append(start(self.command(seed=rank + 1, steps=4), environment))
        for code, _, err in [finish(process, END) for process in processes]:
            self.assertEqual(code, 3, err)
            self.assertIn("rank 1 has other settings than rank 0: seed 2 instead of 1", err)

    def test_json(self):
        processes = self.start(2, steps=2, json=True)
        results = [finish(process) for process in processes]
        self.assertEqual(json.loads(results[0][1])["step"], 2)
        self.assertEqual(results[1][1], "")


def process_of_rank(rank, mpirun):
    """The process id of a rank that this mpirun has started."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = re.search(r"PPid:\s*(\d+)", (folder / "status").read_text())
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is another user's
            continue
        if int(parent[1]) == mpirun and b"OMPI_COMM_WORLD_RANK=%d" % rank in variables:
            return int(folder.name)
    raise AssertionError(f"rank {rank} is not running")


if __name__ == "__main__":
    pretrain_runs.main()
