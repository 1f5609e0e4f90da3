#!/usr/bin/env python3
"""Writes docs/BENCHMARKS.md from bench/results/*.json and docs/benchmarks_intro.md.

Run: tools/render_benchmarks.py     after scripts/bench
A row without a budget has none. "not reached" rows are published like all others.
"""
import datetime
import json
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ["commit", "overhead", "history", "refs_gc", "scan", "growth", "sparse", "blake3", "codec", "cdc"]


def cpu() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def number(value: float) -> str:
    return "-" if not value else f"{value:.4g}"


def table(result: dict) -> list[str]:
    lines = [f"## {result['table']}", "", result["question"], f"Command: `scripts/bench {result['table']}`. Source: `bench/{result['table']}_bench.*`, whose head says "
             "what is inside the loop.", "", "| row | ours | other | ratio (10th..90th percentile) | CPU s, ours / other | budget | |", "|---|---|---|---|---|---|---|"]
    for row in result["rows"]:
        if not row["ours"] and not row["other"]:
            continue
        ratio = "-"
        if row["other"]:
            ratio = f"{row['ratio']:.3g}"
            if row.get("ratio_p10") and row["ratio_p10"] != row["ratio"]:
                ratio += f" ({row['ratio_p10']:.3g}..{row['ratio_p90']:.3g})"
        spent = f"{number(row.get('cpu_ours', 0))} / {number(row.get('cpu_other', 0))}" if row.get("cpu_ours") else "-"
        verdict = "" if row["within"] else "**not reached** "
        lines.append(f"| {row['row']} | {number(row['ours'])} {row['unit']} | {number(row['other'])} | {ratio} | {spent} | {row['budget'] or '-'} | {verdict}{row['note']} |")
    return lines + [""]


def main() -> None:
    results = {p.stem: json.loads(p.read_text()) for p in (ROOT / "bench" / "results").glob("*.json")}
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    lines = [(ROOT / "docs" / "benchmarks_intro.md").read_text().rstrip(), "",
             f"Rendered {datetime.date.today()} at commit {commit}, on {cpu()}, "
             f"{len(__import__('os').sched_getaffinity(0))} processors, "
             f"Linux {platform.release().split('-')[0]}.", ""]
    for name in ORDER + sorted(set(results) - set(ORDER)):
        if name in results:
            lines += table(results[name])
    (ROOT / "docs" / "BENCHMARKS.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
