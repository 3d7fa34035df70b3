"""The text of the kernel that computes traced values."""

from __future__ import annotations

from .fusion_trace import COLUMN, DROPPED, FULL, ROW, SCALAR, Traced

_BINARY = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or"}
_REDUCTIONS = {"row sum", "row mean", "row max", "row min"}

# What a thread computes: an element, with arrays of the whole shape as one dimension; the same with
# rows and columns, for arrays of other strides; a row; or a part of the row of its block.
FLAT, GRID, ROWS, BLOCKS = "flat", "grid", "rows", "blocks"


def is_by_row(results: list[Traced]) -> bool:
    """Whether there are reductions, or results of one element per row."""
    narrow = any(node.extent in (COLUMN, DROPPED) for node in results)
    return narrow or any(node.op in _REDUCTIONS for node in _sorted(results))


def kernel_text(inputs: list[Traced], results: list[Traced], layout: str, threads: int = 0) -> str:
    """A kernel "fused" of the arrays x0, x1, … (inputs), y0, y1, … (results) and the number of
    columns. In BLOCKS, a block has `threads` threads.
    """
    return _Writer(inputs, results, layout, threads).text()


def _sorted(results: list[Traced]) -> list[Traced]:
    """All values, operands first."""
    order: list[Traced] = []
    seen: set[int] = set()

    def visit(node: Traced) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        if node.op not in ("input", "constant"):
            for operand in node.operands:
                visit(operand)
        order.append(node)

    for result in results:
        visit(result)
    return order


class _Writer:
    def __init__(self, inputs: list[Traced], results: list[Traced], layout: str, threads: int) -> None:
        self.inputs = inputs
        self.results = results
        self.order = _sorted(results)
        self.layout = layout
        self.threads = threads
        whole = "[k]" if layout == FLAT else "[i, j]"
        self.index = {FULL: whole, ROW: "[j]", COLUMN: "[i]", DROPPED: "[i]", SCALAR: "[0]"}
        columns = f"lane, n, {threads}" if layout == BLOCKS else "n"
        self.loop = f"for j in range({columns}):"
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.counter = 0

    def text(self) -> str:
        arrays = [(f"x{i}", node) for i, node in enumerate(self.inputs)]
        arrays += [(f"y{i}", node) for i, node in enumerate(self.results)]
        parameters = [f"{name}: cw.array{self._ndim(node)}d(dtype=cw.{node.scalar})" for name, node in arrays]
        self._coordinates()
        if self.layout in (FLAT, GRID):
            self._store(self.results, {}, "")
        else:
            self._rows()
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"@cw.kernel\ndef fused({', '.join(parameters)}, n: int):\n{body}"

    def _ndim(self, node: Traced) -> int:
        return 2 if node.extent == FULL and self.layout != FLAT else 1

    def _coordinates(self) -> None:
        """The row i and the column j of the thread, as far as it needs them."""
        if self.layout == GRID:
            self.lines.append("i, j = cw.tid()")
        elif self.layout == ROWS:
            self.lines.append("i = cw.tid()")
        elif self.layout == BLOCKS:
            self.lines += ["k = cw.tid()", f"i = k / {self.threads}", f"lane = k % {self.threads}"]
        else:
            extents = {node.extent for node in self.order if node.op == "input"}
            self.lines.append("k = cw.tid()")
            if COLUMN in extents:
                self.lines.append("i = k / n")
            if ROW in extents:
                self.lines.append("j = k - i * n" if COLUMN in extents else "j = k % n")

    def _rows(self) -> None:
        """One loop over the columns for each reduction, and one for results with columns."""
        for node in self.order:
            if node.op in _REDUCTIONS:
                self._reduce(node)
        indent = ""
        narrow = [node for node in self.results if node.extent != FULL]
        if narrow and self.layout == BLOCKS:
            self.lines.append("if lane == 0:")
            indent = "    "
        self._store(narrow, {}, indent)
        full = [node for node in self.results if node.extent == FULL]
        if full:
            self.lines.append(self.loop)
            self._store(full, {}, "    ")

    def _store(self, results: list[Traced], local: dict[int, str], indent: str) -> None:
        for node in results:
            number = next(i for i, result in enumerate(self.results) if result is node)
            value = self._value(node, local, indent)
            self.lines.append(f"{indent}y{number}{self.index[node.extent]} = {value}")

    def _reduce(self, node: Traced) -> None:
        """One loop over the columns."""
        (operand,) = node.operands
        name = self._new("r")
        scalar = f"cw.{node.scalar}"
        op = node.op.removeprefix("row ")
        if op in ("sum", "mean"):
            self.lines.append(f"{name} = {scalar}(0.0)")
        else:
            sign = "-" if op == "max" else ""
            self.lines.append(f"{name} = {scalar}({sign}cw.inf)")
        self.lines.append(self.loop)
        value = self._value(operand, {}, "    ")
        if op in ("sum", "mean"):
            self.lines.append(f"    {name} = {name} + {value}")
        else:
            self.lines.append(f"    {name} = cw.{op}({name}, {value})")
        if self.layout == BLOCKS:
            combine = "sum" if op == "mean" else op
            name = self._assign("r", f"cw.block_{combine}({name})", "")
        if op == "mean":
            name = self._assign("r", f"{name} / {scalar}(n)", "")
        self.names[id(node)] = name

    def _new(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def _assign(self, prefix: str, expression: str, indent: str) -> str:
        name = self._new(prefix)
        self.lines.append(f"{indent}{name} = {expression}")
        return name

    def _value(self, node: Traced, local: dict[int, str], indent: str) -> str:
        """A name or literal for the value; what is not there yet is computed in new lines."""
        if id(node) in self.names:  # a reduction
            return self.names[id(node)]
        if id(node) in local:
            return local[id(node)]
        if node.op == "constant":
            return _literal(node)
        if node.op == "input":
            number = next(i for i, given in enumerate(self.inputs) if given is node)
            expression = f"x{number}{self.index[node.extent]}"
        else:
            operands = [self._value(operand, local, indent) for operand in node.operands]
            expression = _expression(node, operands)
        local[id(node)] = self._assign("t", expression, indent)
        return local[id(node)]


def _literal(node: Traced) -> str:
    (value,) = node.operands
    if node.scalar == "bool":
        return str(bool(value))
    if not node.scalar.startswith("float"):
        return f"cw.{node.scalar}({int(value)})"
    text = {"inf": "cw.inf", "-inf": "-cw.inf", "nan": "cw.nan"}.get(repr(float(value)))
    return f"cw.{node.scalar}({text or repr(float(value))})"


def _expression(node: Traced, operands: list[str]) -> str:
    if node.op in _BINARY:
        return f"{operands[0]} {node.op} {operands[1]}"
    if node.op == "cast":
        if node.scalar == "bool":
            return f"{operands[0]} != cw.{node.operands[0].scalar}(0)"
        if node.operands[0].scalar == "bool":
            return f"cw.where({operands[0]}, cw.{node.scalar}(1), cw.{node.scalar}(0))"
        return f"cw.{node.scalar}({operands[0]})"
    if node.op == "negate":
        return f"-{operands[0]}"
    if node.op == "not":
        return f"not {operands[0]}"
    return f"cw.{node.op}({', '.join(operands)})"
