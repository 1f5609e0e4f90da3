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
        elif codec in (3, 4):
            data = zstd(stored, length)
        else:
            raise Unsupported("chunk codec %d is unknown to this reader" % codec)
        return join_planes(data, width) if codec >= 4 else data
    except IndexError:
        raise Damage("an LZ4 block ends too early") from None
