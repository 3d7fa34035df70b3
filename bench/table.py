"""Writes the tables of docs/speed.md from bench/results/*.json, between the two marks there.

    python3 bench/table.py            rewrites docs/speed.md
    python3 bench/table.py --check    fails where docs/speed.md says something else
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- speed: made by bench/table.py -->", "<!-- end of speed -->"


def rate(row):
    if row["bytes_per_second"]:
        return f"{row['bytes_per_second'] / 1e12:.2f} TB/s"
    if row["flops_per_second"]:
        return f"{row['flops_per_second'] / 1e12:.1f} TFLOP/s"
    return ""


def time_text(ms):
    if ms < 1e-3:
        return f"{ms * 1e6:.0f} ns"
    if ms < 1:
        return f"{ms * 1e3:.1f} us"
    return f"{ms:.2f} ms"


def memory(figures):
    return f"{figures['peak_gib']:.2f} GiB" if "peak_gib" in figures else ""


def table(record, suite):
    rows = record[suite]["cases"]
    peers = sorted({peer for row in rows for peer in row["peers"]})
    has_memory = any("peak_gib" in row for row in rows)
    head = ["", "ours", ""] + [cell for peer in peers for cell in (peer, "ratio")]
    if has_memory:
        head += ["peak, ours"] + [f"peak, {peer}" for peer in peers]
    threads = f", {record['threads']} threads" if record["device"] == "cpu" else ""
    made = f"{record[suite]['date']}, commit {record[suite]['commit']}"
    lines = [f"`causeway-bench {suite}` on {record['machine']}{threads}, {made}; medians, ratios above 1 are "
             "in our favour:", "",
             "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row["name"], time_text(row["ms"]), rate(row)]
        for peer in peers:
            other = row["peers"].get(peer)
            cells += [time_text(other["ms"]), f"{other['ratio']:.2f}"] if other else ["", ""]
        if has_memory:
            cells += [memory(row)] + [memory(row["peers"].get(peer, {})) for peer in peers]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def handoff_table(handoff):
    """Tensors to PyTorch and back without a copy."""
    return [f"Tensors handed to PyTorch and back by DLPack, {handoff['date']}, commit "
            f"{handoff['commit']}:", "", "|  | one call |", "|---|---|",
            *(f"| {name} | {time_text(ms)} |" for name, ms in handoff["ms"].items())]


def main():
    page = ROOT / "docs" / "speed.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    behind = rest.split(END)[1]
    lines = []
    for path in sorted((ROOT / "bench" / "results").glob("*.json")):
        record = json.loads(path.read_text())
        for suite in ("ops", "learning", "tokenizer", "prior", "pretrain"):
            if suite in record:
                lines += ["", *table(record, suite), ""]
        if "handoff" in record:
            lines += ["", *handoff_table(record["handoff"]), ""]
    wanted = before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + behind
    if "--check" in sys.argv[1:]:
        sys.exit(0 if wanted == text else "docs/speed.md: the tables are not those of "
                 "bench/results; run python3 bench/table.py")
    page.write_text(wanted)


if __name__ == "__main__":
    main()
