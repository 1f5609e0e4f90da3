#!/usr/bin/python3
"""How much does an onion grow, all bytes counted, when an HDF5 file changes as HDF5 files do?

Budget (growth / file size): 16 of 256 gzip chunks edited <= 12 %, 8 chunks appended <= 2.5 %, h5repack <= 6 %, regenerated
with a small dataset put first <= 6 %, 512-byte user block added <= 4 %.
Inside: the command `peel`, the whole growth of the onion file (chunks, nodes, records, indexes). The other side is the
file's own size: what a copy of it would cost. Each revision is exported again and compared byte by byte.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

PEEL = pathlib.Path(__file__).resolve().parent / "peel"


def dataset(rows: int) -> numpy.ndarray:
    """Smooth measurements with noise that gzip cannot remove; about 11 KB a chunk when filtered."""
    rng = numpy.random.default_rng(1)
    x = numpy.arange(rows * 4096).reshape(rows, 4096)
    return (numpy.sin(x * 1e-3) * 100 + rng.normal(0, 0.02, x.shape)).astype("f4")


def write_file(path, data, first=None, userblock=0):
    with h5py.File(path, "w", userblock_size=userblock, libver="earliest") as f:
        if first is not None:
            f["calibration"] = first
        f.create_dataset("run", data=data, chunks=(1, 4096), maxshape=(None, 4096), compression="gzip")


def peel(*arguments):
    subprocess.run([PEEL, *arguments], check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--seconds")
    parser.add_argument("--filter", default="")
    arguments = parser.parse_args()
    rows = []
    data = dataset(256)
    os.environ.setdefault("PEEL_AUTHOR", "bench")

    def edited(path):
        with h5py.File(path, "r+") as f:
            rng = numpy.random.default_rng(2)
            for row in rng.choice(256, 16, replace=False):
                f["run"][row] = data[row] + rng.normal(0, 0.5, 4096)

    def appended(path):
        with h5py.File(path, "r+") as f:
            f["run"].resize(264, axis=0)
            f["run"][256:264] = numpy.round(data[:8], 0)

    def repacked(path):
        subprocess.run(["h5repack", path, path + ".new"], check=True)
        shutil.copyfile(path + ".new", path)
        os.unlink(path + ".new")

    def regenerated(path):
        write_file(path, data, first=numpy.arange(1000.0))

    def user_block(path):
        with open(path, "rb") as f:
            old = f.read()
        with open(path, "wb") as f:
            f.write(b"\0" * 512 + old)

    cases = [("16 of 256 chunks edited", edited, 12), ("8 chunks appended", appended, 2.5), ("h5repack, same filters", repacked, 6),
             ("regenerated, small dataset first", regenerated, 6), ("512-byte user block added", user_block, 4)]
    for name, change, budget in cases:
        if arguments.filter not in name:
            continue
        # Where bytes that moved are cut depends on a key drawn for each history: several, and the median of them.
        grown = []
        for _ in range(1 if arguments.check else 11):
            with tempfile.TemporaryDirectory(prefix="peel-bench-") as folder:
                path = os.path.join(folder, "data.h5")
                write_file(path, data)
                peel("commit", path, "-q", "-m", "first")
                before = os.path.getsize(path + ".onion")
                shutil.copyfile(path, path + ".1")
                change(path)
                peel("commit", path, "-q", "-m", name)
                grown.append(os.path.getsize(path + ".onion") - before)
                size = os.path.getsize(path + ".1")
                for revision, original in (("@1", path + ".1"), ("@2", path)):
                    peel("export", path, revision, "-o", path + ".out", "-q")
                    if open(path + ".out", "rb").read() != open(original, "rb").read():
                        print(f"bench: {name}: {revision} is not what was committed", file=sys.stderr)
                        return 4
                    os.unlink(path + ".out")
        grown.sort()
        middle, shares = grown[len(grown) // 2], [100 * g / size for g in grown]
        share = 100 * middle / size
        rows.append({"row": name, "unit": "bytes", "ours": middle, "other": size, "ratio": round(share / 100, 4),
                     "budget": f"<= {budget} %", "within": share <= budget,
                     "note": f"{share:.2f} % of the file; of {len(grown)} histories {shares[0]:.2f} to {shares[-1]:.2f} %"})
    if arguments.check:
        print(f"growth: checked, {len(rows)} rows")
        return 0
    print("## growth\n" + __doc__.split("\n")[0] + "\n\n| change | onion grew by | file | share | budget | |\n|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['row']} | {r['ours']} | {r['other']} | {100 * r['ratio']:.2f} % | {r['budget']}{'' if r['within'] else ' **not reached**'} | {r['note']} |")
    if arguments.json:
        with open(arguments.json, "w") as f:
            json.dump({"table": "growth", "question": __doc__.split("\n")[0], "rows": rows}, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())
