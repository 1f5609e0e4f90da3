#!/usr/bin/python3
"""The plain decoder (tools/peel_decode.py) against golden or freshly written onions and their manifest.

Usage      decode_test.py DECODER DIRECTORY [unittest's arguments]; DIRECTORY holds manifest.json and its files.
"""
import contextlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

DECODER, DIRECTORY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(DECODER))
import peel_decode  # noqa: E402
from peel_codecs import Damage, Unsupported, plain_bytes  # noqa: E402
from peel_digest import content_digest, crc32c, hash_many, height_of, leaf_digests, subtree  # noqa: E402

KINDS = {name: number for number, name in peel_decode.KINDS.items()}
with open(os.path.join(DIRECTORY, "manifest.json"), encoding="utf-8") as file:
    MANIFEST = json.load(file)
READABLE = {name: facts for name, facts in MANIFEST.items() if "unsupported" not in facts}


def path_of(name):
    return os.path.join(DIRECTORY, name)


def called(*arguments):
    """The command without the cost of a new process: (exit code, standard output, standard error)."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = [DECODER, *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = peel_decode.main()
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def run(*arguments):
    return subprocess.run([sys.executable, DECODER, *arguments], capture_output=True, check=False)


def facts_of(document):
    """The decoder's document in the manifest's words."""
    revisions = []
    for r in document["revisions"]:
        labels = sum(1 << peel_decode.LABELS.index(n) for n in r["labels"])
        near = [p["number"] for p in r["parents"][:1] if p["commit"]]
        revisions.append(dict({k: r[k] for k in ("number", "id", "size", "content", "generation", "time_ns", "mtime_ns",
                                                 "mode", "author", "host", "note")}, labels=labels,
                              parents=[p["id"] for p in r["parents"]], first_parent=near[0] if near else None))
    refs = [dict(kind=KINDS[r["kind"]], name=r["name"], target=r["target"], value=r["value"]) for r in document["refs"]
            if r["kind"] != "setting" or r["name"] not in ("cut", "chunk-size")]  # the writer's choice, no fact
    return dict(lineage=document["lineage"], revisions=revisions, refs=sorted(refs, key=ref_key), marked=document["marked"])


def ref_key(ref):
    return ref["kind"], ref["name"]


def opened(path, scan_only):
    """What a reader sees: everything, and after every check."""
    onion = peel_decode.Onion(path, scan_only)
    onion.check_links()
    for revision in onion.revisions.values():
        onion.check(revision)
    return [onion.revisions[n]["id"] for n in sorted(onion.revisions)]


def records(path):
    """(offset, header) of each record of whole groups, in order."""
    onion, at, found = peel_decode.Onion(path), peel_decode.FIRST_GROUP, []
    while at < onion.end:
        head, _ = onion.record(at)
        found.append((at, head))
        at += peel_decode.record_size(head["length"])
    return found


def forged(path, target, offset):
    """The file with one payload byte of the record at `target` changed and every checksum made right again."""
    with open(path, "rb") as source:
        data = bytearray(source.read())
    salt, words, group = bytes(data[32:48]), b"", None
    data[target + 32 + offset] ^= 1
    for at, head in records(path):
        words, group = (words, group) if head["group"] == group else (b"", head["group"])
        if head["kind"] == peel_decode.END:
            data[at + 40:at + 44] = struct.pack("<I", crc32c(words))
        seed = salt + struct.pack("<I", head["epoch"])
        payload_crc = struct.pack("<I", crc32c(seed, data[at + 32:at + 32 + head["length"]]))
        data[at + 24:at + 28] = payload_crc
        data[at + 28:at + 32] = struct.pack("<I", crc32c(seed, data[at:at + 28]))
        words += bytes(data[at + 28:at + 32])
    return data


class Parts(unittest.TestCase):
    """The decoder's own hashes and codecs, against published vectors."""

    def test_blake3(self):
        key = b"whats the Elvish word for friend"
        pattern = bytes(i % 251 for i in range(102400))
        for size, plain, keyed in (
                (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
                 "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26"),
                (3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3",
                 "68dede9bef00ba89e43f31a6825f4cf433389fedae75c04ee9f0cf16a427c95a"),
                (102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
                 "1c35d1a5811083fd7119f5d5d1ba027b4d01c0c6c49fb6ff2cf75393ea5db4a7")):
            other = bytes(size)  # beside another message of the same length
            self.assertEqual(hash_many([other, pattern[:size]])[1].hex(), plain)
            self.assertEqual(hash_many([pattern[:size], other], key)[0].hex(), keyed)

    def test_crc32c(self):
        self.assertEqual(crc32c(b"1234", b"56789"), 0xE3069283)

    def test_lz4(self):
        self.assertEqual(plain_bytes(2, 1, b"\x1fa\x01\x00\x00\x50bcdef", 25), b"a" * 20 + b"bcdef")
        for broken in (b"\xff", b"\x1fa\x02\x00\x00", b"\x1fa\x01", b"\x50abc", b"\x1fa\x01\x00\xff\xff\xff"):
            with self.assertRaises(Damage):
                plain_bytes(2, 1, broken, 25)

    def test_byte_planes_and_unknown_codecs(self):
        self.assertEqual(plain_bytes(5, 2, b"\x90acegbdfhx", 9), b"abcdefghx")  # one LZ4 run of literals
        with self.assertRaises(Damage):
            plain_bytes(3, 1, b"no frame", 9)
        with self.assertRaises(Unsupported):
            plain_bytes(200, 1, b"x", 1)


