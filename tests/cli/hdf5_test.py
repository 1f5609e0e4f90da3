"""What commit, diff, show and log say about real HDF5 files."""
import unittest

from peel_process import PeelCase

try:
    import h5py
    import numpy
except ImportError:
    h5py = None


@unittest.skipUnless(h5py, "python3-h5py is not installed")
class Hdf5(PeelCase):
    def setUp(self):
        super().setUp()
        self.path = self.work / "data.h5"
        with h5py.File(self.path, "w") as f:
            f["run/temperature"] = numpy.linspace(0, 1, 10_000)
            f.create_dataset("run/image", data=numpy.arange(64 * 64).reshape(64, 64), chunks=(16, 16), maxshape=(None, 64))
            f["old"] = numpy.arange(5)
            f.attrs["who"] = "alice"
        self.peel("commit", "data.h5")

    def edit(self, change, mode="r+"):
        with h5py.File(self.path, mode) as f:
            change(f)

    def changes(self, *arguments, expect=1):
        document = self.json("diff", "data.h5", *arguments, expect=expect)
        self.assertEqual(document["hdf5"], "compared")
        return {(c["path"], c.get("attribute")): c for c in document["changes"]}

    def test_diff_names_every_kind_of_change(self):
        def change(f):
            f["run/temperature"][10:13] += 0.5
            f["run/image"].resize((80, 64))
            f["run/new"] = numpy.ones(3)
            del f["old"]
            f.attrs["who"] = "bob"
        self.edit(change)
        found = self.changes()
        values = found["/run/temperature", None]
        self.assertEqual((values["what"], values["elements_changed"], values["elements"]), ("values_changed", 3, 10_000))
        self.assertAlmostEqual(values["max_difference"], 0.5)
        self.assertEqual(found["/run/image", None]["what"], "reshaped")
        self.assertEqual(found["/run/new", None]["what"], "added")
        self.assertEqual(found["/old", None]["what"], "removed")
        self.assertEqual(found["/", "who"]["kind"], "attribute")
        text = self.peel("diff", "data.h5", expect=1)[0]
        self.assertIn("~ /run/temperature  dataset values changed: 3 of 10,000 elements, greatest difference 0.5", text)
        self.assertIn("- /old", text)
        self.assertIn("changes in HDF5 objects", self.peel("diff", "data.h5", "--stat", expect=1)[0])
        self.assertEqual(self.json("diff", "data.h5", "--no-hdf5", expect=1)["hdf5"], "off")

    def test_log_and_show_name_what_a_revision_changed(self):
        self.edit(lambda f: f["run/temperature"].__setitem__(0, 9.0))
        self.peel("commit", "data.h5")
        self.edit(lambda f: f.create_dataset("run/new", data=[1, 2]))
        self.peel("commit", "data.h5")
        revisions = self.json("log", "data.h5")["revisions"]
        self.assertEqual([[c["path"] for c in r.get("changes", [])] for r in revisions],
                         [["/run/new"], ["/run/temperature"], []])
        self.assertIn("/run/new", self.peel("log", "data.h5")[0])
        self.assertNotIn("/run/new", self.peel("log", "data.h5", "--no-hdf5")[0])
        self.assertEqual(self.json("show", "data.h5", "@2")["changes"][0]["path"], "/run/temperature")
        only = self.json("log", "data.h5", "--dataset", "run/temperature")["revisions"]
        self.assertEqual([r["number"] for r in only], [2, 1])
        self.assertEqual([r["number"] for r in self.json("log", "data.h5", "--dataset", "/run/new")["revisions"]], [3])

    def test_damaged_file_is_recorded_labelled_and_warned_of(self):
        self.path.write_bytes(self.path.read_bytes()[:5000])
        out, err = self.peel("commit", "data.h5")
        self.assertIn("warning", err)
        self.assertIn("truncated", err)
        self.assertIn("recorded @2", out)
        head = self.json("show", "data.h5")["revision"]
        self.assertIn("unhealthy", head["labels"])
        self.assertIn("unhealthy", self.peel("log", "data.h5")[0])
        self.assertEqual(self.peel("restore", "data.h5", "@1")[1], "")
        with h5py.File(self.path) as f:
            self.assertEqual(f["old"][4], 4)

    def test_a_file_that_lost_its_signature(self):
        self.path.write_bytes(b"\0" * 10_000)
        self.assertIn("does not begin like one", self.peel("commit", "data.h5")[1])

    def test_a_writer_has_it_open(self):
        with h5py.File(self.path, "r+") as f:
            f["old"][0] = 7
            f.flush()
            _, err = self.peel("commit", "data.h5")
            self.assertIn("open for writing", err)
        self.assertIn("unhealthy", self.json("log", "data.h5")["revisions"][0]["labels"])

    def test_fuzzed_bytes_never_stop_a_commit(self):
        good = self.path.read_bytes()
        for step in range(12):
            bad = bytearray(good)
            for i in range(step, 2000, 37 + step):
                bad[i] ^= 0x5A
            self.path.write_bytes(bad)
            self.peel("commit", "data.h5", "-q")
            self.peel("diff", "data.h5", "@1", expect=1)


