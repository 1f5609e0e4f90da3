"""Help, man pages, completion, usage errors, closed pipes: what holds for every command."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from peel_process import PEEL, PeelCase

TABLE = json.loads(subprocess.run([PEEL, "help", "--json"], capture_output=True, check=True).stdout)
COMMANDS = [c["name"] for c in TABLE["commands"]]

# Every word of the command line that this version promises.
PROMISED = {
    "commit": ["message", "author"], "status": ["exit-code"], "log": ["number", "dataset"], "show": ["storage", "b3sum"],
    "diff": ["pages", "stat"], "restore": ["discard"], "rollback": [], "export": ["output"], "cat": ["offset", "length"],
    "branch": ["delete", "rename"], "switch": [], "merge": ["ours", "theirs"], "tag": ["delete"], "snapshot": ["message"],
    "reflog": [], "gc": ["keep-last", "keep-within", "keep-daily", "defer", "repack", "dry-run"],
    "verify": ["deep", "sample", "repair-from"], "digest": [], "move": [], "clone": [], "fetch": [], "pull": [],
    "push": ["all", "tags", "delete", "force-with-lease", "atomic"], "remote": [], "ls": [], "id": ["rotate"],
    "invite": ["allow", "path", "expires", "address"], "join": ["name"], "trust": ["name", "allow"], "untrust": [],
    "peers": [], "serve": ["listen", "create", "quota"], "help": [], "version": [], "bench": [],
}
READING = ["status", "log", "show", "diff", "branch", "tag", "reflog", "gc", "verify", "digest", "remote", "ls", "id", "peers"]


class Table(PeelCase):
    def test_promised_words_exist(self):
        have = {c["name"]: {o["name"] for o in c["options"]} for c in TABLE["commands"]}
        for command, options in PROMISED.items():
            self.assertIn(command, have)
            self.assertLessEqual(set(options) | {"quiet", "verbose", "trace", "help"}, have[command], command)
        for command in READING:
            self.assertIn("json", have[command])

    def test_help_of_every_command_and_topic(self):
        for name in COMMANDS:
            by_option = self.peel(name, "--help")[0]
            self.assertEqual(by_option, self.peel("help", name)[0])
            self.assertIn("SYNOPSIS\n    peel " + name, by_option)
        for topic in TABLE["topics"]:
            self.assertIn("DESCRIPTION", self.peel("help", topic)[0])
        overview = self.peel("help")[0]
        for name in COMMANDS:
            self.assertIn(f"\n  {name} ", overview)
        self.assertEqual(overview, self.peel("--help")[0])
        self.assertIn("did you mean commit", self.peel("help", "comit", expect=2)[1])
        self.peel("help", "comit", "--json", expect=2)
        self.peel("bench", "nosuch", expect=2)

    def test_wrong_usage_is_2_and_prints_nothing_else(self):
        for name in COMMANDS:
            out, err = self.peel(name, "--no-such-option", expect=2)
            self.assertEqual(out, "")
            self.assertIn(f"peel {name} --help", err)
        for words in (["nonsense"], ["copy", "a", "b"], [], ["commit"], ["move", "a"], ["cat", "f", "--offset", "x"],
                      ["gc", "f", "--keep-within", "3"], ["merge", "f", "b", "--ours", "--theirs"]):
            self.assertEqual(self.peel(*words, expect=2)[0], "")

    def test_readme_lists_every_command(self):
        readme = (pathlib.Path(os.environ.get("PEEL_SOURCE_DIR", "../..")) / "README.md").read_text()
        for name in set(COMMANDS) - {"help", "version", "bench"}:
            self.assertIn(f"`{name}`", readme)

    def test_version(self):
        self.assertRegex(self.peel("version")[0], r"^peel \d+\.\d+\.\d+\n$")
        self.assertEqual(self.peel("--version")[0], self.peel("version")[0])
        self.json("version")

    def test_starts_without_libhdf5(self):
        linked = subprocess.run(["ldd", PEEL], capture_output=True, text=True).stdout
        self.assertNotIn("hdf5", linked)


class ManPages(PeelCase):
    def test_every_page_renders_without_a_warning(self):
        self.assertIn(".TH", self.peel("help", "--man")[0])
        groff = shutil.which("groff")
        for name in ["", *COMMANDS, *TABLE["topics"]]:
            page = self.peel("help", "--man", *([name] if name else []))[0]
            if not groff:
                continue
            rendered = subprocess.run([groff, "-man", "-ww", "-Tutf8"], input=page.encode(), capture_output=True)
            self.assertEqual(rendered.stderr.decode(), "", name)
            self.assertIn(b"peel", rendered.stdout)

    def test_pages_are_built_for_installing(self):
        documents = PEEL.parent.parent / "documents"
        if not documents.exists():
            self.skipTest("built without documents")
        for name in COMMANDS:
            self.assertEqual((documents / "man1" / f"peel-{name}.1").read_text(), self.peel("help", "--man", name)[0])


class Completion(PeelCase):
    def test_scripts_have_no_syntax_errors(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.peel("help", "--completion", shell)[0]
            if shutil.which(shell):
                check = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True)
                self.assertEqual((check.returncode, check.stderr), (0, b""), shell)
        self.peel("help", "--completion", "csh", expect=2)

    def complete(self, *words):
        """What bash offers for the last word."""
        script = self.work / "peel.bash"
        script.write_text(self.peel("help", "--completion", "bash")[0])
        line = f"""source {script}; compopt() {{ :; }}; COMP_WORDS=({' '.join(f"'{w}'" for w in words)})
COMP_CWORD={len(words) - 1}; _peel; printf '%s\\n' "${{COMPREPLY[@]}}" """
        shown = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=self.work)
        self.assertEqual(shown.stderr, "")
        return set(shown.stdout.split("\n")) - {""}

    def test_bash_offers_commands_options_values_and_files(self):
        self.write("a file.h5", b"")
        self.assertEqual(self.complete("peel", "com"), {"commit"})
        self.assertEqual(self.complete("peel", "gc", "--keep"), {"--keep-last", "--keep-within", "--keep-daily"})
        self.assertEqual(self.complete("peel", "invite", "--allow", ""), {"read", "append", "write", "admin"})
        self.assertIn("a file.h5", self.complete("peel", "commit", "a"))
        self.assertIn("revisions", self.complete("peel", "help", ""))


class Streams(PeelCase):
    def test_full_disk_behind_standard_output(self):
        with open("/dev/full", "wb") as full:
            process = self.start("help", stdout=full)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 5)
        self.assertIn(b"standard output", err)

    def test_closed_pipe_ends_quietly(self):
        self.write("big", os.urandom(1 << 20))
        self.peel("commit", "big", "-q")
        process = self.start("cat", "big")
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(60), -13)

    def test_ctrl_c_ends_a_blocked_write(self):
        self.write("big", os.urandom(1 << 20))
        self.peel("commit", "big", "-q")
        process = self.start("cat", "big")
        process.stdout.read(1)  # it runs, and now waits for us to read more
        code, _, err = self.interrupt(process)
        self.assertEqual(code, 130)
        self.assertIn(b"interrupted", err)

    def test_nothing_on_standard_error_when_all_is_well(self):
        self.write("f", b"x" * 100)
        self.assertEqual(self.peel("commit", "f")[1], "")
        self.assertEqual(self.peel("commit", "f", "-q"), ("", ""))
        self.assertEqual(self.peel("log", "f")[1], "")
        self.assertIn("+0.", self.peel("log", "f", "--trace")[1])


if __name__ == "__main__":
    unittest.main()