class Files(unittest.TestCase):
    def test_every_file_decodes_as_its_manifest_says(self):
        self.assertGreaterEqual(len(READABLE), 14)
        for name, facts in READABLE.items():
            for mode in ([], ["--scan-only"]):
                with self.subTest(name=name, mode=mode):
                    code, out, err = called(path_of(name), "--check", "--json", *mode)
                    self.assertEqual((code, err), (0, ""))
                    expected = dict(facts, refs=sorted(facts["refs"], key=ref_key))
                    self.assertEqual(facts_of(json.loads(out)), expected)

    def test_text_names_every_revision(self):
        for name in ("branches.onion", "collected.onion"):
            code, out, _ = called(path_of(name))
            self.assertEqual(code, 0)
            for r in READABLE[name]["revisions"]:
                self.assertIn("@%(number)d id %(id)s" % r, out)
                self.assertIn("size %(size)d content %(content)s" % r, out)

    def test_checkpoint_and_scan_agree(self):
        for name in READABLE:
            near, far = peel_decode.Onion(path_of(name)), peel_decode.Onion(path_of(name), scan_only=True)
            for field in ("revisions", "refs", "marked", "end"):
                self.assertEqual(getattr(near, field), getattr(far, field), name)

    def test_bytes_of_each_revision_have_its_digest(self):
        for name, facts in READABLE.items():
            onion = peel_decode.Onion(path_of(name))
            for r in facts["revisions"]:
                if r["size"] > 4 << 20:
                    continue
                out = io.BytesIO()
                onion.cat(onion.revisions[r["number"]], out)
                data = out.getvalue()
                top = subtree(leaf_digests(data), 0, height_of(len(data), 4))
                self.assertEqual((len(data), content_digest(len(data), top).hex()), (r["size"], r["content"]), name)

    def test_files_of_a_newer_format_are_refused(self):
        newer = [name for name in MANIFEST if name not in READABLE]
        self.assertTrue(newer)
        for name in newer:
            code, _, err = called(path_of(name))
            self.assertEqual(code, 5)
            self.assertIn("newer", err)

    def test_together_they_use_what_the_format_has(self):
        seen = set()
        for name in READABLE:
            onion = peel_decode.Onion(path_of(name))
            seen.add("one superblock" if None in onion.superblocks else "two superblocks")
            seen.update("page size %d" % r["page_size"] for r in onion.revisions.values())
            seen.update("levels %d" % onion.levels(r) for r in onion.revisions.values())
            seen.update("no root" for r in onion.revisions.values() if not r["root"])
            seen.update("lost parent" for r in onion.revisions.values() for p in r["parents"] if not p["commit"])
            seen.update("bytes left behind" for _ in [0] if onion.end < onion.length)
            listed = records(path_of(name))
            seen.update("record %d" % head["kind"] for _, head in listed)
            seen.update("epoch %d" % min(head["epoch"], 2) for _, head in listed)
            for at, head in listed:
                if head["kind"] == peel_decode.NODE:
                    level, page_log2 = onion.record(at)[1][:2]
                    for piece in onion.node(at, level, page_log2)[2]:
                        seen.add("inside a chunk" if piece[4] else "start of a chunk")
                        seen.update("off the grid" for _ in [0] if piece[2] % 4096)
        wanted = {"record %d" % kind for kind in [*range(1, 10), 4711]} | {
            "one superblock", "two superblocks", "page size 4096", "page size 65536", "levels 1", "levels 2", "no root",
            "lost parent", "bytes left behind", "epoch 1", "epoch 2", "inside a chunk", "off the grid"}
        self.assertEqual(wanted - seen, set())


class Command(unittest.TestCase):
    def test_cat_writes_the_bytes(self):
        done = run(path_of("edits-4k.onion"), "--cat", "4")
        self.assertEqual((done.returncode, len(done.stdout)), (0, 10_001))
        wanted = READABLE["edits-4k.onion"]["revisions"][3]["content"]
        top = subtree(leaf_digests(done.stdout), 0, 4)
        self.assertEqual(content_digest(10_001, top).hex(), wanted)

    def test_exit_codes(self):
        self.assertEqual(run(path_of("edits-4k.onion"), "--check").returncode, 0)
        self.assertEqual(run().returncode, 2)
        self.assertEqual(called(path_of("edits-4k.onion"), "--cat", "99")[0], 3)
        self.assertEqual(called(path_of("no such file"))[0], 5)
        code, _, err = called(path_of("manifest.json"))
        self.assertEqual(code, 4)
        self.assertIn("manifest.json: damaged", err)


