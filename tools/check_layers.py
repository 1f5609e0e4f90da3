#!/usr/bin/env python3
"""Fails when a file includes a layer it may not see. The table below IS the architecture.

Run: tools/check_layers.py [ROOT]     (ROOT defaults to the repository; exit 1 names each wrong line)
"""
import pathlib
import re
import sys

MAY_INCLUDE = {  # layer of src/ -> layers it may include besides itself and the public headers (peel/)
    "base": set(),
    "codec": {"base"},
    "reconcile": {"base"},
    "onion": {"base", "codec"},
    "hdf5": {"base"},                       # the only user of libhdf5
    "trust": {"base", "codec"},             # identity, peers, invites: files under the user's configuration
    "proto": {"base", "codec", "reconcile"},  # sans-IO: sees neither the store nor sockets
    "link": {"base"},
    "zmodem": {"base", "codec"},
    "mesh": {"base", "codec"},
    "tree": {"base", "codec"},
    "workspace": {"base", "codec", "onion", "hdf5"},
    "sync": {"base", "codec", "reconcile", "onion", "hdf5", "trust", "proto", "link", "workspace", "tree"},
    "hub": {"base", "codec", "reconcile", "onion", "trust", "proto", "link", "sync", "tree"},
}
CLI_MAY_INCLUDE = {"base", "codec", "onion", "hdf5", "trust", "workspace", "sync", "hub", "cli"}
SANS_IO = {"proto", "reconcile", "codec"}   # no system I/O, no clock, no threads
SANS_IO_FORBIDDEN = re.compile(r"<(sys/socket|netinet/|poll|unistd|fcntl|fstream)|(steady|system)_clock::now\(")
HDF5_HEADER = re.compile(r"#include\s+<hdf5|#include\s+<H5")
INCLUDE = re.compile(r'^\s*#include\s+"([a-z0-9_]+)/')


def findings(root: pathlib.Path):
    for folder in ("src", "cli"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp"}:
                continue
            relative = path.relative_to(root)
            layer = relative.parts[1] if folder == "src" else "cli"
            allowed = CLI_MAY_INCLUDE if folder == "cli" else MAY_INCLUDE.get(layer)
            if allowed is None:
                yield f"{relative}: unknown layer {layer}: add it to tools/check_layers.py"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                hit = INCLUDE.match(line)
                if hit and hit[1] not in {layer, "peel"} and hit[1] not in allowed:
                    yield f"{relative}:{number}: {layer} may not include {hit[1]}"
                if layer in SANS_IO and SANS_IO_FORBIDDEN.search(line):
                    yield f"{relative}:{number}: sans-IO code must not use: {line.strip()}"
                if layer != "hdf5" and HDF5_HEADER.search(line):
                    yield f"{relative}:{number}: only hdf5 may use libhdf5"


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    bad = list(findings(root))
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
