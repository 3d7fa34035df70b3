"""`causeway pretrain` with several ranks: same results as one rank, common end, resume.

Usage: pretrain_ranks_test.py build/causeway [--mpirun path] [unittest's arguments].
"""

import shutil
import signal
import subprocess
import time

import pretrain_runs
from pretrain_runs import (
    END, LIMIT, Folder, clean_environment, command, finish, free_port, log_of, losses_of, model_of,
    numbers_of, start, steps_of, wait_until,
)  # fmt: skip


class Ranks(Folder):
    def start_tcp(self, size, **options):
        port = free_port()
        processes = []
        for rank in range(size):
            variables = dict(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank, MASTER_PORT=port)
            variables = {name: str(value) for name, value in variables.items()}
            environment = clean_environment(MASTER_ADDR="127.0.0.1", **variables)
            processes.append(start(command(**options), environment))
        return processes

    def run_tcp(self, size, **options):
        for code, _, err in [finish(process) for process in self.start_tcp(size, **options)]:
            self.assertEqual(code, 0, err)

    def close(self, folder, whole, step, most=1e-5):
        """Losses and weights of two runs agree but for rounding."""
        found, expected = losses_of(folder), losses_of(whole)
        self.assertEqual(list(found), list(expected))
        for at, loss in expected.items():
            self.assertAlmostEqual(found[at], loss, delta=1e-5)
        found, expected = (numbers_of(model_of(of, step)) for of in (folder, whole))
        for name, numbers in expected.items():
            gap = max(abs(a - b) for a, b in zip(found[name], numbers, strict=True))
            self.assertLess(gap, most, name)

    def test_two_ranks_are_one(self):
        whole = self.train("whole", steps=8)
        folder = self.folder / "ranks"
        self.run_tcp(2, out=folder, steps=8)
        self.close(folder, whole, 8)
        self.assertNotEqual(model_of(folder, 8), model_of(whole, 8))  # it can fail

    def test_micro_batches(self):
        large = {"rows": 64, "features": 12, "width": 32, "hidden": 64, "layers": 2, "batch": 16}
        whole = self.train("whole", steps=4, **large)
        folder = self.folder / "cut"
        done = [finish(process) for process in self.start_tcp(2, out=folder, steps=4, memory="36MiB", **large)]
        self.assertEqual([code for code, _, _ in done], [0, 0], done)
        self.assertIn("cut into 2 micro-batches", done[0][2])
        # The bias of keys has no gradient but rounding, which the optimizer scales up.
        self.close(folder, whole, 4, 1e-4)

    def test_two_ranks_by_mpirun(self):
        if not pretrain_runs.MPIRUN:
            self.skipTest("this build has no MPI")
        whole = self.train("whole", steps=8)
        folder = self.folder / "ranks"
        launch = [pretrain_runs.MPIRUN, "-n", "2", "--allow-run-as-root", "--oversubscribe", pretrain_runs.PROGRAM]
        done = subprocess.run(
            launch + command(out=folder, steps=8), env=clean_environment(), timeout=LIMIT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.close(folder, whole, 8)
        self.run_tcp(2, out=self.folder / "tcp", steps=8)
        self.assertEqual(model_of(folder, 8), model_of(self.folder / "tcp", 8))

    def test_ends_by_time(self):
        folder = self.folder / "run"
        self.run_tcp(2, out=folder, seconds=0.5)
        self.assertEqual(steps_of(folder), [log_of(folder)[-1]["step"]])

    def test_an_interrupt_of_one_rank(self):
        folder = self.folder / "run"
        processes = self.start_tcp(2, out=folder, steps=100000)
        wait_until(lambda: (folder / "log.jsonl").exists() and log_of(folder))
        processes[1].send_signal(signal.SIGINT)
        for code, _, err in [finish(process, END) for process in processes]:
            self.assertEqual(code, 130, err)
        self.assertEqual(steps_of(folder), [log_of(folder)[-1]["step"]])

    def test_a_killed_rank(self):
        for victim in (0, 1):
            folder = self.folder / str(victim)
            processes = self.start_tcp(2, out=folder, steps=100000, save_steps=3)
            wait_until(lambda: steps_of(folder) and max(steps_of(folder)) > 3)
            processes[victim].kill()
            before = time.monotonic()
            code, _, err = finish(processes[1 - victim], END)
            self.assertLess(time.monotonic() - before, END)
            self.assertEqual(code, 1, err)
            self.assertRegex(err.splitlines()[-1], rf"^causeway: .*rank {victim} is lost")
            finish(processes[victim])
            step = max(steps_of(folder))
            if victim == 0:
                self.run_tcp(2, out=folder, steps=step + 3, resume=True)
            else:  # at other world sizes
                self.train(folder.name, steps=step + 3, resume=True)
                self.run_tcp(4, out=folder, steps=step + 5, resume=True)
                step += 2
            self.close(folder, self.train("whole", steps=step + 3), step + 3)
            shutil.rmtree(self.folder / "whole")

    def test_batches_that_cannot_be_shared(self):
        for code, _, err in [finish(process, END) for process in self.start_tcp(2, batch=5)]:
            self.assertEqual(code, 3)
            self.assertIn("batch 5: expected a multiple of the 2 ranks", err)


if __name__ == "__main__":
    pretrain_runs.main()
