#!/usr/bin/python3
"""peel_decode - a second, plain reader of onion files, written from docs/FORMAT.md alone.

Contract   peel_decode.py FILE.onion             superblocks, revisions and refs, as text
           peel_decode.py FILE.onion --check     also recomputes every digest and revision id from the bytes
           peel_decode.py FILE.onion --cat N     the bytes of revision N to standard output
           --json        one JSON document instead of text
           --scan-only   ignores checkpoints: reads all groups from the first
Errors     Exit 0 done, 2 wrong usage, 3 no such revision, 4 damage, 5 newer format or I/O error.
Memory     A leaf of the tree (16 pages), 16 chunks of at most 16 MiB, a row per revision, 32 bytes per checked
           node, the largest record of the file, and what a torn write left behind its end.
Source     docs/FORMAT.md. Only the Python standard library, and the system's libzstd for zstd frames; with
           peel_digest.py and peel_codecs.py beside it. Shares no code with the library: each checks the other.
"""
import argparse
import json
import os
import struct
import sys

from peel_codecs import Damage, Unsupported, need, plain_bytes
from peel_digest import KEY, chunk_digest, content_digest, crc32c, hash_many, height_of, leaf_digests, subtree, zero

FIRST_GROUP = 8192
CHUNK, NODE, COMMIT, REF, CHECKPOINT, CHUNK_RUN, REVISION_RUN, GC_MARK, END = range(1, 10)
KINDS = {1: "branch", 2: "tag", 3: "remote", 4: "setting"}
LABELS = ["torn", "unhealthy", "snapshot", "merge", "rollback"]
MAX_PAYLOAD, MAX_CHUNK = 1 << 30, 16 << 20


# --- Records and their payloads ----------------------------------------------------------------------
class Fields:
    """Takes fields off the front of a payload; the end before the last field is damage."""

    def __init__(self, data, name):
        self.data, self.at, self.name = data, 0, name

    def raw(self, size):
        need(self.at + size <= len(self.data), "%s ends too early" % self.name)
        self.at += size
        return self.data[self.at - size:self.at]

    def take(self, form):
        values = struct.unpack("<" + form, self.raw(struct.calcsize("<" + form)))
        return values if len(values) > 1 else values[0]

    def text(self, form="H"):
        return self.raw(self.take(form)).decode("utf-8", "backslashreplace")

    def done(self):
        need(self.at == len(self.data), "%s is longer than its fields" % self.name)


def record_size(length):
    return 32 + (length + 7) // 8 * 8


