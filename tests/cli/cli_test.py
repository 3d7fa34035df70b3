"""Runs the program as a user would: its output, its words for a mistake, its exit codes.

Usage: cli_test.py build/causeway
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

PROGRAM = ""


def causeway(*arguments, **environment):
    done = subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


def has_gpu():
    return len(json.loads(causeway("info", "--json")[1])["devices"]) > 1


class Usage(unittest.TestCase):
    def mistake(self, arguments, words):
        """A usage mistake is one line that holds `words`, and one that says where help is."""
        code, out, err = causeway(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        first, second = err.splitlines()
        self.assertIn(words, first)
        self.assertRegex(second, r"^run causeway( \w+)* --help$")

    def test_mistakes(self):
        self.mistake([], "expected a subcommand: info")
        self.mistake(["inof"], '"inof" is not a subcommand; there are: info')
        self.mistake(["--jsn"], 'unexpected argument "--jsn"')
        self.mistake(["info", "--jsn"], 'causeway info: unexpected argument "--jsn"')
        self.mistake(["info", "extra"], 'unexpected argument "extra"')
        self.mistake(["info", "--device"], "--device")
        self.mistake(["info", "--device", "gpu"], '"gpu" is not auto, cpu, cuda or cuda:<i>')
        self.mistake(["info", "--device", "cuda:x"], '"cuda:x" is not')
        self.mistake(["completion"], "shell is required")
        self.mistake(["completion", "tcsh"], "tcsh not in {bash,zsh,fish}")

    def test_help(self):
        for arguments in (["--help"], ["-h"], ["info", "--help"], ["completion", "--help"]):
            code, out, err = causeway(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("Usage: causeway", out)

    def test_version(self):
        code, out, _ = causeway("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^causeway \d+\.\d+\.\d+ \((cpu only|cuda \d+\.\d+)\)\n$")


class Info(unittest.TestCase):
    def test_text(self):
        code, out, err = causeway("info")
        self.assertEqual((code, err), (0, ""))
        for words in ("OpenBLAS", "CUDA", "device", "cpu", "memory free", "pool in use"):
            self.assertIn(words, out)

    def test_json(self):
        code, out, _ = causeway("info", "--json")
        self.assertEqual(code, 0)
        report = json.loads(out)
        self.assertEqual(report["devices"][0]["device"], "cpu")
        self.assertGreater(report["devices"][0]["memory_total"], 0)
        self.assertEqual(report["cuda"]["absence"] is None, len(report["devices"]) > 1)
        self.assertEqual(report["devices"][0]["pool"]["limit"], None)

    def test_one_device(self):
        code, out, _ = causeway("info", "--json", "--device", "cpu")
        self.assertEqual(code, 0)
        self.assertEqual([d["device"] for d in json.loads(out)["devices"]], ["cpu"])
        self.assertEqual(len(json.loads(causeway("info", "--json", "--device=auto")[1])["devices"]), 1)

    def test_no_such_device(self):
        for device in (["cuda:99"] if has_gpu() else ["cuda", "cuda:0", "cuda:99"]):
            code, out, err = causeway("info", "--device", device)
            self.assertEqual((code, out), (4, ""))
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn("CUDA", err)

    def test_environment(self):
        code, out, _ = causeway("info", "--json", CAUSEWAY_MEMORY_LIMIT="2GiB")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out)["devices"][0]["pool"]["limit"], 2 << 30)
        code, _, err = causeway("info", CAUSEWAY_MEMORY_LIMIT="lots")
        self.assertEqual(code, 3)
        self.assertIn('[CAUSEWAY_MEMORY_LIMIT] "lots"', err)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [PROGRAM, "info"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


class Completion(unittest.TestCase):
    def bash(self, *words):
        """What bash offers for the last of `words`."""
        script = (
            f"source <({PROGRAM} completion bash)\n"
            f"COMP_WORDS=({' '.join(word or chr(39) * 2 for word in words)})\n"
            f"COMP_CWORD={len(words) - 1}\n_causeway\n"
            'echo "${COMPREPLY[@]}"\n'
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        self.assertIn("info", self.bash("causeway", ""))
        self.assertEqual(self.bash("causeway", "in"), ["info"])
        self.assertEqual(self.bash("causeway", "info", "--j"), ["--json"])
        self.assertEqual(self.bash("causeway", "info", "--device", ""), ["auto", "cpu", "cuda"])
        self.assertEqual(self.bash("causeway", "completion", "z"), ["zsh"])

    def test_every_option_is_there(self):
        """All long options that help shows, of every subcommand, are in every script."""
        commands = re.findall(r"^  (\w+) {2,}", causeway("--help")[1].split("Subcommands:")[1], re.M)
        self.assertIn("info", commands)
        for shell, mark in (("bash", "--"), ("zsh", "--"), ("fish", "-l ")):
            code, script, _ = causeway("completion", shell)
            self.assertEqual(code, 0)
            for command in commands:
                for option in re.findall(r"--(\w[\w-]*)", causeway(command, "--help")[1]):
                    self.assertIn(mark + option, script)

    def test_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                script = causeway("completion", shell)[1]
                done = subprocess.run([shell, "-n"], input=script, text=True, check=False)
                self.assertEqual(done.returncode, 0, shell)


class Signals(unittest.TestCase):
    def test_closed_pipe_is_quiet(self):
        done = subprocess.run(
            ["bash", "-c", f"{PROGRAM} info --json | head -c 1"],
            capture_output=True, text=True, check=True)  # fmt: skip
        self.assertEqual((done.stdout, done.stderr), ("{", ""))

    def test_interrupted(self):
        # The program blocks on writing into a pipe that is full and that nobody reads.
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b" " * 65536)
        except BlockingIOError:
            os.set_blocking(writing, True)
        with subprocess.Popen([PROGRAM, "info", "--json"], stdout=writing) as process:
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=2)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=10), 130)
        os.close(reading)
        os.close(writing)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: cli_test.py build/causeway")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
