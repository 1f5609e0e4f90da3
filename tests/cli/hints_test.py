"""What went wrong says what to do about it."""
import os
import unittest

from sharing_test import SharingCase, content


class Hints(SharingCase):
    def fails(self, *arguments, expect, machine="alice"):
        return self.on(machine, *arguments, expect=expect)[1]

    def test_revisions_and_branches(self):
        self.commit("alice", b"1")
        self.assertIn("is written @2", self.fails("restore", "f", "2", expect=3))
        self.assertIn("two words, as in @1 @3", self.fails("diff", "f", "@1..@3", expect=2))
        self.assertIn("peel branch f lists", self.fails("switch", "f", "nosuch", expect=3))
        self.assertIn("-n N", self.fails("log", "f", "--oneline", expect=2))

    def test_what_is_no_history(self):
        self.file("alice", "e.onion").write_bytes(b"")
        self.file("alice", "x.onion").write_bytes(b"x" * 20000)
        for name in ("e", "x"):
            self.assertIn("no history of peel", self.fails("log", name, expect=4))

    def test_a_damaged_revision(self):
        self.commit("alice", os.urandom(1 << 20))
        self.file("alice", "f.onion").write_bytes(self.flipped(self.file("alice", "f.onion").read_bytes()))
        self.file("alice").unlink()
        for command in (["restore", "f"], ["export", "f", "-o", "g"]):
            err = self.fails(*command, expect=4)
            self.assertIn("peel verify f --repair-from URL", err)
            self.assertNotIn(".peel-", err)
        self.assertEqual(sorted(os.listdir(self.file("alice").parent)), ["f.onion"])

    @staticmethod
    def flipped(data):
        data = bytearray(data)
        data[len(data) // 2] ^= 0x55
        return data

    def test_servers(self):
        self.assertIn("--create", self.fails("serve", "nowhere", expect=3))
        self.serve()
        self.assertIn("--listen", self.fails("serve", ".", "--listen", self.address, expect=5))
        self.assertIn("lab: no peer is called 'lab'", self.fails("ls", "lab:", expect=3))
        self.assertIn("peel join INVITE --name lab", self.fails("ls", "lab:", expect=3))
        self.stop()
        self.assertIn("is peel serve running there?", self.fails("ls", f"peel://{self.address}/", "--insecure", expect=6))

    def test_refusals_are_said_once_with_the_commands(self):
        self.serve()
        self.join("alice")
        self.join("bob")
        self.commit("alice", content(1))
        self.on("alice", "push", "f", "hub:f")
        self.on("bob", "clone", "hub:f")
        self.commit("alice", content(2))
        self.on("alice", "push", "f")
        self.on("bob", "fetch", "f")
        out, err = self.on("bob", "push", "f", expect=7)
        self.assertIn("; peel pull f\n", err)
        self.assertNotIn("refused", out)
        self.file("bob").write_bytes(b"unsaved")
        err = self.fails("pull", "f", expect=7, machine="bob")
        self.assertIn("peel commit f, then peel merge f @2;", err)
        self.assertIn("peel restore f --discard, then peel pull f", err)
        self.on("bob", "commit", "f")
        out, err = self.on("bob", "push", "f", expect=7)
        self.assertEqual((out + err).count("has revisions on the server"), 1)
        self.assertIn("peel fetch f, then peel merge f origin/main, then peel push f", err)

    def test_who_may_not_write(self):
        self.serve()
        self.join("alice", "read")
        self.commit("alice", content(1))
        err = self.fails("push", "f", "hub:f", expect=7)
        self.assertRegex(err, r"this server's name for your machine: ask its operator for peel trust peel1-\w+ --name \S+ --allow append")

    def test_the_log_of_the_server(self):
        self.serve()
        self.join("alice")
        self.commit("alice", content(1, 1000))
        self.on("alice", "push", "f", "hub:f")
        self.on("alice", "push", "f")
        self.on("alice", "ls", "hub:")
        self.on("alice", "clone", "hub:f", "g")
        _, err = self.stop()
        self.assertRegex(err, r"push f: main new -> \w+; 1 revision, 1 chunk received\n")
        self.assertIn("push f: nothing to change\n", err)
        self.assertIn("ls: 1 onion\n", err)
        self.assertIn("fetch f: 1 revision, 1 chunk sent\n", err)

    def test_commit_names_the_branch_of_its_revision(self):
        for number in (1, 2):
            self.assertEqual(self.commit("alice", content(number))["branches"], ["main"])
        self.assertEqual(self.json_on("alice", "commit", "f")["files"][0]["revision"]["branches"], ["main"])


if __name__ == "__main__":
    unittest.main()
