"""peel_codecs - the stored forms of a chunk, in plain Python. A part of peel_decode.

Contract   plain_bytes(codec, width, stored, length) gives the plain bytes of a CHUNK.
Errors     Damage where the stored bytes make no sense; Unsupported for an unknown codec; OSError without libzstd.
Memory     The plain bytes, twice. The caller has bounded `length`.
Source     docs/FORMAT.md, Chunks; the LZ4 block format. zstd comes from the system's libzstd.so.1.
"""
import ctypes


class Damage(Exception):
    pass


class Unsupported(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Damage(what)


def lz4(data, size):
    """One LZ4 block. IndexError where it ends too early; the caller compares the length."""
    out, at = bytearray(), 0

    def extended(nibble, position):
        more = 255 if nibble == 15 else 0
        while more == 255:
            more = data[position]
            nibble, position = nibble + more, position + 1
        return nibble, position

    while at < len(data):
        token = data[at]
        literals, at = extended(token >> 4, at + 1)
        need(at + literals <= len(data) and len(out) + literals <= size, "an LZ4 block breaks its bounds")
        out += data[at:at + literals]
        at += literals
        if at == len(data):
            break
        back = data[at] | data[at + 1] << 8
        length, at = extended(token & 15, at + 2)
        length += 4
        need(0 < back <= len(out) and len(out) + length <= size, "an LZ4 block breaks its bounds")
        seed = out[len(out) - back:][:length]  # a match may overlap what it makes: the seed repeats
        out += (seed * (length // len(seed) + 1))[:length]
    return bytes(out)


def zstd(data, size):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    made = library.ZSTD_decompress(out, size, data, len(data))
    need(made == size, "a zstd frame does not decode to its length")
    return out.raw


def join_planes(data, width):
    count = len(data) // width
    out = bytearray(data)  # the tail of length mod width bytes is in place already
    for p in range(width):
        out[p:count * width:width] = data[p * count:(p + 1) * count]
    return bytes(out)


def add_differences(data, width):
    """Undoes codec 7's differences, before the tail."""
    out, value, mask = bytearray(data), 0, (1 << 8 * width) - 1
    for at in range(0, len(data) // width * width, width):
        code = int.from_bytes(data[at:at + width], "little")
        value = value + (-(code + 1 >> 1) if code & 1 else code >> 1) & mask
        out[at:at + width] = value.to_bytes(width, "little")
    return bytes(out)


class Cursor:
    """Takes bytes from the front; Damage where there are too few."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        need(self.at + count <= len(self.data), "a chunk ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def integer(self, size):
        return int.from_bytes(self.take(size), "little")

    def tail(self, count):
        need(len(self.data) - self.at == count, "a chunk has a wrong length")
        return self.take(count)


def planes(stored, width, length):
    count, cursor, out = length // width, Cursor(stored), b""
    for _ in range(width):
        form = cursor.integer(1)
        need(form <= 3, "a byte plane has a form that is none")
        if form == 0:
            plane = cursor.take(count)
        elif form == 1:
            plane = cursor.take(1) * count
        else:
            plane = (zstd if form == 2 else lz4)(cursor.take(cursor.integer(4)), count)
        need(len(plane) == count, "a byte plane has a wrong length")
        out += plane
    return join_planes(out + cursor.tail(length % width), width)


def dbp_residuals(cursor, width, order, count):
    """The residuals of one block of `count` elements."""
    b, lanes = 8 * width, 32 // width
    bits, exceptions = cursor.integer(1), cursor.integer(1)
    need(bits < b or (bits == b and exceptions == 0), "a block has more bits than an element")
    places = cursor.take(exceptions)
    high = {place: cursor.integer(width - bits // 8) for place in places}
    rows = cursor.take(32 * (bits if count == 256 else -(-(-(-count // lanes)) * bits // b)))
    strings = []
    for lane in range(lanes):  # each lane's words, lowest first, as one large integer
        words = [rows[at + lane * width:at + (lane + 1) * width] for at in range(0, len(rows), 32)]
        strings.append(int.from_bytes(b"".join(words), "little"))
    up = 1 << bits - 1 if order > 0 and bits > 0 else 0
    for i in range(count):
        lane, step = (i // b, i % b) if count == 256 else (i % lanes, i // lanes)
        packed = strings[lane] >> step * bits & (1 << bits) - 1
        yield packed + (high.get(step * lanes + lane, 0) << bits) - up


def dbp(stored, width, length):
    need(width in (1, 2, 4, 8), "dbp with a wrong width")
    cursor, out, mask = Cursor(stored), bytearray(), (1 << 8 * width) - 1
    order, value, slope, left = cursor.integer(1), 0, 0, length // width
    need(order <= 2, "dbp with a wrong order")
    while left > 0:
        for residual in dbp_residuals(cursor, width, order, min(left, 256)):
            slope = slope + residual if order == 2 else residual
            value = (value + slope if order > 0 else residual) & mask
            out += value.to_bytes(width, "little")
        left -= 256
    return bytes(out) + cursor.tail(length % width)


def plain_bytes(codec, width, stored, length):
    need(width >= 1, "a chunk has elements of width 0")
    try:
        if codec == 1:
            need(len(stored) == width, "a constant chunk has a wrong width")
            return (stored * (length // width + 1))[:length]
        if codec == 0:
            return stored
        if codec in (2, 5):
            data = lz4(stored, length)
        elif codec in (3, 4, 7):
            data = zstd(stored, length)
        elif codec == 6:
            return dbp(stored, width, length)
        elif codec == 8:
            return planes(stored, width, length)
        else:
            raise Unsupported("chunk codec %d is unknown to this reader" % codec)
        data = join_planes(data, width) if codec >= 4 else data
        need(codec != 7 or width in (1, 2, 4, 8), "differences with a wrong width")
        return add_differences(data, width) if codec == 7 else data
    except IndexError:
        raise Damage("an LZ4 block ends too early") from None
