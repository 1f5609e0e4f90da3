#!/usr/bin/python3
"""Writes into DIRECTORY the files of h5py's making that interop_test.cpp looks at: NAME.before.h5, NAME.after.h5."""
import os
import sys

import h5py
import numpy as np


def pair(directory, name, write, **options):
    for side in ("before", "after"):
        with h5py.File(f"{directory}/{name}.{side}.h5", "w", **options) as f:
            write(f, side == "after")


def mixed(f, edited):
    f.create_dataset("lzf", data=np.arange(3000, dtype="i4") * (2 if edited else 1), chunks=(1000,), compression="lzf")
    f.create_dataset("lzf_same", data=np.arange(3000, dtype="i4"), chunks=(1000,), compression="lzf")
    f["half"] = np.array([1, 2, 3.5 if edited else 3], dtype="f2")
    f["flags"] = np.array([True, edited])
    f["complex"] = np.array([1 + 2j, 3 + (5j if edited else 4j)])
    f["words"] = ["a", "b", "see" if edited else "c"]
    lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("f8"))
    lists[0] = [1, 2]
    lists[1] = [3, 5] if edited else [3, 4]
    f["empty"] = h5py.Empty("f4")
    f["soft"] = h5py.SoftLink("/half")
    f["external"] = h5py.ExternalLink("elsewhere.h5", "/x")
    layout = h5py.VirtualLayout((10,), "i4")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "x", (10,))
    f.create_virtual_dataset("virtual", layout)
    f.create_dataset("outside", (4,), "i4", external=[("elsewhere.raw", 0, 16)])


def scales(f, edited):
    """As NetCDF-4 does: dimension scales tie datasets together by references."""
    if edited:
        f["first"] = np.zeros(10)  # moves everything behind it
    f["time"] = np.arange(4.0)
    f["time"].make_scale("time")
    f["temperature"] = np.arange(4.0)
    f["temperature"].dims[0].attach_scale(f["time"])


def killed(directory, name, swmr, flush, **options):
    child = os.fork()
    if child == 0:
        f = h5py.File(f"{directory}/{name}.h5", "w", **options)
        d = f.create_dataset("x", (100,), maxshape=(None,), chunks=(10,), dtype="f8")
        d[:] = np.arange(100)
        if swmr:
            f.swmr_mode = True
            d.resize((200,))
            d[100:] = 7
        if flush:
            f.flush()
        os._exit(0)
    os.waitpid(child, 0)


def main(directory):
    pair(directory, "mixed", mixed)
    pair(directory, "mixed_latest", mixed, libver="latest")
    pair(directory, "scales", scales)
    killed(directory, "killed_swmr", True, True, libver="latest")
    killed(directory, "killed_latest", False, True, libver="latest")
    killed(directory, "killed_latest_early", False, False, libver="latest")
    killed(directory, "killed_old", False, True)
    killed(directory, "killed_old_early", False, False)
    with h5py.File(f"{directory}/swmr.h5", "w", libver="latest") as f:
        d = f.create_dataset("x", (100,), maxshape=(None,), chunks=(10,), dtype="f8")
        f.swmr_mode = True
        d[:] = 3
        d.flush()


if __name__ == "__main__":
    main(sys.argv[1])