def unacknowledged(data):
    """The file as a power cut may leave it: nothing behind the checkpoint is known to be durable."""
    data = bytearray(data)
    for slot in (0, 4096):
        if any(data[slot:slot + 8]):
            data[slot + 120:slot + 128] = data[slot + 88:slot + 96]
            data[slot + 128:slot + 132] = struct.pack("<I", peel_decode.crc32c(bytes(data[slot:slot + 128])))
    return bytes(data)


class Harmed(unittest.TestCase):
    """A copy with one byte or the end gone: damage is said, never a wrong or silently shorter history."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="peel-decode-")
        self.path = os.path.join(self.folder, "harmed.onion")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def outcome(self, data, scan_only):
        with open(self.path, "wb") as out:
            out.write(data)
        try:
            return opened(self.path, scan_only)
        except peel_decode.Damage:
            return "damage"

    def test_a_flipped_bit(self):
        for name in ("fallback.onion", "codecs.onion", "recovered.onion"):
            with open(path_of(name), "rb") as source:
                whole = source.read()
            onion, listed = peel_decode.Onion(path_of(name)), records(path_of(name))
            ids, last = [r["id"] for r in READABLE[name]["revisions"]], listed[-1][1]["group"]
            begin = next(at for at, head in listed if head["group"] == last)
            earlier = [r["id"] for _, r in sorted(onion.revisions.items()) if r["commit"] < begin]
            for i, (at, head) in enumerate(listed):
                spot = at + (i * 7 % 32 if i % 2 else 32 + i * 131 % max(1, head["length"]))
                data = bytearray(whole)
                data[spot] ^= 1 << i % 8
                scanned, near = self.outcome(data, True), self.outcome(data, False)
                with self.subTest(name=name, record=head["kind"], offset=spot):
                    if at < onion.head["acknowledged"] or head["group"] != last:
                        self.assertEqual(scanned, "damage")
                        # What the tree does not need (runs, END, refs in the log) may go unseen without a scan.
                        self.assertIn(near, ("damage", ids))
                    else:
                        self.assertEqual((scanned, near), (earlier, earlier))

    def test_a_flipped_bit_in_a_superblock(self):
        with open(path_of("edits-4k.onion"), "rb") as source:
            whole = source.read()
        ids = [r["id"] for r in READABLE["edits-4k.onion"]["revisions"]]
        for slot in (0, 4096):
            for at in range(slot, slot + 132, 9):
                data = bytearray(whole)
                data[at] ^= 0x10
                self.assertEqual(self.outcome(data, False), ids)

    def test_a_cut_file(self):
        name = "edits-4k.onion"
        with open(path_of(name), "rb") as source:
            whole = source.read()
        for length in range(0, len(whole), 977):  # all of it was acknowledged
            self.assertEqual(self.outcome(whole[:length], False), "damage", length)
        whole = unacknowledged(whole)
        onion, listed = peel_decode.Onion(path_of(name)), records(path_of(name))
        ids = [r["id"] for r in READABLE[name]["revisions"]]
        ends = [at + peel_decode.record_size(head["length"]) for at, head in listed if head["kind"] == peel_decode.END]
        for length in range(0, len(whole), 331):
            if length < onion.head["tail"]:
                expected = "damage"
            else:
                expected = ids[:sum(1 for end in ends if end <= length) - 1]  # the first group made the file
            for scan_only in (False, True):
                self.assertEqual(self.outcome(whole[:length], scan_only), expected, length)

    def test_a_wrong_digest_under_right_checksums(self):
        name = "codecs.onion"
        listed = records(path_of(name))
        first = {kind: next(at for at, head in listed if head["kind"] == kind) for kind in (1, 2, 3)}
        content, ident, note = 48, 80, next(head["length"] - 1 for at, head in listed if at == first[3])
        spots = [(1, 3), (1, 40 + 500), (2, 8 + 7), (3, content), (3, ident), (3, note)]
        for kind, offset in spots:
            with self.subTest(record=kind, offset=offset):
                data = forged(path_of(name), first[kind], offset)
                self.assertEqual(self.outcome(data, True), "damage")
                self.assertEqual(called(self.path, "--check", "--scan-only")[0], 4)
                self.assertEqual(called(self.path, "--scan-only")[0], 0)  # only --check looks

    def test_the_command_names_file_and_revision(self):
        name = "fallback.onion"
        with open(path_of(name), "rb") as source:
            data = bytearray(source.read())
        chunk = next(at for at, head in records(path_of(name)) if head["kind"] == peel_decode.CHUNK)
        data[chunk + 100] ^= 1
        with open(self.path, "wb") as out:
            out.write(data)
        done = run(self.path, "--check")
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"harmed.onion: revision @1: CHUNK at %d is damaged" % chunk, done.stderr)
        code, _, err = called(self.path, "--scan-only")
        self.assertEqual(code, 4)
        self.assertIn("harmed.onion: damaged: the group at", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], warnings="ignore")
