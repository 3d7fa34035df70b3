"""Counts the distinct structures of a dataset, independently of the generator.

Usage: count_structures.py FOLDER_OR_FILE. The Python source of every record is parsed with `ast`; names,
constants and docstrings are replaced, and equal trees are counted once.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path


class Abstraction(ast.NodeTransformer):
    """Numbers names in the order of their appearance and replaces every constant by 0."""

    def __init__(self):
        self.names = {}

    def rename(self, name):
        return self.names.setdefault(name, f"n{len(self.names)}")

    def visit_Name(self, node):
        if node.id not in ("wp", "float", "int", "bool", "range"):
            node.id = self.rename(node.id)
        return node

    def visit_arg(self, node):
        self.generic_visit(node)
        node.arg = self.rename(node.arg)
        return node

    def visit_FunctionDef(self, node):
        node.name = self.rename(node.name)
        if ast.get_docstring(node):
            node.body = node.body[1:]
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node):
        node.name = self.rename(node.name)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Name) and node.value.id == "wp") and node.attr not in "xyzw":
            node.attr = self.rename(node.attr)
        return node

    def visit_Constant(self, node):
        return ast.Constant(0)


def records(path):
    path = Path(path)
    files = [path] if path.is_file() else sorted(path.rglob("*.jsonl*")) + sorted(path.rglob("pair_*.json"))
    for file in files:
        if file.suffix == ".zst":
            text = subprocess.run(["zstd", "-dc", str(file)], check=True, capture_output=True).stdout.decode()
        else:
            text = file.read_text("utf-8")
        yield from (json.loads(line) for line in text.splitlines() if line)


def main():
    seen = {}
    count = 0
    crossing = 0
    for record in records(sys.argv[1]):
        count += 1
        tree = ast.dump(Abstraction().visit(ast.parse(record["python_source"])))
        split = record["metadata"]["split"]
        crossing += tree in seen and seen[tree] != split
        seen.setdefault(tree, split)
    print(f"{count} records, {len(seen)} distinct after renaming, {crossing} structures in two splits")
    return 0 if count == len(seen) else 1


if __name__ == "__main__":
    sys.exit(main())
