"""`causeway pretrain` and the world around it: signals, closed pipes and descriptors, full disks, damaged files.

Usage: pretrain_faults_test.py build/causeway [unittest's arguments].
"""

import os
import random
import signal
import subprocess
import time

import pretrain_runs
from pretrain_runs import (
    END, Folder, command, finish, log_of, losses_of, model_of, pretrain, start, steps_of, wait_until,
)  # fmt: skip

# A step takes several seconds.
SLOW = {"rows": 600, "batch": 64, "layers": 4, "width": 64, "heads": 8, "features": "20:20"}


def has_log(folder):
    return (folder / "log.jsonl").exists() and (folder / "log.jsonl").stat().st_size > 0


class Signals(Folder):
    def test_hangup_saves(self):
        """A closed terminal sends SIGHUP."""
        folder = self.folder / "run"
        process = start(command(out=folder, steps=100000))
        wait_until(lambda: has_log(folder))
        process.send_signal(signal.SIGHUP)
        code, out, err = finish(process, END)
        self.assertEqual(code, 130, err)
        self.assertIn("resume with", out)
        (step,) = steps_of(folder)
        self.train("run", steps=step + 2, resume=True)
        self.assertEqual(losses_of(folder), losses_of(self.train("whole", steps=step + 2)))

    def test_an_ignored_hangup_stays_ignored(self):
        folder = self.folder / "run"
        process = start(command(out=folder, steps=300), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_until(lambda: has_log(folder))
        process.send_signal(signal.SIGHUP)
        code, _, err = finish(process)
        self.assertEqual(code, 0, err)

    def test_an_interrupt_ends_a_slow_step(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            folder = self.folder / str(number)
            process = start(command(out=folder, steps=100000, **SLOW))
            wait_until(lambda folder=folder: (folder / "log.jsonl").exists())
            time.sleep(1.5)
            before = time.monotonic()
            process.send_signal(number)
            code, out, err = finish(process, END)
            self.assertEqual(code, 130, err)
            self.assertLess(time.monotonic() - before, 2)
            self.assertRegex(out, r"interrupted at step \d+; resume with")
            self.assertEqual(len(steps_of(folder)), 1)
            self.assertTrue((folder / "model.safetensors").exists())

    def test_a_step_that_was_interrupted_is_taken_again(self):
        options = {"rows": 60, "batch": 16, "steps": 12}
        whole = self.train("whole", **options)
        folder = self.folder / "run"
        moments = random.Random(3)
        for _ in range(12):
            process = start(command(out=folder, resume=True, **options))
            time.sleep(moments.uniform(0.05, 0.5))
            process.send_signal(signal.SIGTERM)
            code, _, err = finish(process)
            # Before the handlers are installed the signal ends the process.
            self.assertIn(code, (0, 130, -signal.SIGTERM), err)
        self.train("run", resume=True, **options)
        self.assertEqual(model_of(folder, 12), model_of(whole, 12))
        self.assertEqual(losses_of(folder), losses_of(whole))


class Output(Folder):
    def test_a_closed_pipe_does_not_end_the_run(self):
        folder = self.folder / "run"
        words = " ".join(f"'{word}'" for word in [pretrain_runs.PROGRAM, *command(out=folder, steps=300)])
        subprocess.run(["bash", "-c", f"{words} 2>&1 | head -1"], check=True, stdout=subprocess.DEVNULL)
        wait_until(lambda: steps_of(folder) == [300] if folder.exists() else False)
        self.assertEqual(len(log_of(folder)), 300)

    def test_closed_descriptors(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"):
            folder = self.folder / closed.replace(" ", "").replace("/", "")
            words = " ".join(f"'{word}'" for word in [pretrain_runs.PROGRAM, *command(out=folder, steps=4)])
            done = subprocess.run(["bash", "-c", f"{words} {closed}"], capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, (closed, done.stderr))
            self.assertEqual([line["step"] for line in log_of(folder)], [1, 2, 3, 4])

    def test_errors_that_cannot_be_printed(self):
        for words in (["pretrain", "--width", "7"], ["report", "/no/such/folder"]):
            for closed in ("2>&-", "2>/dev/full"):
                line = f"'{pretrain_runs.PROGRAM}' {' '.join(words)} {closed}"
                self.assertIn(subprocess.run(["bash", "-c", line], check=False).returncode, (2, 3))

    def test_gallery_interrupted(self):
        out = self.folder / "page.html"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = start(["prior", "gallery", "--out", str(out), "--count", "1000", "--rows", "2000"])
            wait_until(lambda: list(self.folder.iterdir()))
            time.sleep(0.2)
            process.send_signal(number)
            code, _, _ = finish(process)
            self.assertEqual(code, 130 if number == signal.SIGINT else -number)
            self.assertEqual(list(self.folder.iterdir()), [])


class Disks(Folder):
    def on_a_small_disk(self, megabytes, arguments):
        """Runs in a namespace of its own where a small file system is mounted at the folder."""
        line = (f"mount -t tmpfs -o size={megabytes}m none '{self.folder}' && " +
                " ".join(f"'{word}'" for word in [pretrain_runs.PROGRAM, *arguments]) +
                f"; code=$?; ls '{self.folder}/run' '{self.folder}/run/checkpoints'; exit $code")
        done = subprocess.run(["unshare", "-rm", "bash", "-c", line], capture_output=True, text=True, check=False)
        if "Operation not permitted" in done.stderr or "unshare failed" in done.stderr:
            self.skipTest("no file system may be mounted here")
        return done

    def test_old_checkpoints_make_room(self):
        options = {"width": 64, "heads": 4, "hidden": 256, "layers": 4, "average": 1}
        size = sum(path.stat().st_size for path in self.train("large", steps=2, **options).rglob("step-00000002/*"))
        n = round(3.6 * size / 2**20)  # the fourth is written before the oldest is removed
        done = self.on_a_small_disk(n, command(out=self.folder / "run", steps=12, save_steps=2, **options))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"No space left on device.*removed the checkpoint of step \d+ and trying again")
        self.assertIn("model.safetensors", done.stdout)
        self.assertIn("step-00000012", done.stdout)

    def test_the_model_is_written_without_room_for_a_checkpoint(self):
        options = {"width": 64, "heads": 4, "hidden": 256, "layers": 4}
        folder = self.train("large", steps=2, **options)
        size = (folder / "model.safetensors").stat().st_size
        done = self.on_a_small_disk(round(1.8 * size / 2**20), command(out=self.folder / "run", steps=2, **options))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"\[checkpoint.save\].*No space left on device")
        self.assertIn("model.safetensors", done.stdout)


class Damage(Folder):
    def resumed(self, folder, steps):
        code, _, err = pretrain(out=folder, resume=True, steps=steps)
        self.assertEqual(code, 0, err)
        return err

    def test_damaged_files_are_named(self):
        folder = self.train("run", steps=4, save_steps=2)
        log = folder / "log.jsonl"
        log.write_bytes(log.read_bytes() + b'{"step": 5, "lo')
        self.assertIn("ends in an incomplete line", self.resumed(folder, 5))
        model = folder / "model.safetensors"
        content = bytearray(model.read_bytes())
        content[-3] ^= 4
        model.write_bytes(content)
        self.assertRegex(self.resumed(folder, 6), r"the file is damaged.*model.safetensors.*writes a new one at its end")
        events = sorted(folder.glob("events.out.*"))[0]
        events.write_bytes(events.read_bytes()[:-5])
        self.assertRegex(self.resumed(folder, 7), rf"{events.name}.* is damaged")
        (folder / "config.json").write_text("{")
        self.assertRegex(self.resumed(folder, 8), "config.json.*taking the settings of the newest checkpoint")
        self.assertEqual(losses_of(folder), losses_of(self.train("whole", steps=8)))
        (folder / "config.json").unlink()
        log.write_text("")
        events = sorted(folder.glob("events.out.*"))[-1]
        events.write_bytes(b"")
        err = self.resumed(folder, 9)
        self.assertRegex(err, "config.json.*does not exist; taking the settings of the newest checkpoint")
        self.assertRegex(err, f"{events.name}.* is empty")
        self.assertRegex(err, "log.jsonl.* has no lines of the steps up to 8")

    def test_report_names_damage(self):
        folder = self.train("run", steps=4)
        log = folder / "log.jsonl"
        log.write_bytes(log.read_bytes()[:-9])
        code, _, err = finish(start(["report", str(folder)]))
        self.assertEqual(code, 0, err)
        self.assertIn("ends in an incomplete line", err)
        model = folder / "model.safetensors"
        model.write_bytes(model.read_bytes()[:-1] + b"~")
        code, _, err = finish(start(["report", str(folder)]))
        self.assertEqual(code, 3)
        self.assertIn("model.safetensors", err)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pretrain_runs.main()
