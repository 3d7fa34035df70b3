"""Sums of products in Einstein's notation, by permutation and matrix products."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums products of elements as the equation says: einsum("bij,bjk->bik", a, b). An ellipsis is any
    number of leading dimensions; without "->", the letters that occur once come in alphabetical order."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    inputs, output = _parse(equation.replace(" ", ""), tensors)
    result, letters = _diagonals(tensors[0], inputs[0])
    for i in range(1, len(tensors)):
        later = set(output).union(*inputs[i + 1 :])
        result, letters = _product((result, letters), _diagonals(tensors[i], inputs[i]), later)
    summed = [place for place, letter in enumerate(letters) if letter not in output]
    if summed:
        result = result.sum(dim=summed)
        letters = [letter for letter in letters if letter in output]
    return result.permute([letters.index(letter) for letter in output]) if output else result


def _parse(equation: str, tensors: Any) -> tuple[list[list[str]], list[str]]:
    """The letters of every input and of the output; the dimensions of an ellipsis have numbers."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ValueError(f"einsum: {equation!r} has {len(terms)} inputs, got {len(tensors)} tensors")
    inputs, widest = [], 0
    for term, x in zip(terms, tensors):
        named = term.replace("...", "")
        rest = x.ndim - len(named)
        if rest < 0 or (rest and "..." not in term) or not named.isalpha() and named:
            raise ValueError(f"einsum: {term!r} does not describe shape {x.shape}")
        widest = max(widest, rest)
        head, dots, tail = term.partition("...")
        inputs.append([*head, *([str(i) for i in range(rest, 0, -1)] if dots else []), *tail])
    wide = [str(i) for i in range(widest, 0, -1)]
    if arrow:
        head, dots, tail = right.partition("...")
        output = [*head, *(wide if dots else []), *tail]
    else:
        once = sorted(letter for letter in set(left) if letter.isalpha() and left.count(letter) == 1)
        output = wide + once
    unknown = set(output) - set().union(*inputs)
    if unknown or len(set(output)) != len(output):
        raise ValueError(f"einsum: the output of {equation!r} repeats or invents a letter")
    return inputs, output


def _diagonals(x: Tensor, letters: list[str]) -> tuple[Tensor, list[str]]:
    """Repeated letters of one input become one dimension."""
    letters = list(letters)
    for letter in letters[:]:
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            x = x.diagonal(dim1=first, dim2=second)
            letters = [name for i, name in enumerate(letters) if i not in (first, second)] + [letter]
    return x, letters


def _product(a: tuple[Tensor, list[str]], b: tuple[Tensor, list[str]], later: set[str]) -> tuple[Tensor, list[str]]:
    """Multiplies two operands and sums over the letters that nothing needs later."""
    (x, left), (y, right) = a, b
    batch = [letter for letter in left if letter in right and letter in later]
    inner = [letter for letter in left if letter in right and letter not in later]
    rows = [letter for letter in left if letter not in right]
    columns = [letter for letter in right if letter not in left]
    sizes = dict(zip(right, y.shape))
    for letter, size in zip(left, x.shape):
        other = sizes.get(letter, size)
        if size != other and 1 not in (size, other):
            raise _core.ShapeMismatch(f"[einsum] dimension {letter!r} has sizes {size} and {other}")
        sizes[letter] = max(size, other)

    def arranged(tensor: Tensor, letters: list[str], *groups: list[str]) -> Tensor:
        tensor = tensor.permute([letters.index(letter) for group in groups for letter in group])
        own = set(letters)
        shape = [sizes[letter] for group in groups for letter in group if letter in own]
        tensor = tensor.expand(shape)
        counts = [_count(sizes, group) for group in groups]
        return tensor.reshape(*[sizes[letter] for letter in groups[0]], *counts[1:])

    product = arranged(x, left, batch, rows, inner) @ arranged(y, right, batch, inner, columns)
    letters = batch + rows + columns
    return product.reshape([sizes[letter] for letter in letters]), letters


def _count(sizes: dict[str, int], letters: list[str]) -> int:
    count = 1
    for letter in letters:
        count *= sizes[letter]
    return count
