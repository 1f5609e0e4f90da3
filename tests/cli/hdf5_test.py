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


if __name__ == "__main__":
    unittest.main()
