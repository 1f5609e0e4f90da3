#!/usr/bin/python3
"""peel_digest - the content digest of any file and the hashes of the onion format, in plain Python.

Contract   peel_digest.py FILE...   prints `peel1:HEX  FILE` a line, as `peel digest` does.
           As a module: hash_many, leaf_digests, subtree, content_digest, chunk_digest, crc32c for peel_decode.
Errors     Exit 5 when a file cannot be read.
Memory     256 KiB of the file, and 32 bytes for each started 4 KiB of it.
Source     docs/FORMAT.md, Digests; the BLAKE3 paper. Shares no code with the library, so that each checks the other.
"""
import struct
import sys

# --- BLAKE3. Many equally long messages at once: lane i of every big integer (64 bits, the upper half
# --- zero) is word of message i, so one addition or rotation of Python's integers serves them all.
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXES = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
         (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED = 1, 2, 4, 8, 16


def lanes(values):
    return int.from_bytes(struct.pack("<%dQ" % len(values), *values), "little")


def compress(cv, blocks, counters, length, flags):
    """cv: 8 lane integers; blocks: one 64-byte block per lane; the result: 8 lane integers."""
    words = struct.unpack("<%dI" % (16 * len(blocks)), b"".join(blocks))
    m = [lanes(words[j::16]) for j in range(16)]
    one = lanes([1] * len(blocks))
    mask = one * 0xFFFFFFFF
    v = list(cv) + [x * one for x in IV[:4]] + [lanes(counters), 0, length * one, flags * one]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(MIXES):
            for word, turn_d, turn_b in ((m[2 * i], 16, 12), (m[2 * i + 1], 8, 7)):
                v[a] = (v[a] + v[b] + word) & mask
                x = v[d] ^ v[a]
                v[d] = ((x >> turn_d) | (x << (32 - turn_d))) & mask
                v[c] = (v[c] + v[d]) & mask
                x = v[b] ^ v[c]
                v[b] = ((x >> turn_b) | (x << (32 - turn_b))) & mask
        m = [m[p] for p in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def chain_bytes(cv, count):
    words = [struct.unpack("<%dQ" % count, x.to_bytes(8 * count, "little")) for x in cv]
    return [struct.pack("<8I", *lane) for lane in zip(*words)]


def hash_many(messages, key=None):
    """BLAKE3 (keyed when `key` is given) of equally long messages."""
    count, size, base = len(messages), len(messages[0]), KEYED if key else 0
    start = struct.unpack("<8I", key) if key else IV

    def run(pieces, counters, flags, leaf):  # chaining values of equally long chunks or of parent blocks
        cv = [x * lanes([1] * len(pieces)) for x in start]
        last = max(0, len(pieces[0]) - 1) // 64 * 64
        for at in range(0, last + 1, 64):
            edge = flags if at == last else 0
            if leaf:
                edge |= (CHUNK_START if at == 0 else 0) | (CHUNK_END if at == last else 0)
            blocks = [p[at:at + 64].ljust(64, b"\0") for p in pieces]
            cv = compress(cv, blocks, counters, min(64, len(pieces[0]) - at), base | edge)
        return chain_bytes(cv, len(pieces))

    full, rest = divmod(size, 1024)
    root = ROOT if size <= 1024 else 0
    level = [[] for _ in messages]
    if full:
        pieces = [m[i * 1024:(i + 1) * 1024] for m in messages for i in range(full)]
        values = run(pieces, list(range(full)) * count, root, True)
        level = [values[i * full:(i + 1) * full] for i in range(count)]
    if rest or not full:
        for nodes, value in zip(level, run([m[full * 1024:] for m in messages], [full] * count, root, True)):
            nodes.append(value)
    while len(level[0]) > 1:  # pairs, an odd last one carried up: the same tree as BLAKE3's
        width = len(level[0])
        pairs = [n[i] + n[i + 1] for n in level for i in range(0, width - 1, 2)]
        values = run(pairs, [0] * len(pairs), PARENT | (ROOT if width == 2 else 0), False)
        half = width // 2
        level = [values[i * half:(i + 1) * half] + (n[-1:] if width % 2 else []) for i, n in enumerate(level)]
    return [nodes[0] for nodes in level]


def domain(text):
    return hash_many([text.encode()])[0]


# --- The content digest ------------------------------------------------------------------------------
KEY = {name: domain("peel 1 " + name) for name in ("leaf", "parent", "content", "chunk", "revision")}
ZEROS = [hash_many([bytes(4096)], KEY["leaf"])[0]]  # ZEROS[h]: the subtree of height h over zeros
known_leaves = {bytes(4096): ZEROS[0]}


def zero(height):
    while len(ZEROS) <= height:
        ZEROS.append(hash_many([ZEROS[-1] * 2], KEY["parent"])[0])
    return ZEROS[height]


def leaf_digests(data):
    """Digests of the 4096-byte blocks of `data`. Equal blocks are hashed once."""
    blocks = [bytes(data[i:i + 4096]).ljust(4096, b"\0") for i in range(0, len(data), 4096)]
    if len(known_leaves) > 4096:
        known_leaves.clear()
        known_leaves[bytes(4096)] = ZEROS[0]
    fresh = list({b for b in blocks if b not in known_leaves})
    for i in range(0, len(fresh), 64):
        known_leaves.update(zip(fresh[i:i + 64], hash_many(fresh[i:i + 64], KEY["leaf"])))
    return [known_leaves[b] for b in blocks]


def subtree(nodes, low, height):
    """The root of height `height` over digests of subtrees of height `low`; what is missing is zeros."""
    for h in range(low, height):
        nodes = nodes + [zero(h)] * (len(nodes) % 2)
        pairs = [nodes[i] + nodes[i + 1] for i in range(0, len(nodes), 2)]
        nodes = hash_many(pairs, KEY["parent"]) if pairs else []
    return nodes[0] if nodes else zero(height)


def height_of(size, least=0):
    while 4096 << least < size:
        least += 1
    return least


def content_digest(size, top):
    """`top`: the subtree of height height_of(size, 4) from the first block."""
    return hash_many([struct.pack("<Q", size) + top], KEY["content"])[0]


def chunk_digest(data):
    top = subtree(leaf_digests(data), 0, height_of(len(data)))
    return hash_many([struct.pack("<Q", len(data)) + top], KEY["chunk"])[0]


# --- CRC-32C -----------------------------------------------------------------------------------------
CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def crc32c(*parts):
    crc = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def main():
    for path in sys.argv[1:]:
        size, leaves = 0, []
        try:
            with open(path, "rb") as file:
                while data := file.read(1 << 18):
                    size += len(data)
                    leaves += leaf_digests(data)
        except OSError as problem:
            print(problem, file=sys.stderr)
            return 5
        print("peel1:%s  %s" % (content_digest(size, subtree(leaves, 0, height_of(size, 4))).hex(), path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