@unittest.skipUnless(h5py, "python3-h5py is not installed")
class Merge(PeelCase):
    """Two branches of one HDF5 file, joined by bytes."""

    def fork(self, make, ours, theirs):
        self.path = self.work / "data.h5"
        with h5py.File(self.path, "w") as f:
            make(f)
        self.peel("commit", "data.h5")
        self.peel("branch", "data.h5", "side")
        self.peel("switch", "data.h5", "side")
        self.edit(theirs)
        self.theirs = self.path.read_bytes()
        self.peel("switch", "data.h5", "main")
        self.edit(ours)
        self.ours = self.path.read_bytes()

    def edit(self, change):
        with h5py.File(self.path, "r+") as f:
            change(f)
        self.peel("commit", "data.h5")

    def revisions(self):
        return self.json("log", "data.h5", "--all")["revisions"]

    def expect_unsound(self, *options):
        before = len(self.revisions())
        out, err = self.peel("merge", "data.h5", "side", *options, expect=1)
        self.assertIn("no sound HDF5 file", err)
        self.assertIn("peel rollback data.h5 side", err)
        self.assertEqual(self.path.read_bytes(), self.ours)
        self.assertEqual(len(self.revisions()), before)
        return err

    def test_one_number_is_not_made_of_two(self):
        for kind, base, ours, theirs in (("i4", 0, 256, 1), ("f8", 1.0, 2.0, 1.0 + 2.0**-50)):
            self.fork(lambda f: f.create_dataset("d", data=numpy.full(1000, base, kind)),
                      lambda f: f["d"].__setitem__(7, ours), lambda f: f["d"].__setitem__(7, theirs))
            out, err = self.peel("merge", "data.h5", "side", expect=1)
            self.assertIn("both sides changed /d", out)
            self.assertIn("conflict in bytes", out)
            self.assertEqual(self.path.read_bytes(), self.ours)
            self.peel("merge", "data.h5", "side", "--theirs")
            with h5py.File(self.path) as f:
                self.assertEqual(f["d"][7], theirs)
            for name in ("data.h5", "data.h5.onion"):
                (self.work / name).unlink()

    def test_different_datasets_and_elements_still_join(self):
        def make(f):
            f["a"], f["b"] = numpy.zeros(1000), numpy.zeros(1000, "i4")
            f["c"] = numpy.arange(50.0)
            f["packed"] = numpy.zeros(3)
            f.attrs["run"] = 1
        def ours(f):
            f["a"][3:9] = 5
            f["c"][0] = 7
        def theirs(f):
            f["b"][10] = 256
            f["c"][49] = 8
        self.fork(make, ours, theirs)
        _, err = self.peel("merge", "data.h5", "side")
        self.assertEqual(err, "")
        with h5py.File(self.path) as f:
            self.assertEqual((f["a"][3], f["a"][9], f["b"][10], f["c"][0], f["c"][49]), (5, 0, 256, 7, 8))
        self.assertEqual(self.json("show", "data.h5")["revision"]["labels"], ["merge"])

    def test_what_one_side_removed_and_the_other_changed(self):
        def make(f):
            f["b"] = numpy.zeros(400)
            f["c"] = numpy.zeros(400)
        self.fork(make, lambda f: f.__delitem__("b"), lambda f: f["b"].__setitem__(7, 1.0))
        self.assertIn("/b was changed by one side and removed by the other", self.expect_unsound())

    def test_a_helper_that_does_not_answer_is_a_warning(self):
        def make(f):
            f["a"], f["b"] = numpy.zeros(100), numpy.zeros(100)
        self.fork(make, lambda f: f["a"].__setitem__(7, 1.0), lambda f: f["b"].__setitem__(7, 1.0))
        self.more_environment = {"PEEL_HDF5_HELPER": str(self.work / "none")}
        self.assertIn("not wholly checked as HDF5", self.peel("merge", "data.h5", "side")[1])

    def environment(self, config=None):
        return {**super().environment(config), **getattr(self, "more_environment", {})}

    def test_one_wide_element_is_not_made_of_two(self):
        def make(f):
            f["d"] = numpy.zeros(100, "c16")
        self.fork(make, lambda f: f["d"].__setitem__(3, 1.0), lambda f: f["d"].__setitem__(3, 1j))
        self.assertIn("/d has values that neither side has", self.expect_unsound())

    def test_one_side_may_add_while_the_other_edits(self):
        self.fork(lambda f: f.create_dataset("a", data=numpy.zeros(1000)),
                  lambda f: f["a"].__setitem__(3, 5.0), lambda f: f.create_dataset("new", data=numpy.arange(2000)))
        self.peel("merge", "data.h5", "side")
        with h5py.File(self.path) as f:
            self.assertEqual((f["a"][3], f["new"][1999]), (5.0, 1999))

    def test_chunks_of_one_compressed_dataset(self):
        noise = numpy.random.default_rng(1).integers(0, 1 << 60, 4000)
        def make(f):
            f.create_dataset("d", data=numpy.arange(8000), chunks=(1000,), compression="gzip")
        self.fork(make, lambda f: f["d"].__setitem__(slice(0, 1000), noise[:1000]),
                  lambda f: f["d"].__setitem__(slice(4000, 5000), noise[1000:2000]))
        self.assertIn("both sides changed /d", self.peel("merge", "data.h5", "side", expect=1)[0])
        for option in ("--ours", "--theirs"):
            err = self.expect_unsound(option)
            self.assertIn("/d", err)
        _, err = self.peel("merge", "data.h5", "side", "--theirs", "--force")
        self.assertIn("labelled unhealthy", err)
        head = self.revisions()[0]
        self.assertEqual(sorted(head["labels"]), ["merge", "unhealthy"])
        self.assertIn("[unhealthy: ", head["note"])

    def test_equal_new_chunks_at_one_place(self):
        def make(f):
            f.create_dataset("d", data=numpy.arange(8000), chunks=(1000,), compression="gzip")
            f.create_dataset("e", data=numpy.arange(8000), chunks=(1000,), compression="gzip")
        noise = numpy.random.default_rng(1).integers(0, 1 << 60, 1000)
        self.fork(make, lambda f: f["d"].__setitem__(slice(0, 1000), noise),
                  lambda f: f["e"].__setitem__(slice(4000, 5000), noise))
        self.assertIn("at the same place", self.expect_unsound())

    def test_each_side_adds_a_dataset(self):
        self.fork(lambda f: f.create_dataset("a", data=numpy.zeros(1000)),
                  lambda f: f.create_dataset("mine", data=numpy.full(2000, 1)),
                  lambda f: f.create_dataset("theirs", data=numpy.full(2000, 2)))
        self.peel("merge", "data.h5", "side", expect=1)
        out, _ = self.peel("merge", "data.h5", "side", "--theirs")
        self.assertIn("theirs as a whole", out)
        self.assertEqual(self.path.read_bytes(), self.theirs)

    def test_each_side_adds_a_dataset_in_another_group(self):
        def make(f):
            f.create_group("b")
            f.create_group("c")
        self.fork(make, lambda f: f.create_dataset("b/mine", data=numpy.full(3000, 1)),
                  lambda f: f.create_dataset("c/theirs", data=numpy.full(2000, 2)))
        self.peel("merge", "data.h5", "side", expect=1)
        self.assertIn("/c/theirs is not as in theirs", self.expect_unsound("--ours"))
        self.assertIn("/b/mine is not as in ours", self.expect_unsound("--theirs"))
        self.peel("rollback", "data.h5", "side")
        self.assertEqual(self.path.read_bytes(), self.theirs)

    def test_a_file_that_is_no_hdf5_is_merged_without_a_check(self):
        self.write("f.h5", b"a" * 4000)
        self.peel("commit", "f.h5")
        self.peel("branch", "f.h5", "side")
        self.write("f.h5", b"b" + b"a" * 3999)
        self.peel("commit", "f.h5")
        self.peel("switch", "f.h5", "side")
        self.write("f.h5", b"a" * 3999 + b"c")
        self.peel("commit", "f.h5")
        _, err = self.peel("merge", "f.h5", "main")
        self.assertEqual(err, "")


if __name__ == "__main__":
    unittest.main()
