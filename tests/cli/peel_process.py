"""Runs build/bin/peel as its user would, in a temporary directory, and checks what comes back.

A PeelCase gives each test a fresh directory and a fresh PEEL_CONFIG_DIR. json() checks a document against the
keys that the command's own help documents: nothing undocumented, nothing promised and missing.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

PEEL = pathlib.Path(os.environ.get("PEEL_BUILD_DIR", "build")).resolve() / "bin" / "peel"
TIMEOUT_S = 60


def documented_keys():
    """{command: [(path, type)]}, {object: [(path, type)]} from the program itself."""
    table = json.loads(subprocess.run([PEEL, "help", "--json"], capture_output=True, check=True).stdout)
    keys = lambda owner: [(key["path"], key["type"]) for key in owner["keys"]]
    return ({c["name"]: keys(c) for c in table["commands"]}, {o["name"]: keys(o) for o in table["objects"]})


COMMAND_KEYS, OBJECT_KEYS = documented_keys()
PLAIN = {"string": str, "integer": int, "number": (int, float, type(None)), "boolean": bool, "object": dict, "array": list}


def expanded(keys, prefix=""):
    """Keys with shared objects put in: {path: (type, optional)}."""
    out = {}
    for path, kind in keys:
        optional = kind.endswith("?")
        kind = kind.rstrip("?")
        many = kind.endswith("[]")
        name = kind[:-2] if many else kind
        if name in OBJECT_KEYS:
            out[prefix + path] = ("array" if many else "object", optional)
            for inner, spec in expanded(OBJECT_KEYS[name], prefix + path + ("[]." if many else ".")).items():
                out[inner] = spec
        else:
            out[prefix + path] = (kind, optional)
    return out


def disagreements(document, specs):
    """Every way in which a document is not what `specs` says, as text."""
    found = []

    def children(prefix):
        return {p[len(prefix):]: s for p, s in specs.items() if p.startswith(prefix) and re.fullmatch(r"[^.\[]+", p[len(prefix):])}

    def look(value, prefix):
        known = children(prefix)
        for key, inner in value.items():
            path = prefix + key
            if key not in known:
                found.append(f"undocumented key {path}")
                continue
            kind = known[key][0]
            if not isinstance(inner, PLAIN[kind]) or (kind == "integer" and isinstance(inner, bool)):
                found.append(f"{path} is no {kind}: {inner!r}")
            if isinstance(inner, dict):
                look(inner, path + ".")
            for element in inner if isinstance(inner, list) else []:
                if isinstance(element, dict):
                    look(element, path + "[].")
        for key, (_, optional) in known.items():
            if not optional and key not in value:
                found.append(f"missing key {prefix}{key}")

    look(document, "")
    return found


class PeelCase(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="peel-cli-"))
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.config = self.dir / "config"
        (self.dir / "work").mkdir()
        self.work = self.dir / "work"

    def environment(self, config=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PEEL_") and k != "XDG_CONFIG_HOME"}
        return {**clean, "PEEL_CONFIG_DIR": str(config or self.config), "PEEL_AUTHOR": "tester", "TZ": "UTC"}

    def start(self, *arguments, config=None, cwd=None, **more):
        return subprocess.Popen([PEEL, *map(str, arguments)], cwd=cwd or self.work, env=self.environment(config),
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def peel(self, *arguments, expect=0, config=None, cwd=None, input=None):
        """Runs peel; returns (stdout, stderr) as text. Fails the test on another exit code."""
        process = self.start(*arguments, config=config, cwd=cwd,
                             stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL)
        try:
            out, err = process.communicate(input, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        self.assertEqual(process.returncode, expect, f"peel {' '.join(map(str, arguments))}\n--- out\n{out}--- err\n{err}")
        if expect not in (0, 1, 130):
            self.assertRegex(err, r"(?m)^peel: ", "a failure says why")
        return out, err

    def json(self, *arguments, **more):
        """Runs peel --json and returns the document, after checking its keys."""
        out, _ = self.peel(*arguments, "--json", **more)
        document = json.loads(out)
        specs = expanded(COMMAND_KEYS[arguments[0]])
        self.assertEqual(disagreements(document, specs), [])
        return document

    def write(self, name, data):
        path = self.work / name
        path.write_bytes(data)
        return path

    def interrupt(self, process, signal_number=signal.SIGINT):
        process.send_signal(signal_number)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, out, err
