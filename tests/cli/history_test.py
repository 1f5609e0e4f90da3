"""The history commands on plain files: what they do, print, and exit with."""
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import unittest

from peel_process import PeelCase


def content(seed, size=300_000):
    return bytes((i * 31 + seed * 7 + i // 4096) % 251 for i in range(size))


class Record(PeelCase):
    def test_commit_log_and_nothing_new(self):
        self.write("f", content(1))
        first = self.json("commit", "f", "-m", "first")["files"][0]
        self.assertTrue(first["added"] and first["created"])
        again = self.json("commit", "f", "--full")["files"][0]
        self.assertFalse(again["added"])
        self.assertEqual(again["revision"]["id"], first["revision"]["id"])
        self.write("f", content(2))
        self.json("commit", "f", "-m", "second\nline two", "--author", "eve")
        log = self.json("log", "f")
        self.assertEqual([r["number"] for r in log["revisions"]], [2, 1])
        newest = log["revisions"][0]
        self.assertEqual((newest["author"], newest["note"]), ("eve", "second\nline two"))
        self.assertEqual(newest["parents"], [first["revision"]["id"]])
        self.assertEqual(newest["branches"], ["main"])
        self.assertEqual(len(self.json("log", "f", "-n", "1")["revisions"]), 1)
        self.assertEqual([r["number"] for r in self.json("log", "f", "@1")["revisions"]], [1])
        text = self.peel("log", "f")[0]
        self.assertIn("@2", text)
        self.assertIn("    line two\n", text)
        self.assertEqual(self.peel("list-revisions", "f")[0], text)

    def test_several_files_and_the_onion_as_name(self):
        for name in ("a", "b"):
            self.write(name, name.encode() * 5000)
        out, err = self.peel("commit", "a", "missing", "b", expect=8)
        self.assertIn("missing", err)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertEqual(len(self.json("log", "a.onion")["revisions"]), 1)
        listing = self.json("log")
        self.assertEqual([os.path.basename(f["file"]) for f in listing["files"]], ["a", "b"])
        self.assertEqual(len(self.peel("log", self.work)[0].splitlines()), 4)

    def test_one_bad_history_does_not_hide_the_others(self):
        for name in ("a", "b", "c"):
            self.write(name, name.encode() * 5000)
            self.peel("commit", name, "-q")
        (self.work / "b.onion").write_bytes(b"nonsense" * 4096)
        for command in ("log", "status"):
            out, err = self.peel(command, expect=8)
            self.assertIn("b.onion", err)
            self.assertIn("a  ", out)
            self.assertIn("c  ", out)

    def test_commit_with_a_codec(self):
        self.write("f", b"".join((i // 8).to_bytes(4, "little") for i in range(20_000)))
        self.peel("commit", "f", "--codec", "nosuch", expect=2)
        for i, codec in enumerate(["lz4", "shuf+zstd", "dbp", "delta+shuf+zstd", "planes", "raw"]):
            self.write("f%d" % i, (self.work / "f").read_bytes())
            self.peel("commit", "f%d" % i, "--codec", codec)
            rows = self.json("show", "f%d" % i, "--storage")["storage"]["codecs"]
            taken = sum(r["plain_bytes"] for r in rows if r["codec"] == codec)
            self.assertGreater(taken, 0.8 * 80_000, rows)  # a short last chunk may do without
            self.peel("verify", "f%d" % i, "--deep")

    def test_long_lists(self):
        self.write("f", b"x")
        for i in range(24):  # beyond what log looks into
            self.write("f", b"%d" % i)
            self.peel("commit", "f", "-q")
        self.assertEqual([r["number"] for r in self.json("log", "f")["revisions"]], list(range(24, 0, -1)))
        self.assertEqual(self.peel("log", "f", "--all")[0].count("@"), 24)

    def test_history_elsewhere(self):
        self.write("f", b"abc")
        self.peel("commit", "f", "--onion", "elsewhere.onion")
        self.assertFalse((self.work / "f.onion").exists())
        self.assertEqual(len(self.json("log", "f", "--onion", "elsewhere.onion")["revisions"]), 1)
        self.peel("log", "f", expect=3)
        self.peel("commit", "f", "f", "--onion", "x", expect=2)

    def test_status(self):
        self.write("f", content(1))
        self.assertEqual(self.json("status", "f")["files"][0]["state"], "untracked")
        self.peel("commit", "f")
        self.assertEqual(self.json("status", "f", "--exit-code")["files"][0]["state"], "unmodified")
        self.write("f", content(2))
        status = self.json("status", "--exit-code", expect=1)["files"][0]
        self.assertEqual(status["state"], "modified")
        self.assertEqual(status["head"]["number"], 1)
        (self.work / "f").unlink()
        self.assertEqual(self.json("status")["files"][0]["state"], "missing")
        self.assertIn("missing", self.peel("status")[0])

    def test_names_from_outside_are_escaped(self):
        name = "bad\x1b[2J\nname"
        self.write(name, b"x" * 10)
        out, _ = self.peel("commit", name, "-m", "note\x1b[31m")
        self.assertNotIn("\x1b", out)
        self.assertIn("\\x1b", out)
        self.assertNotIn("\x1b", self.peel("log", name)[0])
        self.assertEqual(self.json("log", name)["revisions"][0]["note"], "note\x1b[31m")

    def test_bytes_that_are_no_text(self):
        name = os.fsdecode(b"caf\xe9")
        self.write(name, b"x")
        self.peel("commit", name)
        self.assertEqual(os.path.basename(self.json("log", name)["file"]), name)


class Look(PeelCase):
    def setUp(self):
        super().setUp()
        self.v1 = content(1)
        self.v2 = self.v1[:4096] + bytes(4096) + self.v1[8192:] + b"tail"
        for version in (self.v1, self.v2):
            self.write("f", version)
            self.peel("commit", "f", "-q")

    def test_show(self):
        shown = self.json("show", "f", "@1", "--storage", "--b3sum")
        self.assertEqual(shown["revision"]["size"], len(self.v1))
        self.assertEqual(sum(c["plain_bytes"] for c in shown["storage"]["codecs"]) > 0, True)
        self.assertEqual(len(shown["b3sum"]), 64)
        if b3sum := shutil.which("b3sum"):
            self.write("v1", self.v1)
            out = subprocess.run([b3sum, self.work / "v1"], capture_output=True, text=True).stdout
            self.assertEqual(out.split()[0], shown["b3sum"])
        digest = self.json("digest", "f")["files"][0]["content"]
        self.assertEqual(digest, self.json("show", "f")["revision"]["content"])
        self.assertIn(digest, self.peel("show", "f")[0])

    def test_diff(self):
        same = self.json("diff", "f")
        self.assertTrue(same["same"])
        changed = self.json("diff", "f", "@1", "@2", "--pages", expect=1)
        self.assertFalse(changed["same"])
        self.assertEqual((changed["size_a"], changed["size_b"]), (len(self.v1), len(self.v2)))
        self.assertEqual(changed["ranges"][0], {"offset": 4096, "length": 4096})
        self.assertEqual(changed["hdf5"], "none")
        self.assertEqual(changed["range_count"], len(changed["ranges"]))
        self.assertIn("bytes 4,096 to 8,191", self.peel("diff", "f", "@1", "--pages", expect=1)[0])
        self.assertNotIn("bytes 4,096", self.peel("diff", "f", "@1", "--pages", "--stat", expect=1)[0])
        self.write("f", self.v1)
        self.assertEqual(self.json("diff", "f", expect=1)["a"]["number"], 2)

    def test_export_cat_digest(self):
        self.peel("export", "f", "@1", "-o", "out")
        self.assertEqual((self.work / "out").read_bytes(), self.v1)
        self.peel("export", "f", "@2", "-o", "out", expect=2)
        self.peel("export-revision", "f", "@2", "-o", "out", "--force")
        self.assertEqual((self.work / "out").read_bytes(), self.v2)
        self.peel("export", "f", expect=2)
        self.peel("export", "f", "--history", "-o", "copy.onion")
        self.assertEqual(self.peel("log", "copy.onion")[0].count("@"), 2)
        read = lambda *a: self.start("cat", "f", *a).communicate(timeout=60)[0]
        self.assertEqual(read("@1"), self.v1)
        self.assertEqual(read("@2", "--offset", "4K", "--length", "5000"), self.v2[4096:9096])
        self.assertEqual(read("@2", "--offset", "1G"), b"")
        out = self.peel("digest", "f", "-", input=self.v2)[0].splitlines()
        self.assertEqual(out[0].split()[0], out[1].split()[0])
        self.assertTrue(out[0].startswith("peel1:") and out[0].endswith("  f"))
        self.peel("digest", "f", "missing", expect=8)
        self.peel("digest", "missing", expect=3)

    def test_not_found(self):
        self.peel("log", "nothing", expect=3)
        self.peel("show", "f", "@9", expect=3)
        self.peel("show", "f", "nobranch", expect=3)
        self.assertIn("peel commit", self.peel("log", "nothing", expect=3)[1])

    def test_reflog(self):
        entries = self.json("reflog", "f")["entries"]
        self.assertEqual([e["name"] for e in entries if e["kind"] == "branch"], ["main", "main"])
        self.assertNotIn("before", [e for e in entries if e["kind"] == "branch"][-1])
        self.assertEqual(len(self.json("reflog", "f", "-n", "1")["entries"]), 1)
        self.assertIn("branch main", self.peel("reflog", "f")[0])


class Change(PeelCase):
    def setUp(self):
        super().setUp()
        self.v1, self.v2 = content(1), content(1)[:100_000] + b"\xfe" * 4096 + content(1)[104_096:]
        for version in (self.v1, self.v2):
            self.write("f", version)
            self.peel("commit", "f", "-q")

    def bytes(self):
        return (self.work / "f").read_bytes()

    def test_restore_and_unsaved_changes(self):
        self.peel("restore", "f", "@1")
        self.assertEqual(self.bytes(), self.v1)
        self.peel("checkout", "f")
        self.assertEqual(self.bytes(), self.v2)
        self.write("f", b"unsaved")
        _, err = self.peel("restore", "f", "@1", expect=7)
        self.assertIn("--discard", err)
        self.assertEqual(self.bytes(), b"unsaved")
        self.peel("restore", "f", "@1", "--discard")
        self.assertEqual(self.bytes(), self.v1)

    def test_symlinks_are_refused(self):
        os.rename(self.work / "f", self.work / "real")
        os.symlink("real", self.work / "f")
        self.peel("restore", "f", "@1", expect=7)
        self.assertEqual((self.work / "real").read_bytes(), self.v2)

    def test_rollback_adds_a_revision(self):
        self.peel("rollback", "f", "@1", "-m", "back")
        self.assertEqual(self.bytes(), self.v1)
        newest = self.json("log", "f")["revisions"][0]
        self.assertEqual((newest["number"], newest["note"], newest["labels"]), (3, "back", ["rollback"]))

    def test_branches(self):
        self.peel("branch", "f", "exp", "@1")
        self.peel("branch", "f", "exp", expect=2)
        self.peel("switch", "f", "exp")
        self.assertEqual(self.bytes(), self.v1)
        listing = self.json("branch", "f")
        self.assertEqual(listing["current"], "exp")
        self.assertEqual([b["name"] for b in listing["branches"]], ["exp", "main"])
        self.assertIn("* exp", self.peel("branch", "f")[0])
        self.peel("branch", "f", "--rename", "exp", "other")
        self.peel("branch", "f", "--delete", "other", expect=7)
        self.peel("switch", "f", "main")
        self.peel("branch", "f", "--delete", "other")
        self.peel("switch", "f", "other", expect=3)
        self.peel("branch", "f", "x", "--json", expect=2)

    def test_merge(self):
        self.peel("branch", "f", "exp", "@1")
        self.peel("switch", "f", "exp")
        edited = b"?" * 4096 + self.v1[4096:]
        self.write("f", edited)
        self.peel("commit", "f", "-q")
        self.peel("switch", "f", "main")
        self.peel("merge", "f", "exp", "-m", "joined")
        self.assertEqual(self.bytes(), b"?" * 4096 + self.v2[4096:])
        self.assertEqual(len(self.json("show", "f")["revision"]["parents"]), 2)
        self.assertIn("already", self.peel("merge", "f", "exp")[0])

    def test_merge_conflict_is_1_and_changes_nothing(self):
        self.peel("branch", "f", "exp", "@1")
        self.peel("switch", "f", "exp")
        self.write("f", self.v1[:100_000] + b"\xff" * 4096 + self.v1[104_096:])
        self.peel("commit", "f", "-q")
        self.peel("switch", "f", "main")
        out, err = self.peel("merge", "f", "exp", expect=1)
        self.assertIn("conflict in bytes 100,", out)
        self.assertIn("--ours", err)
        self.assertEqual(self.bytes(), self.v2)
        self.peel("merge", "f", "exp", "--theirs")
        self.assertEqual(self.bytes()[100_000:104_096], b"\xff" * 4096)

    def test_tags_and_snapshots(self):
        self.peel("tag", "f", "paper", "@1", "-m", "as published")
        self.peel("snapshot", "f", "now", "-m", "all good")
        self.peel("snapshot", "f")
        tags = self.json("tag", "f")["tags"]
        self.assertEqual([t["name"] for t in tags][:2], ["now", "paper"])
        self.assertEqual(tags[1]["note"], "as published")
        self.assertEqual(tags[1]["revision"]["number"], 1)
        self.assertTrue(tags[2]["name"].startswith("snapshot-"))
        self.assertIn("paper  @1", self.peel("tag", "f")[0])
        self.assertIn("tag paper", self.peel("log", "f")[0])
        self.peel("tag", "f", "--delete", "paper")
        self.peel("tag", "f", "--delete", "paper", expect=3)

    def test_move(self):
        (self.work / "sub").mkdir()
        self.peel("move", "f", "sub/g")
        self.assertFalse((self.work / "f.onion").exists())
        self.assertEqual(len(self.json("log", "sub/g")["revisions"]), 2)


class Care(PeelCase):
    def setUp(self):
        super().setUp()
        for version in range(6):
            self.write("f", random.Random(version).randbytes(50_000))
            self.peel("commit", "f", "-q")

    def test_gc(self):
        dry = self.json("gc", "f", "--keep-last", "2", "--dry-run")
        self.assertEqual((dry["revisions_before"], dry["revisions_kept"]), (6, 2))
        self.assertEqual(len(self.json("log", "f", "--all")["revisions"]), 6)
        self.assertEqual(self.json("gc", "f")["removed"], [])
        done = self.json("gc", "f", "--keep-last", "2")
        self.assertTrue(done["compacted"] and done["bytes_after"] < done["bytes_before"])
        self.assertEqual([r["number"] for r in self.json("log", "f")["revisions"]], [6, 5])
        self.peel("verify", "f", "--deep")

    def test_deferred_gc(self):
        marked = self.json("gc", "f", "--keep-last", "1", "--epoch")
        self.assertFalse(marked["compacted"])
        size = (self.work / "f.onion").stat().st_size
        self.peel("gc", "f", "--flush")
        self.assertLess((self.work / "f.onion").stat().st_size, size)
        self.peel("gc", "f", "--defer", "--dry-run", expect=2)

    def test_damage_to_the_newest_commit_leaves_the_older_ones(self):
        self.write("g", os.urandom(100_000))
        self.peel("commit", "g", "-q")
        old = (self.work / "g").read_bytes()
        size = (self.work / "g.onion").stat().st_size
        self.write("g", os.urandom(60_000) + old[60_000:])
        self.peel("commit", "g", "-q")
        sound = (self.work / "g.onion").read_bytes()
        self.write("copy.onion", sound)
        middle = (size + len(sound)) // 2
        flipped = sound[:middle] + bytes([sound[middle] ^ 4]) + sound[middle + 1:]
        self.write("g.onion", flipped)
        self.peel("export", "g", "@1", "-o", "g1")
        self.assertEqual((self.work / "g1").read_bytes(), old)
        self.assertEqual(len(self.json("log", "g")["revisions"]), 2)
        report = self.json("verify", "g", expect=4)
        self.assertEqual(report["damage"][0]["revision"], 2)
        self.assertGreater(report["damage"][0]["length"], 0)
        self.json("verify", "g", "--repair-from", "copy.onion")
        self.assertEqual((self.work / "g.onion").read_bytes(), sound)

    def rot(self, name, at):
        """Flips a bit behind `at` bytes of a history: in the first chunk of the commit that began there."""
        with open(self.work / name, "r+b") as file:
            file.seek(at + 200)
            byte = file.read(1)[0]
            file.seek(at + 200)
            file.write(bytes([byte ^ 8]))

    def test_the_last_sound_copy_is_not_replaced(self):
        self.write("g", os.urandom(100_000))
        self.peel("commit", "g", "-q")
        size = (self.work / "g.onion").stat().st_size
        newest = os.urandom(9_000) + (self.work / "g").read_bytes()[9_000:]
        self.write("g", newest)
        self.peel("commit", "g", "-q")
        self.peel("branch", "g", "old", "@1")
        self.rot("g.onion", size)
        for command in (["restore", "g", "@1"], ["rollback", "g", "@1"], ["switch", "g", "old"]):
            _, err = self.peel(*command, expect=4)
            self.assertIn("last sound copy", err)
            self.assertEqual((self.work / "g").read_bytes(), newest)
        self.peel("restore", "g", "@1", "--discard")

    def test_a_full_commit_stores_again_what_rotted(self):
        self.write("g", os.urandom(100_000))
        self.peel("commit", "g", "-q")
        content = (self.work / "g").read_bytes()
        self.rot("g.onion", 8192 + 800)
        self.peel("verify", "g", expect=4)
        self.peel("export", "g", "-o", "out", expect=4)
        self.peel("commit", "g", "--full")
        self.peel("export", "g", "-o", "out")
        self.assertEqual((self.work / "out").read_bytes(), content)
        self.peel("export", "g", "@1", "-o", "out1", expect=4)  # the old revision is what it was
        self.assertIn("nothing changed", self.peel("commit", "g", "--full")[0])

    def test_log_goes_on_past_what_cannot_be_looked_into(self):
        hdf5_signature = b"\x89HDF\r\n\x1a\n"
        ends = []
        for _ in range(3):
            self.write("g", hdf5_signature + os.urandom(50_000))
            self.peel("commit", "g", "-q", "--no-hdf5")
            ends.append((self.work / "g.onion").stat().st_size)
        self.rot("g.onion", ends[0])
        out, _ = self.peel("log", "g")
        self.assertEqual(len([line for line in out.splitlines() if line.startswith("@")]), 3)

    def test_a_shorter_history_is_never_silent(self):
        for i in range(5):
            self.write("g", os.urandom(30_000))
            self.peel("commit", "g", "-q")
        sound = (self.work / "g.onion").read_bytes()
        self.write("g.onion", bytes(512) + sound[512:])
        _, err = self.peel("verify", "g", expect=4)
        _, err = self.peel("status", "g")
        self.assertIn("superblock A", err)
        self.write("g.onion", bytes(512) + sound[512:-20_000])
        self.assertEqual([r["number"] for r in self.json("log", "g", expect=4)["revisions"]], [4, 3, 2, 1])
        for command in (["verify", "g"], ["status", "g"], ["commit", "g"], ["export", "g", "-o", "new"], ["clone", "g.onion", "h"]):
            _, err = self.peel(*command, expect=4)
            self.assertIn("damage", err)
        self.peel("export", "g", "@3", "-o", "new")
        self.write("g.onion", bytes(512) + sound[512:])
        self.write("g", b"more")
        self.peel("commit", "g", "-q")  # writes the superblock anew
        self.peel("verify", "g", "--deep")

    def test_verify_finds_and_repairs_damage(self):
        sound = self.json("verify", "f", "--deep")
        self.assertEqual((sound["damage"], sound["revisions"]), ([], 6))
        self.json("verify", "f", "--sample", "50%")
        for bad in ("0", "101", "x", "5%%"):
            self.peel("verify", "f", "--sample", bad, expect=2)
        self.peel("gc", "f", "--flush")  # what a superblock acknowledges is damage when it is unreadable, never a crash
        onion = self.work / "f.onion"
        shutil.copy(onion, self.work / "copy.onion")
        data = bytearray(onion.read_bytes())
        data[len(data) // 3] ^= 0x55
        onion.write_bytes(data)
        report = self.json("verify", "f", "--deep", expect=4)
        self.assertTrue(report["damage"])
        out, err = self.peel("verify", "f", "--deep", expect=4)
        self.assertIn("DAMAGED", out)
        self.assertIn("--repair-from", err)
        repaired = self.json("verify", "f", "--repair-from", "copy.onion")
        self.assertTrue(repaired["repaired"])
        self.peel("verify", "f", "--deep")


class OddNames(PeelCase):
    """What is no plain file under a name of ours is named at once, and never waited for."""

    def test_fifos_do_not_hang(self):
        self.write("f", b"x")
        os.mkfifo(self.work / "f.onion")
        os.mkfifo(self.work / "pipe")
        for words in (["status", "f"], ["log", "f"], ["verify", "f"], ["commit", "f"], ["commit", "pipe"],
                      ["move", "f", "g"], ["clone", f"file://{self.work}/f", "g"], ["clone", f"file://{self.work}/pipe", "g"]):
            self.assertIn("not a regular file", self.peel(*words, expect=7)[1], words)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.work / "s.onion"))
            self.assertIn("not a regular file", self.peel("log", "s", expect=7)[1])

    def test_directories(self):
        self.write("f", b"x")
        (self.work / "f.onion").mkdir()
        for words in (["status", "f"], ["log", "f"], ["verify", "f"], ["commit", "f"], ["show", "f"], ["move", "f", "g"]):
            self.assertIn("f.onion is a directory", self.peel(*words, expect=7)[1], words)
        for command in ("commit", "digest"):
            self.assertIn("name a file", self.peel(command, ".", expect=2)[1])
        self.assertIn("no directory", self.peel("log", "nodir/", expect=3)[1])

    def test_symbolic_links_to_histories(self):
        self.write("f", b"x")
        (self.work / "f.onion").symlink_to("nowhere")
        for words in (["commit", "f"], ["log", "f"], ["snapshot", "f"]):
            self.assertIn("leads nowhere", self.peel(*words, expect=7)[1])
        self.write("real", b"x")
        self.peel("commit", "real")
        (self.work / "g.onion").symlink_to("real.onion")
        shutil.copy(self.work / "real", self.work / "g")
        self.assertIn("symbolic link", self.peel("move", "g", "h", expect=7)[1])
        self.assertTrue((self.work / "g").exists() and (self.work / "g.onion").is_symlink())

    def test_an_empty_name_is_wrong_usage(self):
        self.write("f", b"x")
        self.peel("commit", "f")
        self.peel("export", "f", "-o", "", expect=2)

    def test_names_as_long_as_a_directory_takes(self):
        for size in (186, 199, 225, 245):
            name = ("ä" * 200).encode()[:size - size % 2 - 4].decode("utf-8") + "abcd"[: 4 + size % 2]
            self.write(name, content(size))
            self.peel("commit", name)
            self.write(name, content(size + 1))
            self.peel("commit", name)
            (self.work / "there").mkdir()
            self.peel("clone", f"file://{self.work}/{name}", "there")
            self.assertEqual((self.work / "there" / name).read_bytes(), content(size + 1))
            self.assertEqual(sorted(os.listdir(self.work / "there")), sorted([name, name + ".onion"]))
            self.peel("restore", name, "@1", cwd=self.work / "there")
            self.peel("gc", name, "--keep-last", "1", cwd=self.work / "there")
            shutil.rmtree(self.work / "there")


class Leftovers(PeelCase):
    """What a run that was killed left behind is named, and never deleted while nothing else has it."""

    def setUp(self):
        super().setUp()
        self.write("f", content(1))
        self.peel("commit", "f")
        self.write("f", content(2))
        self.peel("commit", "f")
        self.swap = ".f.peel-swap-0123456789abcdef"

    def test_unsaved_bytes_are_named(self):
        self.write(self.swap, b"precious")
        for words in (["status"], ["status", "f"], ["commit", "f"], ["restore", "f"]):
            err = self.peel(*words)[1]
            self.assertIn(self.swap, err, words)
            self.assertIn(f"mv {self.swap} f", err)
            self.assertIn(f"rm {self.swap}", err)
        self.assertEqual([(l["file"], l["path"], l["size"]) for l in self.json("status")["left_behind"]], [("f", self.swap, 8)])
        self.assertEqual((self.work / self.swap).read_bytes(), b"precious")
        self.write("f", b"unsaved")
        self.assertIn(self.swap, self.peel("restore", "f", expect=7)[1])
        self.peel("commit", "f")
        os.rename(self.work / self.swap, self.work / "f")  # as the message says
        self.peel("commit", "f")
        self.assertEqual(self.peel("status")[1], "")

    def test_saved_bytes_are_no_news_and_go(self):
        self.write(self.swap, content(1))
        self.assertEqual(self.peel("status", "f")[1], "")
        self.peel("restore", "f", "@1")
        self.assertFalse((self.work / self.swap).exists())

    def test_a_terminal_that_hangs_up_leaves_nothing(self):
        self.write("big", os.urandom(48 << 20))
        process = self.start("commit", "big")
        for _ in range(2000):
            if list(self.work.glob(".big.onion.peel-new-*")) or process.poll() is not None:
                break
            time.sleep(0.002)
        code, _, err = self.interrupt(process, signal.SIGHUP)
        self.assertIn(code, (0, 130), err)  # 0: it was quicker than we
        self.assertEqual(list(self.work.glob(".big*")), [])
        self.assertEqual((self.work / "big.onion").exists(), code == 0)

    def test_half_made_histories_go(self):
        self.write("g", b"x")
        half = self.work / "..g.onion.peel-new-0123456789abcdef.new-0123456789ab"
        half.write_bytes(b"x")
        self.peel("commit", "g")
        self.assertFalse(half.exists())
        old, young = self.work / ".h.onion.incomplete-from-0.new-0123456789ab", self.work / ".h.onion.new-0123456789ab"
        old.write_bytes(b"x")
        time.sleep(0.01)
        young.write_bytes(b"x")
        self.peel("clone", f"file://{self.work}/f", "h")
        self.assertTrue(young.exists())  # somebody may be making it this moment


class Writers(PeelCase):
    def test_nothing_new_is_not_called_recorded(self):
        signature = b"\x89HDF\r\n\x1a\n" + bytes(4096)
        path = self.write("f.h5", signature)
        self.peel("commit", "f.h5")
        with open(path, "r+b"):
            err = self.peel("commit", "f.h5")[1]
        self.assertNotIn("recorded all the same", err)
        self.assertIn("recorded already", err)


if __name__ == "__main__":
    unittest.main()
