"""Moving histories between processes: each machine is a directory with its own configuration."""
import os
import re
import signal
import socket
import subprocess
import time
import unittest

from peel_process import TIMEOUT_S, PeelCase


def content(seed, size=200_000):
    return bytes((i * 31 + seed * 7 + i // 4096) % 251 for i in range(size))


class SharingCase(PeelCase):
    def setUp(self):
        super().setUp()
        self.machines = {}
        for name in ("hub", "alice", "bob", "mallory"):
            (self.dir / name / "files").mkdir(parents=True)
        self.server = None

    def on(self, machine, *arguments, **more):
        return self.peel(*arguments, config=self.dir / machine / "config", cwd=self.dir / machine / "files", **more)

    def json_on(self, machine, *arguments, **more):
        return self.json(*arguments, config=self.dir / machine / "config", cwd=self.dir / machine / "files", **more)

    def file(self, machine, name="f"):
        return self.dir / machine / "files" / name

    def serve(self, *options, listen="127.0.0.1:0"):
        self.server = self.start("serve", "root", "--listen", listen, "--create", *options,
                                 config=self.dir / "hub" / "config", cwd=self.dir / "hub" / "files")
        self.addCleanup(self.stop)
        line = self.server.stdout.readline().decode()
        match = re.fullmatch(r"serving root at (127\.0\.0\.1:\d+) (as peel1-\S+|without a key)\n", line)
        self.assertTrue(match, line + (self.server.stderr.read().decode() if not line else ""))
        self.address = match[1]

    def stop(self, signal_number=signal.SIGTERM):
        if self.server is None:
            return None
        code, out, err = self.interrupt(self.server, signal_number)
        self.server = None
        return code, err.decode()

    def join(self, machine, allow="write", *options):
        line = self.on("hub", "invite", "--address", self.address, "--allow", allow, *options)[0]
        self.assertEqual(len(line.splitlines()), 1)
        self.on(machine, "join", line.strip(), "--name", "hub")
        return line.strip()

    def commit(self, machine, data, note=""):
        self.file(machine).write_bytes(data)
        return self.json_on(machine, "commit", "f", "-m", note)["files"][0]["revision"]


class Sharing(SharingCase):
    def test_push_clone_pull_round_trip(self):
        self.serve()
        self.join("alice")
        self.join("bob", "read")
        versions = [content(i) for i in range(3)]
        for i, version in enumerate(versions):
            self.commit("alice", version, f"v{i}")
        self.on("alice", "tag", "f", "first", "@1")
        pushed = self.json_on("alice", "push", "f", "hub:lab/f", "--tags")
        self.assertTrue(pushed["created"])
        self.assertEqual({(r["kind"], r["name"], r["state"]) for r in pushed["refs"]},
                         {("branch", "main", "moved"), ("tag", "first", "moved")})
        self.assertEqual(self.json_on("alice", "remote", "f")["remotes"], [{"name": "origin", "url": "hub:lab/f"}])

        listed = self.json_on("bob", "ls", "hub:")["onions"]
        self.assertEqual([o["name"] for o in listed], ["lab/f"])
        self.on("bob", "clone", "hub:lab/f")
        self.assertEqual(self.file("bob").read_bytes(), versions[2])
        for i, version in enumerate(versions):
            self.on("bob", "export", "f", f"@{i + 1}", "-o", "out", "--force")
            self.assertEqual(self.file("bob", "out").read_bytes(), version)
        ids = lambda machine: [r["id"] for r in self.json_on(machine, "log", "f")["revisions"]]
        self.assertEqual(ids("alice"), ids("bob"))
        self.assertEqual([t["name"] for t in self.json_on("bob", "tag", "f")["tags"]], ["first"])

        self.commit("alice", content(9), "v3")
        moved = self.json_on("alice", "push", "f")
        self.assertEqual(moved["transfer"]["revisions"], 1)
        fetched = self.json_on("bob", "fetch", "f")
        self.assertEqual([(b["name"], b["state"], b["behind"]) for b in fetched["branches"]], [("main", "behind", 1)])
        self.assertEqual(self.file("bob").read_bytes(), versions[2])
        self.assertIn("ahead", self.on("bob", "status", "f")[0])
        pulled = self.json_on("bob", "pull", "f")
        self.assertTrue(pulled["pulled"]["moved"] and pulled["pulled"]["file_changed"])
        self.assertEqual(self.file("bob").read_bytes(), content(9))
        self.assertIn("nothing to take over", self.on("bob", "pull", "f")[0])

        self.on("bob", "push", "f", expect=7)  # may only read

    def test_diverged_histories_keep_both_heads(self):
        self.serve()
        self.join("alice")
        self.join("bob")
        base = content(1)
        self.commit("alice", base)
        self.on("alice", "push", "f", "hub:f")
        self.on("bob", "clone", "hub:f")
        first = self.commit("alice", b"\xff" * 4096 + base[4096:])
        self.on("alice", "push", "f")
        second = self.commit("bob", base[:-4096] + b"\xfe" * 4096)
        self.assertEqual(first["number"], second["number"])
        _, err = self.on("bob", "push", "f", expect=7)
        self.assertIn("fetch, then merge", err)
        out, err = self.on("bob", "pull", "f", expect=1)
        self.assertIn("diverged", err)
        self.assertIn("peel merge f origin/main", err)
        pulled = self.json_on("bob", "pull", "f", expect=1)
        self.assertEqual([b["state"] for b in pulled["branches"]], ["diverged"])
        self.assertFalse(pulled["pulled"]["moved"])
        status = self.json_on("bob", "status", "f")["files"][0]
        self.assertEqual(status["diverged"], ["origin/main"])
        heads = {b["name"]: b["revision"]["id"] for b in self.json_on("bob", "branch", "f")["branches"]}
        self.assertEqual(heads, {"main": second["id"], "origin/main": first["id"]})
        self.on("bob", "merge", "f", "origin/main")
        self.assertEqual(self.file("bob").read_bytes(), b"\xff" * 4096 + base[4096:-4096] + b"\xfe" * 4096)
        self.on("bob", "push", "f")
        self.on("alice", "pull", "f")
        self.assertEqual(self.file("alice").read_bytes(), self.file("bob").read_bytes())

    def test_pull_never_overwrites_unsaved_changes(self):
        self.serve()
        self.join("alice")
        self.join("bob")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:f")
        self.on("bob", "clone", "hub:f")
        self.commit("alice", content(2))
        self.on("alice", "push", "f")
        self.file("bob").write_bytes(b"precious")
        self.on("bob", "pull", "f", expect=7)
        self.assertEqual(self.file("bob").read_bytes(), b"precious")
        self.on("bob", "pull", "f", "--keep-changes")
        self.assertEqual(self.file("bob").read_bytes(), b"precious")
        self.file("alice").write_bytes(b"not committed")
        self.assertIn("unsaved changes", self.on("alice", "push", "f")[1])

    def test_clone_never_overwrites(self):
        self.serve()
        self.join("alice")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:f")
        self.on("alice", "clone", "hub:f", expect=7)
        self.on("alice", "clone", "hub:missing", "g", expect=3)
        self.assertFalse(self.file("alice", "g").exists())

    def test_branches_are_pushed_and_deleted(self):
        self.serve()
        self.join("alice")
        self.commit("alice", content(1))
        self.on("alice", "branch", "f", "exp")
        pushed = self.json_on("alice", "push", "f", "hub:f", "--all")
        self.assertEqual({r["name"] for r in pushed["refs"]}, {"main", "exp"})
        gone = self.json_on("alice", "push", "f", "--delete", "exp")
        self.assertEqual([(r["name"], r["state"]) for r in gone["refs"]], [("exp", "deleted")])
        branches = self.json_on("alice", "ls", "hub:")["onions"][0]["branches"]
        self.assertEqual([b["name"] for b in branches], ["main"])

    def test_remotes(self):
        self.commit("alice", b"x")
        self.on("alice", "push", "f", expect=3)
        self.on("alice", "remote", "f", "origin", "peel://example.org/f")
        self.assertIn("peel://example.org", self.on("alice", "remote", "f")[0])
        self.on("alice", "remote", "f", "origin", expect=2)
        self.on("alice", "remote", "f", "bad name", "hub:f", expect=2)
        self.on("alice", "remote", "f", "--delete", "origin")
        self.on("alice", "remote", "f", "--delete", "origin", expect=3)
        self.on("alice", "clone", "http://example.org/f", expect=2)
        for url in ("foo://x", "ssh://host/f", "mesh://node/f"):
            self.assertIn("peel://HOST", self.on("alice", "remote", "f", "o", url, expect=2)[1])

    def test_local_histories_need_no_server(self):
        self.commit("alice", content(1))
        self.on("bob", "clone", f"file://{self.file('alice')}.onion", "mine")
        self.assertEqual(self.file("bob", "mine").read_bytes(), content(1))

    def damage(self, path):
        """Flips a byte in a chunk of the first commit, far from what an open looks at."""
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x55
        path.write_bytes(data)

    def test_damage_at_the_source_is_4_and_named(self):
        self.serve()
        self.join("alice")
        self.join("bob")
        self.commit("alice", os.urandom(12 << 20))
        self.on("alice", "push", "f", "hub:f")
        self.damage(self.dir / "hub" / "files" / "root" / "f.onion")
        self.damage(self.file("alice", "f.onion"))
        _, err = self.on("bob", "clone", "hub:f", expect=4)
        self.assertIn("hub says: f.onion is damaged", err)
        self.assertIn("peel verify f.onion", err)
        _, err = self.on("bob", "clone", f"file://{self.file('alice')}", expect=4)
        self.assertIn(f"{self.file('alice')}.onion is damaged", err)
        self.assertNotIn("memory", err)
        _, err = self.on("alice", "push", "f", self.file("bob", "g"), expect=4)
        self.assertIn("f.onion is damaged", err)

    def test_a_clone_without_its_file_hints_at_restore(self):
        self.commit("alice", content(1))
        self.on("bob", "clone", f"file://{self.file('alice')}", "f")
        self.file("bob").unlink()
        _, err = self.on("bob", "clone", f"file://{self.file('alice')}", "f", expect=2)
        self.assertIn("peel restore f", err)

    def test_two_clones_to_one_name(self):
        self.commit("alice", os.urandom(2 << 20))
        for _ in range(5):
            clones = [self.start("clone", f"file://{self.file('alice')}", "g", cwd=self.dir / "bob" / "files") for _ in range(3)]
            ends = [(p.communicate(timeout=TIMEOUT_S)[1].decode(), p.returncode) for p in clones]
            self.assertEqual(sorted(code for _, code in ends)[0], 0, ends)
            for err, code in ends:
                self.assertIn(code, (0, 2, 7), err)  # 2: the other one is at work, or was quicker; 7: it was done before
                self.assertEqual(code == 0, err == "", err)
                self.assertNotIn("rename", err)
            self.assertEqual(sorted(os.listdir(self.dir / "bob" / "files")), ["g", "g.onion"])
            self.file("bob", "g").unlink()
            self.file("bob", "g.onion").unlink()

    def test_an_interrupted_clone_says_what_is_kept(self):
        self.serve()
        self.join("alice")
        self.join("bob")
        self.commit("alice", os.urandom(48 << 20))
        self.on("alice", "push", "f", "hub:f")
        staged = lambda: sum(p.stat().st_size for p in (self.dir / "bob" / "files").glob("*staging*"))
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            before = staged()
            process = self.start("clone", "hub:f", config=self.dir / "bob" / "config", cwd=self.dir / "bob" / "files")
            for _ in range(2000):
                if staged() > before + (1 << 20) or process.poll() is not None:
                    break
                time.sleep(0.002)
            begin = time.monotonic()
            code, _, err = self.interrupt(process, number)
            self.assertLess(time.monotonic() - begin, 5)
            if code == 0:
                self.assertEqual(self.file("bob").stat().st_size, 48 << 20)
                return  # it was quicker than we
            self.assertEqual(code, 130)
            if self.file("bob", "f.onion").exists():
                self.assertIn(b"peel restore f", err)
                return
            self.assertIn(b"the same command continues", err)
        resumed = self.on("bob", "clone", "hub:f")[0]
        self.assertEqual(self.file("bob").read_bytes(), self.file("alice").read_bytes())
        self.assertLess(int(re.search(r"and ([\d,]+) chunks? received", resumed)[1].replace(",", "")), 48 << 20)
        self.assertEqual(sorted(os.listdir(self.dir / "bob" / "files")), ["f", "f.onion"])

    def test_a_pull_goes_on_where_a_killed_one_left_the_file(self):
        self.commit("alice", b"one" * 1000)
        origin = "file://" + str(self.file("alice"))
        self.on("bob", "clone", origin, "f")
        self.commit("alice", b"two" * 1000)
        self.on("bob", "fetch", "f")
        self.on("bob", "restore", "f", "origin/main")  # as if killed between the file and the branch
        newest = b"three" * 1000
        self.commit("alice", newest)
        self.on("bob", "pull", "f")
        self.assertEqual(self.file("bob").read_bytes(), newest)


class Trust(SharingCase):
    def test_untrusted_gets_nothing(self):
        self.serve()
        self.join("alice")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:f")
        key = self.on("hub", "id")[0].strip()
        _, err = self.on("mallory", "ls", f"peel://{self.address}/", expect=7)  # does not know the server's key
        self.on("mallory", "trust", key, "--name", "hub", "--address", self.address)
        out, _ = self.on("mallory", "ls", "hub:", expect=7)
        self.assertEqual(out, "")
        self.on("mallory", "clone", "hub:f", expect=7)
        self.assertEqual(list(self.dir.glob("mallory/files/*")), [])

    def test_invite_works_once(self):
        self.serve()
        invite = self.join("alice")
        self.on("mallory", "join", invite, expect=7)
        self.on("mallory", "join", invite[:-2] + "22", expect=2)
        expired = self.on("hub", "invite", "--address", self.address, "--expires", "1s")[0].strip()
        time.sleep(1.2)
        self.on("mallory", "join", expired, expect=7)
        self.on("mallory", "join", "-", input=self.on("hub", "invite", "--address", self.address)[0].encode())

    def test_trust_by_fingerprint_and_untrust(self):
        self.serve()
        keys = {machine: self.json_on(machine, "id")["fingerprint"] for machine in ("hub", "alice")}
        self.on("hub", "trust", keys["alice"], "--name", "alice", "--allow", "admin")
        self.on("alice", "trust", keys["hub"], "--name", "hub", "--address", self.address)
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:f")
        peers = self.json_on("hub", "peers")["peers"]
        self.assertEqual([(p["name"], p["grants"]) for p in peers], [("alice", [{"allow": "admin", "path": ""}])])
        self.assertIn("admin", self.on("hub", "peers")[0])
        self.on("hub", "untrust", "alice")
        self.on("alice", "ls", "hub:", expect=7)
        self.assertIn("REVOKED", self.on("hub", "peers")[0])
        self.on("hub", "untrust", "nobody", expect=3)
        self.on("hub", "trust", "peel1-nonsense", "--name", "x", expect=2)
        self.on("hub", "trust", keys["alice"], expect=2)

    def test_rights_end_at_their_prefix(self):
        self.serve()
        self.join("alice", "write", "--path", "alice")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:bob/f", expect=7)
        self.on("alice", "push", "f", "hub:alice/f")
        for name in ("hub:../f", "hub:alice/../../f", "hub:/etc/f"):
            self.on("alice", "push", "f", name, expect=7)
        self.assertEqual(sorted(p.name for p in (self.dir / "hub" / "files").iterdir()), ["root"])

    def test_identity_is_private_and_rotates(self):
        first = self.on("alice", "id")[0]
        self.assertEqual(self.on("alice", "id")[0], first)
        for path in (self.dir / "alice" / "config").iterdir():
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)
        self.assertNotEqual(self.on("alice", "id", "--rotate")[0], first)


class Server(SharingCase):
    def test_ends_in_order_on_both_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.serve()
            code, err = self.stop(number)
            self.assertEqual(code, 130)
            self.assertIn("stopped", err)

    def test_unreachable_server_is_6(self):
        self.serve()
        self.join("alice")
        self.commit("alice", content(1))
        self.stop()
        self.on("alice", "push", "f", "hub:f", expect=6)
        with socket.create_server(("127.0.0.1", 0)) as listener:  # accepts, says nothing, goes away
            port = listener.getsockname()[1]
            process = self.start("ls", f"peel://127.0.0.1:{port}/", config=self.dir / "alice" / "config")
            connection, _ = listener.accept()
            connection.close()
            process.communicate(timeout=TIMEOUT_S)
            self.assertEqual(process.returncode, 6)

    def test_address_in_use(self):
        self.serve()
        self.peel("serve", "other", "--create", "--listen", self.address, expect=5)
        self.peel("serve", "no/such/root", expect=3)
        self.peel("serve", ".", "--listen", "127.0.0.1:99999", expect=2)
        self.peel("serve", "x", "--insecure-write", expect=2)
        self.peel("serve", ".", "--listen", "no.such.name.invalid", expect=2)

    def test_insecure_on_both_sides(self):
        self.serve("--insecure", "--insecure-write")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", f"peel://{self.address}/f", "--insecure")
        self.on("bob", "clone", f"peel://{self.address}/f", "--insecure")
        self.assertEqual(self.file("bob").read_bytes(), content(1))

    def test_one_side_insecure_says_what_to_do(self):
        self.serve("--insecure")
        begin = time.monotonic()
        _, err = self.on("alice", "ls", f"peel://{self.address}/", expect=6)
        self.assertIn("--insecure", err)
        self.stop()
        self.serve()
        _, err = self.on("alice", "ls", f"peel://{self.address}/", "--insecure", expect=6)
        self.assertIn("without --insecure", err)
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_join_is_no_refusal(self):
        self.serve()
        self.join("alice")
        code, err = self.stop()
        self.assertIn("join", err)
        self.assertNotIn("refuse", err)

    def test_pushes_that_bring_nothing_leave_nothing(self):
        self.serve()
        self.join("alice")
        self.join("bob")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:lab/f")
        files = lambda: sorted(p.name for p in (self.dir / "hub" / "files" / "root").rglob("*") if p.is_file())
        self.assertEqual(files(), ["f.onion"])
        self.on("alice", "push", "f")
        self.assertEqual(files(), ["f.onion"])
        self.commit("bob", content(2))
        self.on("bob", "push", "f", "hub:lab/f", expect=7)  # another history
        self.assertEqual(files(), ["f.onion"])

    def test_full_disks_are_5_and_named(self):
        small = self.dir / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", small], capture_output=True).returncode:
            self.skipTest("no permission to mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", small])
        self.commit("alice", os.urandom(12 << 20))
        (self.dir / "hub" / "files" / "root").symlink_to(small)
        self.serve()
        self.join("alice")
        _, err = self.on("alice", "push", "f", "hub:f", expect=5)
        self.assertIn("no space left on the disk of this server", err)
        for name in os.listdir(small):
            os.unlink(small / name)
        _, err = self.on("bob", "clone", f"file://{self.file('alice')}", small / "g", expect=5)
        self.assertIn("small/g.onion", err)

    def test_a_full_server_is_5(self):
        self.serve("--quota", "1M")
        self.join("alice")
        self.commit("alice", os.urandom(4 << 20))
        _, err = self.on("alice", "push", "f", "hub:f", expect=5)
        self.assertIn("quota of this server", err)

    def test_killed_server_then_the_push_is_continued(self):
        self.serve()
        self.join("alice")
        self.commit("alice", os.urandom(8 << 20))
        address = self.address
        process = self.start("push", "f", "hub:f", config=self.dir / "alice" / "config", cwd=self.dir / "alice" / "files")
        time.sleep(0.05)
        self.server.kill()
        self.server.communicate()
        self.server = None
        process.communicate(timeout=TIMEOUT_S)
        self.assertIn(process.returncode, (0, 6))
        self.serve(listen=address)
        self.on("alice", "push", "f", "hub:f")
        self.on("alice", "clone", "hub:f", "copy")
        self.assertEqual(self.file("alice", "copy").read_bytes(), self.file("alice").read_bytes())


if __name__ == "__main__":
    unittest.main()
