"""Paths where a URL is taken: remembered whole, found from every directory, listed like a server's."""
import os
import unittest

from peel_process import PeelCase


class Paths(PeelCase):
    def setUp(self):
        super().setUp()
        for name in ("p", "q", "bk"):
            (self.work / name).mkdir()

    def commit(self, name, data):
        self.write(name, data)
        self.peel("commit", name)

    def remotes(self, name):
        return {r["name"]: r["url"] for r in self.json("remote", name)["remotes"]}

    def url(self, name):
        return f"file://{(self.work / name)}"

    def test_a_clone_of_a_relative_path_remembers_the_whole_one(self):
        self.commit("p/s.h5", b"right")
        self.commit("s.h5", b"another file of that name")
        self.peel("clone", "s.h5", "../q/c.h5", cwd=self.work / "p")
        self.assertEqual(self.remotes("q/c.h5"), {"origin": self.url("p/s.h5")})
        self.commit("p/s.h5", b"newer")
        self.peel("pull", "q/c.h5")
        self.assertEqual((self.work / "q" / "c.h5").read_bytes(), b"newer")

    def test_a_remote_that_is_a_path_is_whole_too(self):
        self.commit("f", b"x")
        (self.work / "link").symlink_to(self.work / "bk" / "deep" / "er")
        (self.work / "bk" / "deep" / "er").mkdir(parents=True)
        for path, whole in (("bk/f", "bk/f"), ("./bk/./f", "bk/f"), (f"../{self.work.name}/bk/f", "bk/f"), ("link/../f", "bk/deep/f"), ("f", "f")):
            self.peel("remote", "f", "origin", path)
            self.assertEqual(self.remotes("f"), {"origin": self.url(whole)}, path)

    def test_a_bare_path_is_a_path_unless_a_remote_has_that_name(self):
        self.commit("f", b"one")
        self.peel("push", "f", "bk/f")
        self.assertEqual(self.remotes("f"), {"origin": self.url("bk/f")})
        self.peel("clone", "bk/f", "g")
        self.peel("push", "f", "./spare")
        self.peel("push", "f", "spare")  # it is here now
        self.peel("remote", "f", "spare", "bk/f")
        self.assertEqual(self.json("push", "f", "spare")["url"], self.url("bk/f"))
        self.peel("verify", "f", "--repair-from", "bk/f")

    def test_a_misspelt_word_makes_nothing(self):
        self.commit("f", b"one")
        _, err = self.peel("push", "f", "orign", expect=3)
        self.assertIn("peel remote", err)
        _, err = self.peel("ls", "lab", expect=3)
        self.assertIn("lab:", err)
        self.assertFalse((self.work / "orign.onion").exists())

    def test_missing_directories_are_named(self):
        self.commit("f", b"one")
        for command in (["move", "f", "no/g"], ["export", "f", "-o", "no/g"], ["push", "f", "no/g"], ["clone", "f", "no/g"],
                        ["export", "f", "--history", "-o", "no/g"]):
            _, err = self.peel(*command, expect=3)
            self.assertRegex(err, r"there is no directory \S*no: make it first, with mkdir -p \S*no\n", command)
        self.assertEqual(sorted(os.listdir(self.work)), ["bk", "f", "f.onion", "p", "q"])

    def test_ls_of_a_directory(self):
        self.commit("p/a", b"1")
        self.commit("p/.hidden", b"2")
        (self.work / "p" / "in").mkdir()
        self.commit("p/in/b", b"3")
        self.write("p/no-history", b"")
        document = self.json("ls", "p")
        self.assertEqual([o["name"] for o in document["onions"]], ["a", "in/b"])
        self.assertEqual(document["url"], self.url("p"))
        self.assertEqual([b["name"] for b in document["onions"][0]["branches"]], ["main"])
        self.assertIn("in/b  main ", self.peel("ls", ".", cwd=self.work / "p")[0])
        self.assertIn("nothing there", self.peel("ls", "q")[0])
        self.write("p/c.onion", b"not a history")
        out, err = self.peel("ls", "p/", expect=8)
        self.assertIn("a  main ", out)
        self.assertIn("c.onion: this is no history of peel", err)
        self.peel("ls", "p/a")


if __name__ == "__main__":
    unittest.main()
