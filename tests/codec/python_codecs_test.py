#!/usr/bin/env python3
"""The plain decoder of tools/ reads what page_codec_goldens.inc holds, and fails cleanly on what is cut short.

The plain bytes are made here once more, as page_codec_golden_test.cpp makes them.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import peel_codecs  # noqa: E402

CODECS = {"dbp": 6, "delta_zstd": 7, "planes": 8}


def random_numbers(state):
    mask = (1 << 64) - 1
    while True:
        state = state + 0x9E3779B97F4A7C15 & mask
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield z ^ z >> 31


def golden_plain(size):
    numbers, value, out = random_numbers(2026), 500, b""
    while len(out) < size:
        value += 3000 if next(numbers) % 40 == 0 else next(numbers) % 7 - 1
        out += (value & 0xFFFF).to_bytes(2, "little")
    return out[:size]


def main():
    text = (ROOT / "tests" / "codec" / "page_codec_goldens.inc").read_text()
    goldens = re.findall(r"\{Codec::(\w+), (\d+), (\d+),\s*((?:\"[0-9a-f]*\"\s*)+)\}", text)
    assert len(goldens) >= 7, "goldens are missing"
    for name, width, size, lines in goldens:
        stored, width, size = bytes.fromhex("".join(re.findall(r"[0-9a-f]{2,}", lines))), int(width), int(size)
        assert peel_codecs.plain_bytes(CODECS[name], width, stored, size) == golden_plain(size), (name, width)
        for cut in range(0, len(stored), 7):
            try:
                peel_codecs.plain_bytes(CODECS[name], width, stored[:cut], size)
            except peel_codecs.Damage:
                continue
            raise AssertionError("%s cut to %d bytes was read" % (name, cut))


main()
