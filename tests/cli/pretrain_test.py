"""`causeway pretrain` on the command line: reproducible losses, resume of killed runs, full disks, errors.

Usage: pretrain_test.py build/causeway [unittest's arguments].
"""

import contextlib
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import pretrain_runs
from pretrain_runs import (
    END, Folder, command, finish, log_of, losses_of, model_of, pretrain, start, steps_of,
    wait_until,
)  # fmt: skip


class Runs(Folder):
    def test_same_seed_same_run(self):
        folders = [self.train(name, steps=6) for name in ("a", "b")]
        self.assertEqual(len(set(losses_of(folders[0]).values())), 6)
        self.assertEqual(*map(losses_of, folders))
        self.assertEqual(*(model_of(folder, 6) for folder in folders))
        other = self.train("c", steps=6, seed=6)
        self.assertNotEqual(losses_of(folders[0]), losses_of(other))

    def test_resume(self):
        """Step 10 is within a window; tables get more rows at step 12."""
        for optimizer in ("muon", "no-muon"):
            options = {optimizer: True, "stages": "0:12,12:16"}
            whole = self.train(f"whole-{optimizer}", steps=20, **options)
            parts = self.train(f"parts-{optimizer}", steps=10, **options)
            self.assertEqual(steps_of(parts), [10])
            self.train(parts.name, steps=20, resume=True, **options)
            self.assertEqual(losses_of(parts), losses_of(whole))
            self.assertEqual(model_of(parts, 20), model_of(whole, 20))

    def test_resume_without_checkpoints(self):
        """Training that begins again says so."""
        folder = self.train("run", steps=4)
        for checkpoint in (folder / "checkpoints").iterdir():
            shutil.rmtree(checkpoint)
        code, _, err = pretrain(out=folder, steps=4, resume=True)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "run.* has no checkpoint: training begins again at step 0")
        self.assertEqual(steps_of(folder), [4])
        _, _, err = pretrain(out=self.folder / "new", steps=4, resume=True)
        self.assertNotIn("begins again", err)

    def test_a_finished_run(self):
        folder = self.train("run", steps=4)
        before = (folder / "checkpoints" / "step-00000004").stat().st_mtime_ns
        code, out, err = pretrain(out=folder, steps=4, resume=True, json=True)
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["loss"], losses_of(folder)[4])
        after = (folder / "checkpoints" / "step-00000004").stat().st_mtime_ns
        self.assertEqual(before, after)

    def test_json(self):
        code, out, err = pretrain(steps=5, json=True)
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        self.assertEqual((report["step"], report["datasets"], report["interrupted"]), (5, 20, False))
        self.assertGreater(report["datasets_per_second"], 0)
        self.assertIn("without --out, neither the model nor checkpoints are saved", err)
        self.assertEqual(len([line for line in err.splitlines() if line.startswith("step ")]), 5)
        code, out, err = pretrain(steps=2, quiet=True)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^step +2 .* loss \d\.\d+ ")

    def test_ends_by_time(self):
        code, out, err = pretrain(seconds=0.5, json=True)
        self.assertEqual(code, 0, err)
        self.assertGreaterEqual(json.loads(out)["seconds"], 0.5)
        self.assertLess(json.loads(out)["seconds"], 5)

    def test_bar_in_a_terminal(self):
        ours, theirs = pty.openpty()
        arguments = command(seconds=0.5, steps=100_000)
        done = subprocess.Popen([pretrain_runs.PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal whose other side is closed
            while piece := os.read(ours, 4096):
                seen += piece
        os.close(ours)
        self.assertEqual(done.wait(), 0)
        bars = re.findall(r"━*─* +(\d+)%  (\d+:\d\d) left", seen.decode())
        shares = [int(share) for share, _ in bars]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(bars[-1], ("100", "0:00"))

    def test_averages(self):
        """The model to use is the mean of the last weights; training does not see it."""
        near, far = (self.train(name, steps=8, average_steps=n) for name, n in (("near", 1), ("far", 4)))
        self.assertEqual(losses_of(near), losses_of(far))
        self.assertEqual(model_of(near, 8), model_of(far, 8))
        self.assertNotEqual(*((folder / "model.safetensors").read_bytes() for folder in (near, far)))

    def test_regression(self):
        folder = self.train("run", steps=3, regression=True, classes=None)
        self.assertEqual(len(losses_of(folder)), 3)

    def test_scores_and_the_model_to_use(self):
        table = self.folder / "table.csv"
        rows = [f"{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(40)]
        table.write_text("\n".join(["x,z,what", *rows]) + "\n")
        out = self.folder / "run"
        code, text, err = pretrain(out=out, steps=4, json=True, evaluate=table, target="what",
                                   evaluate_steps=2)
        self.assertEqual(code, 0, err)
        lines = log_of(out)
        self.assertEqual([line["step"] for line in lines if "score" in line], [2, 4])
        self.assertEqual([line["step"] for line in lines], [1, 2, 3, 4])
        self.assertEqual(json.loads(text)["score"], lines[-1]["score"])
        self.assertTrue(0 <= lines[-1]["score"] <= 1)
        model = str(out / "model.safetensors")
        done = finish(start(["evaluate", str(table), "--target", "what", "--model", model]))
        self.assertEqual(done[0], 0, done[2])
        code, _, err = pretrain(steps=1, evaluate=table, target="who")
        self.assertEqual(code, 3)
        self.assertIn("who", err)

    def test_a_loss_that_is_not_finite(self):
        options = {"steps": 6, "learning_rate": 1e30, "warmup": 0}
        code, _, err = pretrain(out=self.folder / "a", save_steps=1, **options)
        self.assertEqual(code, 3)
        self.assertRegex(err.splitlines()[-1], r"the mean loss of steps (\d) to \1 is -?(nan|inf)")
        self.assertLess(len(losses_of(self.folder / "a")), 6)
        code, _, err = pretrain(detect_anomaly=True, **options)
        self.assertEqual(code, 3)
        self.assertRegex(err.splitlines()[-1], r"\[detect_anomaly\] step \d:")


class Ends(Folder):
    def test_killed_at_any_moment(self):
        folder = self.folder / "run"
        moments = random.Random(7)
        for turn in range(20):
            process = start(command(out=folder, steps=100000, save_steps=1, resume=True))
            before = max(steps_of(folder), default=0)
            if turn % 2 == 0:  # else maybe before the first step
                wait_until(lambda: max(steps_of(folder), default=0) > before)
            time.sleep(moments.uniform(0, 0.15))
            self.assertIsNone(process.poll(), "it ended by itself")
            process.kill()
            finish(process)
        last = max(steps_of(folder))
        self.assertGreater(last, 9)
        self.train("run", steps=last + 2, save_steps=1, resume=True)
        whole = self.train("whole", steps=last + 2)
        self.assertEqual(losses_of(folder), losses_of(whole))
        self.assertEqual(len(log_of(folder)), last + 2)
        self.assertEqual(model_of(folder, last + 2), model_of(whole, last + 2))
        left = [path.name for path in (folder / "checkpoints").iterdir()]
        self.assertEqual([name for name in left if not name.startswith("step-")], [])

    def interrupted(self, number):
        folder = self.folder / str(number)
        process = start(command(out=folder, steps=100000, log_steps=7))
        wait_until(lambda: (folder / "log.jsonl").exists() and log_of(folder))
        process.send_signal(number)
        return folder, *finish(process, END)

    def test_an_interrupt_saves(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            folder, code, out, err = self.interrupted(number)
            self.assertEqual(code, 130, err)
            self.assertRegex(out, r"^interrupted at step \d+; resume with: causeway pretrain --out .* --resume\n$")
            (step,) = steps_of(folder)
            self.assertIn(f"interrupted: saving step {step}", err)
            self.assertEqual(log_of(folder)[-1]["step"], step)
            self.train(folder.name, steps=step + 1, resume=True)
        self.assertEqual(steps_of(folder), [step, step + 1])

    def test_a_second_one_ends_at_once(self):
        """The first ends the step and saves; a second one right after it may end that too, at any point."""
        folder = self.folder / "run"
        options = {"rows": 500, "batch": 64, "layers": 4, "width": 64, "heads": 8}
        process = start(command(out=folder, steps=100000, **options))
        wait_until(lambda: (folder / "log.jsonl").exists())
        time.sleep(0.2)
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process, END)
        self.assertEqual(code, 130, err)
        self.assertLess(time.monotonic() - before, 2)

    def limited(self, n_bytes):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

        return limit

    def test_full_disk(self):
        """Files may not grow beyond less than a checkpoint's, in place of a disk that is full."""
        folder = self.folder / "run"
        size = len(model_of(self.train("other", steps=1), 1))
        arguments = command(out=folder, steps=6, save_steps=2)
        code, _, err = finish(start(arguments, preexec_fn=self.limited(size - 1000)))
        self.assertEqual(code, 3)
        # The last step's checkpoint is the last one, whose failure is the error. The model is tried too.
        self.assertEqual(err.count("training continues without this checkpoint"), 2, err)
        self.assertIn("the model was not saved either: [save_safetensors]", err)
        self.assertRegex(err.splitlines()[-1], r"\[checkpoint.save\] .*File too large")
        self.assertEqual(len(losses_of(folder)), 6)
        self.assertEqual(len(log_of(folder)), 6)
        self.assertEqual(list((folder / "checkpoints").iterdir()), [])
        # With room again, from the beginning, as there is no checkpoint.
        self.train("run", steps=2, resume=True)
        self.assertEqual(losses_of(folder), losses_of(self.train("whole", steps=2)))

    def test_full_disk_for_the_log(self):
        folder = self.folder / "run"
        code, _, err = finish(start(command(out=folder, steps=4), preexec_fn=self.limited(300)))
        self.assertEqual(code, 3)  # the last checkpoint could not be written
        self.assertIn("training continues without this line of the log", err)
        self.assertIn("step 4 ", err)


class Settings(Folder):
    def test_resume_takes_the_settings_of_the_run(self):
        whole = self.train("whole", steps=8, stages="0:12,4:16")
        parts = self.train("parts", steps=4, stages="0:12,4:16")
        small = ["pretrain", "--device", "cpu", "--threads", "1", "--out", str(parts), "--resume"]
        code, _, err = finish(start([*small, "--steps", "8"]))
        self.assertEqual(code, 0, err)
        self.assertNotIn("other settings", err)
        self.assertEqual(losses_of(parts), losses_of(whole))
        self.assertEqual(json.loads((parts / "config.json").read_text())["run"]["steps"], 8)

    def test_files_and_options(self):
        toml = self.folder / "a.toml"
        toml.write_text('batch = 8\nlearning_rate = 0.01\n[model]\nwidth = 24\n[prior]\nrows = "16"\n')
        arguments = ["pretrain", "--config", str(toml), "--width", "32", "--print-config"]
        code, out, err = finish(start(arguments))
        self.assertEqual((code, err), (0, ""))
        settings = json.loads(out)
        self.assertEqual((settings["batch"], settings["learning_rate"]), (8, 0.01))
        self.assertEqual((settings["model"]["width"], settings["prior"]["rows"]), (32, "16"))
        self.assertEqual(settings["decay"], "constant")
        resolved = self.folder / "b.json"
        resolved.write_text(out)
        again = finish(start(["pretrain", "--config", str(resolved), "--print-config"]))
        self.assertEqual(again, (0, out, ""))
        toml.write_text("bacth = 8\n")
        code, out, err = finish(start(["pretrain", "--config", str(toml)]))
        self.assertEqual((code, out), (3, ""))
        self.assertIn('unknown setting "bacth"; did you mean batch?', err)


    def test_stages_set_the_rows(self):
        """Stages below the default number of rows need no --rows."""
        code, _, err = pretrain(rows=None, stages="0:12,2:16", steps=3)
        self.assertEqual(code, 0, err)

    def test_dry_run(self):
        out = self.folder / "run"
        options = {"steps": 1000, "out": out, "dry_run": True, "json": True}
        code, text, err = pretrain(**options)
        self.assertEqual((code, err), (0, ""))
        self.assertFalse(out.exists())
        plan = json.loads(text)
        self.assertEqual(plan["configuration"]["run"]["steps"], 1000)
        self.assertLess(0, plan["memory"]["needed"])
        self.assertLess(plan["memory"]["needed"], plan["memory"]["budget"])
        time = plan["time"]
        self.assertAlmostEqual(time["seconds_at_least"] * time["flops_per_second"] / 1000 / time["step_flops"], 1)
        twice = json.loads(pretrain(**options, stages="0:16,500:32")[1])["time"]["step_flops"]
        whole = json.loads(pretrain(**(options | {"rows": 32}))[1])["time"]["step_flops"]
        self.assertAlmostEqual(twice / ((time["step_flops"] + whole) / 2), 1)
        limited = json.loads(pretrain(**(options | {"steps": None, "seconds": 5}))[1])
        self.assertEqual((limited["time"]["steps"], limited["time"]["seconds_at_least"]), (0, 5))
        code, text, _ = pretrain(**(options | {"json": None}))
        self.assertRegex(text, r"(?s)\A\{.*\nmemory: needs .*\ntime: at least \d+:\d\d for 1000 steps; ")


class Mistakes(Folder):
    def refused(self, expected, words, **options):
        code, out, err = pretrain(**({"steps": 2} | options))
        self.assertEqual((code, out), (expected, ""), err)
        lines = err.splitlines()
        self.assertEqual(len(lines), 2 if expected == 2 else 1, err)
        self.assertIn(words, lines[0])

    def test_usage(self):
        for stages in ("12", "0:x", "0:12,0:16", "4:12,2:16", "0:1", "0:12,", "-1:12", ","):
            self.refused(2, "expected step:rows,step:rows with ascending steps", stages=stages)
        bounds = {"width": "8 to 4096", "batch": "1 to 1048576", "window_steps": "1 to 65536"}
        for name in ("steps", "save_steps", "log_steps", *bounds):
            self.refused(2, f"expected {bounds.get(name, '1 or more')}", **{name: 0})
        self.refused(2, "expected 1 to 1048576", batch=10**12)
        self.refused(2, "expected a number above 0", seconds=-1)
        self.refused(2, "expected a number, got", learning_rate="nan")
        self.refused(2, "expected 0 or more", warmup=-1)
        self.refused(2, "expected 0 to 1024", thinking=-1)
        self.refused(2, 'expected f32 or bf16, got "i64"', dtype="i64")
        self.refused(2, 'expected constant, linear, cosine, got "steep"', decay="steep")
        self.refused(2, "did you mean linear?", decay="linaer")
        code, out, err = pretrain(seconds=1, decay="linear")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("a learning-rate decay ends at the last step; set steps too", err)

    def test_configurations(self):
        self.refused(2, "expected default, nanotabpfn, speedrun", preset="huge")
        self.refused(3, "classes", classes=1)
        self.refused(3, "classes", classes="2:1001")
        self.refused(3, "width / heads must be a multiple of 8", width=20)
        self.refused(3, "checking the stage of step 1000", stages="0:12,1000:99999999")

    def test_folders(self):
        folder = self.train("run", steps=2)
        before = losses_of(folder)
        self.refused(3, "already holds a run; pass --resume", out=folder)
        shutil.rmtree(folder / "checkpoints")  # its log alone is a run too
        self.refused(3, "already holds a run; pass --resume", out=folder)
        self.assertEqual(losses_of(folder), before)
        self.refused(3, "Not a directory", out="/dev/null/run")
        (self.folder / "file").write_text("")
        self.refused(3, "Not a directory", out=self.folder / "file")

    def test_other_settings(self):
        folder = self.train("run", steps=2)
        words = "the checkpoint has another model or optimizer: "
        for name, value, told in (("width", 32, "model.width 32 instead of 16"),
                                  ("no_muon", True, "muon false instead of true"),
                                  ("dtype", "bf16", 'dtype "bf16" instead of "f32"')):
            self.refused(3, words + told, out=folder, resume=True, **{name: value})
        code, _, err = pretrain(out=folder, resume=True, steps=3, batch=8)
        self.assertEqual(code, 0)
        self.assertIn("resuming with changed settings: batch 8 instead of 4", err)

    def test_damaged_checkpoints(self):
        folder = self.train("run", steps=4, save_steps=2)
        path = folder / "checkpoints" / "step-00000004" / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1])
        code, _, err = pretrain(out=folder, resume=True, steps=4)
        self.assertEqual(code, 0, err)
        self.assertIn("skipped the checkpoint of step 4", err)
        self.assertEqual(losses_of(folder), losses_of(self.train("whole", steps=4)))


if __name__ == "__main__":
    pretrain_runs.main()
