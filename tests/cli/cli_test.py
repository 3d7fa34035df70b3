"""The command line: output, error messages, exit codes.

Usage: cli_test.py build/causeway
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
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


def commands():
    """The paths of the program and all subcommands, from its help."""

    def below(path):
        found = [path]
        out = causeway(*path, "--help")[1]
        _, _, listed = out.partition("\nSubcommands:\n")
        for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE):
            found += below([*path, name])
        return found

    return below([])


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
        self.mistake(["inof"], 'unknown subcommand "inof"; did you mean info?')
        self.mistake(["prior", "genrate"], 'causeway prior: unknown subcommand "genrate"; did you mean generate?')
        self.mistake(["zzzzzz"], 'unknown subcommand "zzzzzz"; expected one of: info, prior')
        self.mistake(["--versoin"], 'unexpected argument "--versoin"; did you mean --version?')
        self.mistake(["info", "--jsn"], 'causeway info: unexpected argument "--jsn"; did you mean --json?')
        self.mistake(["pretrain", "--no-moun=1"], "did you mean --no-muon?")
        self.mistake(["predict", "a", "b", "--taget", "y"], "did you mean --target?")
        self.mistake(["info", "--zzzzzz"], 'unexpected argument "--zzzzzz"')
        self.mistake(["help", "inof"], 'unknown subcommand "inof"; did you mean info?')
        self.mistake(["man", "prior", "genrate"], 'unknown subcommand "genrate"; did you mean generate?')
        self.mistake(["info", "extra"], 'unexpected argument "extra"')
        self.mistake(["info", "--device"], "--device")
        self.mistake(["info", "--device", "gpu"], '"gpu" is not auto, cpu, cuda or cuda:<i>')
        self.mistake(["info", "--device", "cuda:x"], '"cuda:x" is not')
        self.mistake(["tokenizer", "fit", "x.csv", "--delimiter", "ab", "--out", "y"], "expected one character")
        self.mistake(["completion"], "shell is required")
        self.mistake(["completion", "tcsh"], "tcsh not in {bash,zsh,fish}")

    def test_help(self):
        for arguments in (["--help"], ["-h"], ["info", "--help"], ["completion", "--help"]):
            code, out, err = causeway(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("Usage: causeway", out)

    def test_help_of_a_subcommand(self):
        self.assertEqual(causeway("help"), causeway("--help"))
        self.assertEqual(causeway("help", "prior", "generate"), causeway("prior", "generate", "--help"))

    def test_help_shows_every_default(self):
        for path in commands():
            if path == []:
                continue
            for line in re.sub(r"\n {10,}", "  ", causeway(*path, "--help")[1]).splitlines():
                takes_a_value = re.match(r"  (-\w,)?--[\w-]+ \S", line)
                if takes_a_value and "REQUIRED" not in line:
                    self.assertTrue(line.endswith("]"), f"{path}: {line}")

    def test_help_has_groups(self):
        out = causeway("pretrain", "--help")[1]
        for heading in ("Options", "Run", "Model", "Prior", "Optimizer", "Configuration", "Device", "Output"):
            self.assertIn(f"\n{heading}:\n", out)

    def test_version(self):
        code, out, _ = causeway("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^causeway \d+\.\d+\.\d+ \((cpu only|cuda \d+\.\d+)\)\n$")
        self.assertEqual(causeway("-V")[1], out)

    def test_counts_have_units(self):
        def resolved(*options):
            code, out, err = causeway("pretrain", "--print-config", "--device", "cpu", *options)
            self.assertEqual(code, 0, err)
            return json.loads(out)

        config = resolved("--steps", "10k", "--batch", "2K", "--rows", "1k:2k", "--memory", "4GiB",
                          "--stages", "1k:512")  # fmt: skip
        self.assertEqual(config["run"]["steps"], 10_000)
        self.assertEqual(config["batch"], 2000)
        self.assertEqual(config["prior"]["rows"], "1000:2000")
        self.assertEqual(config["run"]["memory"], 4 << 30)
        self.assertEqual(config["stages"], [[1000, 512]])
        self.assertEqual(resolved("--steps", "1.5m")["run"]["steps"], 1_500_000)
        self.assertEqual(resolved("--memory", "2G")["run"]["memory"], 2 << 30)
        self.mistake(["pretrain", "--steps", "10q"], '--steps: expected an integer, got "10q"')
        self.mistake(["pretrain", "--steps", "1.2345k"], '--steps: expected an integer, got "1.2345k"')
        describe = ["prior", "describe", "--json", "--rows", "32", "--device", "cpu", "--index"]
        self.assertEqual(causeway(*describe, "1k"), causeway(*describe, "1000"))

    def test_manual_pages(self):
        code, out, err = causeway("man", "prior", "generate")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(".TH CAUSEWAY\\-PRIOR\\-GENERATE 1", out)
        self.assertIn("\\fB\\-\\-features\\fR \\fIRANGE\\fR\nFeatures per dataset [1:100]\n", out)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(causeway("man", "--out", folder)[0], 0)
            pages = sorted(os.listdir(folder))
            self.assertEqual(pages, sorted("-".join(["causeway", *path]) + ".1" for path in commands()))
            if shutil.which("man"):
                for page in pages:
                    shown = subprocess.run(
                        ["man", "--warnings", "-l", os.path.join(folder, page)],
                        capture_output=True,
                        text=True,
                        check=False,
                        env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "400", "LC_ALL": "C.UTF-8"},
                    )
                    self.assertEqual((shown.returncode, shown.stderr), (0, ""), page)

    def test_colour_only_on_a_terminal_that_wants_it(self):
        def on_terminal(*arguments, **environment):
            ours, theirs = os.openpty()
            environment = {"TERM": "xterm", "NO_COLOR": "", **environment}
            with subprocess.Popen(
                [PROGRAM, *arguments], stdout=theirs, stderr=theirs, env={**os.environ, **environment}
            ) as process:
                os.close(theirs)
                text = b""
                try:
                    while part := os.read(ours, 65536):
                        text += part
                except OSError:  # the program closed its end
                    pass
                process.wait()
            os.close(ours)
            return text.decode().replace("\r\n", "\n")

        self.assertIn("\033[1mUsage\033[0m: causeway", on_terminal("--help"))
        self.assertIn("\033[1;31mcauseway:\033[0m unknown", on_terminal("inof"))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\033", on_terminal("--help", **environment))
            self.assertNotIn("\033", on_terminal("inof", **environment))
        self.assertNotIn("\033", causeway("--help", TERM="xterm", NO_COLOR="")[1])


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

    def test_licences_name_every_linked_library(self):
        code, out, _ = causeway("info", "--licences", "--json")
        self.assertEqual(code, 0)
        listed = json.loads(out)
        self.assertTrue(all(entry["licence"] for entry in listed), listed)
        names = " ".join(entry["name"].lower() for entry in listed if entry["version"])
        needed = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True)
        libraries = re.findall(r"^\s+(?:/\S+/)?(?:lib|ld-)([a-z_+]+)", needed.stdout, re.MULTILINE)
        self.assertIn("openblas", libraries)
        for library in libraries:
            glibc = library in ("c", "m", "linux", "pthread", "dl", "rt")
            self.assertIn("glibc" if glibc else library.removesuffix("_s"), names)
        self.assertIn("MIT", causeway("info", "--licences")[1])

    def test_no_such_device(self):
        for device in (["cuda:99"] if has_gpu() else ["cuda", "cuda:0", "cuda:99"]):
            code, out, err = causeway("info", "--device", device)
            self.assertEqual((code, out), (4, ""))
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertRegex(err, "(?i)cuda")

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
        self.assertEqual(self.bash("causeway", "predict", "--transforms", ""),
                         ["none", "power", "quantile", "components"])

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