class Onion:
    def __init__(self, path, scan_only=False):
        self.path, self.file = path, open(path, "rb")
        self.length = os.fstat(self.file.fileno()).st_size
        self.revisions, self.refs, self.marked, self.chunks, self.nodes = {}, {}, [], {}, {}
        self.superblocks = [self.superblock(0), self.superblock(1)]
        valid = [s for s in self.superblocks if s]
        need(valid, "no valid superblock: not an onion, or badly damaged")
        self.head = max(valid, key=lambda s: s["sequence"])
        need(self.length >= self.head["tail"], "the file ends at %d, before the acknowledged end at %d"
             % (self.length, self.head["tail"]))
        if self.head["checkpoint"] and not scan_only:
            self.load_checkpoint(self.head["checkpoint"])
            self.end = self.groups(self.head["tail"], self.head["group"] + 1, self.head["epoch"])
        else:
            need(self.head["checkpoint"] or self.head["tail"] == FIRST_GROUP, "the superblock names no checkpoint")
            self.end = self.groups(FIRST_GROUP, 1, 0)
        need(self.end >= self.head["acknowledged"], "damage at %d: a group before %d was acknowledged and cannot be read"
             % (self.end, self.head["acknowledged"]))

    def pread(self, offset, size):
        self.file.seek(offset)
        return self.file.read(size)

    def superblock(self, slot):
        data = self.pread(4096 * slot, 132)
        if len(data) < 132 or data[:8] != b"PEELONI1" or struct.unpack("<I", data[128:])[0] != crc32c(data[:128]):
            return None
        f = Fields(data[8:], "superblock")
        version, _, epoch, incompatible, _ = f.take("HHIQQ")
        if version != 1 or incompatible:
            raise Unsupported("format version %d, feature bits %#x: a newer peel wrote this" % (version, incompatible))
        salt, lineage = f.raw(16), f.raw(32)
        sequence, tail, group, checkpoint, page_size, _, acknowledged = f.take("QQQQIIQ")
        if sequence % 2 != slot:
            return None
        return dict(slot="AB"[slot], sequence=sequence, epoch=epoch, tail=tail, group=group, checkpoint=checkpoint,
                    page_size=page_size, acknowledged=acknowledged, salt=salt.hex(), lineage=lineage.hex())

    def header(self, data):
        """Fields of a record header that checks, else None."""
        if len(data) < 32 or data[:4] != b"PEL1":
            return None
        _, kind, _, length, epoch, group, payload_crc, header_crc = struct.unpack("<IHHIIQII", data[:32])
        salt = bytes.fromhex(self.head["salt"])
        if header_crc != crc32c(salt, data[12:16], data[:28]) or length > MAX_PAYLOAD:
            return None
        return dict(kind=kind, length=length, epoch=epoch, group=group, payload_crc=payload_crc, header_crc=header_crc)

    def record(self, offset):
        """(header, payload) of a whole record that checks, else None."""
        head = self.header(self.pread(offset, 32))
        if not head or offset + 32 + head["length"] > self.length:
            return None
        payload = self.pread(offset + 32, head["length"])
        seed = bytes.fromhex(self.head["salt"]) + struct.pack("<I", head["epoch"])
        return (head, payload) if crc32c(seed, payload) == head["payload_crc"] else None

    def payload(self, offset, kind, name):
        found = self.record(offset) if offset >= FIRST_GROUP and offset % 8 == 0 else None
        need(found and found[0]["kind"] == kind, "%s at %d is damaged" % (name, offset))
        return Fields(found[1], "%s at %d" % (name, offset))

    def groups(self, at, number, epoch):
        """Applies whole groups from `at`; the end of the last one. Damage where later groups follow a broken one."""
        while True:
            group, words, position, newest, whole = [], b"", at, epoch, False
            while found := self.record(position):
                head, payload = found
                if head["group"] != number or head["epoch"] < newest:
                    break
                newest = head["epoch"]
                position += record_size(head["length"])
                if head["kind"] == END:
                    whole = position <= self.length and payload == struct.pack("<IIII", len(words) // 4, 0, crc32c(words), 0)
                    break
                words += struct.pack("<I", head["header_crc"])
                if head["kind"] in (COMMIT, REF, GC_MARK):
                    group.append((position - record_size(head["length"]), head["kind"], payload))
            if not whole:
                self.only_torn(at, number, epoch)
                return at
            for member in group:
                self.apply(*member)
            at, number, epoch = position, number + 1, newest

    def only_torn(self, at, number, epoch):
        """Damage when a valid record header of a later group follows `at`."""
        need(at >= self.head["tail"], "the group at %d, before the acknowledged end, is damaged" % at)
        data, where = self.pread(at, self.length - at), -1
        while (where := data.find(b"PEL1", where + 1)) >= 0:
            head = self.header(data[where:where + 32]) if where % 8 == 0 else None
            if head and head["group"] > number and head["epoch"] >= epoch:
                raise Damage("the group at %d is damaged: group %d follows it at %d" % (at, head["group"], at + where))

    def apply(self, offset, kind, payload):
        if kind == COMMIT:
            revision = self.commit(Fields(payload, "COMMIT at %d" % offset), offset)
            self.revisions[revision["number"]] = revision
        elif kind == REF:
            f = Fields(payload, "REF at %d" % offset)
            (kind, removed), name, _, after = f.take("BB"), f.text(), f.raw(32), f.raw(32)
            (commit, _, _), value = f.take("QQq"), f.text("I")
            self.set_ref(kind, name, after, commit, value)
            if removed:
                del self.refs[kind, name]
        elif kind == GC_MARK:
            self.mark(Fields(payload, "GC_MARK at %d" % offset))

    def set_ref(self, kind, name, target, commit, value):
        if kind not in KINDS:
            raise Unsupported("a ref has the unknown kind %d" % kind)
        self.refs[kind, name] = dict(kind=KINDS[kind], name=name, target=target.hex() if any(target) else "",
                                     commit=commit, value=value)

    def mark(self, f):
        count = f.take("Q")
        need(8 * count <= len(f.data), "%s ends too early" % f.name)
        self.marked = [f.take("Q") for _ in range(count)]

    def commit(self, f, offset):
        number, generation, size, root, previous, added = f.take("QQQQQQ")
        content, ident, (page_log2, _, count) = f.raw(32), f.raw(32), f.take("BBH")
        parents = []
        for _ in range(count):
            parent = f.raw(32)
            commit, parent_number = f.take("QQ")
            parents.append(dict(id=parent.hex(), commit=commit, number=parent_number))
        at = f.at
        (time, mtime, mode, labels), author, host, note = f.take("qqII"), f.text(), f.text(), f.text()
        metadata = f.data[at:f.at]
        f.done()
        need(12 <= page_log2 <= 16, "%s has a wrong page size" % f.name)
        return dict(number=number, id=ident.hex(), size=size, content=content.hex(), parents=parents,
                    generation=generation, time_ns=time, mtime_ns=mtime, mode=mode, author=author, host=host, note=note,
                    labels=[n for i, n in enumerate(LABELS) if labels >> i & 1], page_size=1 << page_log2, root=root,
                    commit=offset, previous=previous, bytes_added=added, metadata=metadata.hex())

    def load_checkpoint(self, offset):
        f = self.payload(offset, CHECKPOINT, "CHECKPOINT")
        _, total, _, _, mark = f.take("QQQQQ")
        for _ in range(f.take("I")):
            f.take("QQ")  # chunk runs are hints; this reader follows the tree only
        for run, count in [f.take("QQ") for _ in range(f.take("I"))]:
            self.load_revision_run(run, count)
        need(len(self.revisions) == total, "the checkpoint at %d counts %d revisions, its runs hold %d"
             % (offset, total, len(self.revisions)))
        for _ in range(f.take("I")):
            kind, name, target, commit, value = f.take("B"), f.text(), f.raw(32), f.take("Q"), f.text("I")
            self.set_ref(kind, name, target, commit, value)
        f.done()
        if mark:
            self.mark(self.payload(mark, GC_MARK, "GC_MARK"))

    def load_revision_run(self, offset, count):
        f = self.payload(offset, REVISION_RUN, "REVISION_RUN")
        need(f.take("Q") == count, "REVISION_RUN at %d has a wrong count" % offset)
        for _ in range(count):
            ident, content = f.raw(32), f.raw(32)
            number, generation, size, time, first, commit, root, _, _ = f.take("QQQqQQQBB14x")
            revision = self.commit(self.payload(commit, COMMIT, "COMMIT"), commit)
            row = dict(id=ident.hex(), content=content.hex(), number=number, generation=generation, size=size,
                       time_ns=time, root=root)
            need(all(revision[k] == v for k, v in row.items()), "the row of revision %d is not its COMMIT" % number)
            near = [p["number"] for p in revision["parents"][:1] if p["commit"]]
            need([first] == (near or [0]), "the row of revision %d has another parent" % number)
            self.revisions[number] = revision
        f.done()

    # --- content ---
    def chunk(self, offset, size):
        if offset not in self.chunks:
            f = self.payload(offset, CHUNK, "CHUNK")
            digest, (length, codec, width, _) = f.raw(32), f.take("IBBH")
            need(1 <= length <= MAX_CHUNK, "%s has a length out of bounds" % f.name)
            data = plain_bytes(codec, width, f.data[f.at:], length)
            need(len(data) == length and chunk_digest(data) == digest, "%s does not match its digest" % f.name)
            if len(self.chunks) >= 16:
                self.chunks.pop(next(iter(self.chunks)))
            self.chunks[offset] = data, record_size(len(f.data))
        data, record = self.chunks[offset]
        need(record == size, "CHUNK at %d has not the size its slice names" % offset)
        return data

    def node(self, offset, level, page_log2):
        f = self.payload(offset, NODE, "NODE")
        found, log2, mask, slices, _ = f.take("BBHHH")
        need(found == level and log2 == page_log2, "%s has a wrong level or page size" % f.name)
        present = [i for i in range(16) if mask >> i & 1]
        digests = dict(zip(present, [f.raw(32) for _ in present]))
        children = dict(zip(present, [f.take("Q") for _ in present])) if level else {}
        pieces = [f.take("QIIII") for _ in range(slices)]
        f.done()
        return digests, children, pieces

    def leaf_bytes(self, offset, pieces, page_log2):
        out, end = bytearray(16 << page_log2), 0
        for chunk, size, start, length, inside in pieces:
            need(end <= start and start + length <= len(out), "slices of NODE at %d overlap or leave it" % offset)
            data = self.chunk(chunk, size)
            need(inside + length <= len(data), "a slice of NODE at %d leaves its chunk" % offset)
            out[start:start + length], end = data[inside:inside + length], start + length
        return out

    def node_digest(self, offset, level, page_log2):
        """The subtree root of a node, from the bytes below it; every digest stored on the way is compared."""
        if (offset, level, page_log2) not in self.nodes:
            height = page_log2 - 12 + 4 * level
            made = subtree(self.child_digests(offset, level, page_log2), height, height + 4)
            self.nodes[offset, level, page_log2] = made
        return self.nodes[offset, level, page_log2]

    def child_digests(self, offset, level, page_log2):
        stored, children, pieces = self.node(offset, level, page_log2)
        height = page_log2 - 12 + 4 * level
        if level:
            made = [self.node_digest(children[i], level - 1, page_log2) if i in children else zero(height)
                    for i in range(16)]
        else:
            blocks = leaf_digests(self.leaf_bytes(offset, pieces, page_log2))
            made = [subtree(blocks[i << height:(i + 1) << height], 0, height) for i in range(16)]
        for i in range(16):
            need(made[i] == stored.get(i, zero(height)), "child %d of NODE at %d does not match its digest" % (i, offset))
        return made

    @staticmethod
    def levels(revision):
        levels = 1
        while revision["page_size"] << 4 * levels < revision["size"]:
            levels += 1
        return levels

    def leaves(self, revision):
        """(start, bytes) of the present leaves, ascending."""
        page_log2 = revision["page_size"].bit_length() - 1

        def below(offset, level, start):
            _, children, pieces = self.node(offset, level, page_log2)
            for i, child in children.items():
                yield from below(child, level - 1, start + (i << page_log2 + 4 * level))
            if level == 0:
                yield start, self.leaf_bytes(offset, pieces, page_log2)

        if revision["root"]:
            yield from below(revision["root"], self.levels(revision) - 1, 0)

    def made_content(self, revision):
        size, page_log2 = revision["size"], revision["page_size"].bit_length() - 1
        height, root, levels = height_of(size, 4), revision["root"], self.levels(revision)
        if not root:
            top = zero(height)
        elif levels == 1:  # the leaf may be higher than the content's tree
            pieces = self.node(root, 0, page_log2)[2]
            self.node_digest(root, 0, page_log2)
            blocks = leaf_digests(self.leaf_bytes(root, pieces, page_log2))
            top = subtree(blocks[:1 << height], 0, height)
        else:
            low = page_log2 - 12 + 4 * (levels - 1)
            top = subtree(self.child_digests(root, levels - 1, page_log2)[:1 << height - low], low, height)
        return content_digest(size, top).hex()

    def past_the_end(self, revision):
        """What the leaf that holds the last byte has behind it."""
        page_log2, size, offset = revision["page_size"].bit_length() - 1, revision["size"], revision["root"]
        last = max(0, size - 1) >> page_log2 + 4
        for level in range(self.levels(revision) - 1, 0, -1):
            offset = offset and self.node(offset, level, page_log2)[1].get(last >> 4 * (level - 1) & 15, 0)
        if not offset:
            return b""
        return self.leaf_bytes(offset, self.node(offset, 0, page_log2)[2], page_log2)[size - (last << page_log2 + 4):]

    def check(self, revision):
        need(self.made_content(revision) == revision["content"], "the bytes do not match the content digest")
        need(not any(self.past_the_end(revision)), "bytes past the size are not zeros")
        ids = b"".join(bytes.fromhex(p["id"]) for p in revision["parents"])
        message = struct.pack("<H", len(revision["parents"])) + ids + struct.pack("<Q", revision["size"]) \
            + bytes.fromhex(revision["content"]) + bytes.fromhex(revision["metadata"])
        need(hash_many([message], KEY["revision"])[0].hex() == revision["id"], "the id does not match")
        for parent in revision["parents"]:
            here = self.revisions.get(parent["number"]) if parent["commit"] else None
            need(not parent["commit"] or here and here["id"] == parent["id"], "a parent is not what it should be")
            need(not here or here["generation"] < revision["generation"], "the generation is not above a parent's")

    def check_links(self):
        """What the chain of COMMITs and the refs point at is there."""
        before, at = 0, {r["commit"]: r["id"] for r in self.revisions.values()}
        for revision in sorted(self.revisions.values(), key=lambda r: r["commit"]):
            need(revision["previous"] == before, "revision @%d has not the COMMIT before it" % revision["number"])
            before = revision["commit"]
        for ref in self.refs.values():
            need(not ref["commit"] or at.get(ref["commit"]) == ref["target"], "%s %s points at another revision"
                 % (ref["kind"], shown(ref["name"])))

    def cat(self, revision, out):
        done, size, nothing = 0, revision["size"], bytes(1 << 16)
        for start, data in self.leaves(revision):
            while done < start:
                done += out.write(nothing[:start - done])
            done += out.write(data[:max(0, size - start)])
        while done < size:
            done += out.write(nothing[:size - done])


# --- The command -------------------------------------------------------------------------------------
def shown(text):
    return "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in text)


def print_text(onion):
    for s in onion.superblocks:
        if s:
            print("superblock %(slot)s: sequence %(sequence)d epoch %(epoch)d tail %(tail)d group %(group)d "
                  "checkpoint %(checkpoint)d page_size %(page_size)d" % s)
    print("lineage %(lineage)s" % onion.head)
    for _, r in sorted(onion.revisions.items()):
        parents = ["@%d" % p["number"] if p["commit"] else "=" + p["id"] for p in r["parents"]]
        print("@%(number)d id %(id)s\n    size %(size)d content %(content)s" % r)
        print("    parents %s labels %s" % (" ".join(parents) or "none", " ".join(r["labels"]) or "none"))
        print("    author %s host %s note %s" % (shown(r["author"]), shown(r["host"]), shown(r["note"])))
    for _, r in sorted(onion.refs.items()):
        print("%s %s %s %s" % (r["kind"], shown(r["name"]), r["target"] or "-", shown(r["value"])))
    if onion.marked:
        print("marked for collection: " + " ".join("@%d" % n for n in onion.marked))


def print_json(onion):
    revisions = [r for _, r in sorted(onion.revisions.items())]
    refs = [r for _, r in sorted(onion.refs.items())]
    print(json.dumps(dict(lineage=onion.head["lineage"], superblocks=[s for s in onion.superblocks if s], end=onion.end,
                          revisions=revisions, refs=refs, marked=onion.marked), indent=1))


def run(options):
    onion = Onion(options.file, options.scan_only)
    if options.cat is not None:
        if options.cat not in onion.revisions:
            print("%s: no revision @%d" % (options.file, options.cat), file=sys.stderr)
            return 3
        onion.cat(onion.revisions[options.cat], sys.stdout.buffer)
        sys.stdout.flush()
        return 0
    bad = 0
    if options.check:
        onion.check_links()
    for number, revision in sorted(onion.revisions.items()) if options.check else ():
        try:
            onion.check(revision)
        except Damage as damage:
            bad += 1
            print("%s: revision @%d: %s" % (options.file, number, damage), file=sys.stderr)
    (print_json if options.json else print_text)(onion)
    return 4 if bad else 0


def main():
    parser = argparse.ArgumentParser(description="A second, plain reader of onion files.")
    parser.add_argument("file")
    parser.add_argument("--check", action="store_true", help="recompute every digest and id from the bytes")
    parser.add_argument("--cat", type=int, metavar="N", help="write the bytes of revision N")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scan-only", action="store_true", help="ignore checkpoints")
    options = parser.parse_args()
    try:
        return run(options)
    except Damage as damage:
        print("%s: damaged: %s" % (options.file, damage), file=sys.stderr)
        return 4
    except (Unsupported, OSError) as problem:
        print("%s: %s" % (options.file, problem), file=sys.stderr)
        return 5


if __name__ == "__main__":
    sys.exit(main())
