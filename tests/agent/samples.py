"""A long text that is the same every time."""

from itertools import count, pairwise

END_MARK = "\n\nEND-MARK\n"


def passage(size: int) -> str:
    """Markdown of exactly `size` ASCII characters (at least the end mark) that ends with END_MARK."""
    left = max(size - len(END_MARK), 0)
    sections: list[str] = []
    for number in count(1):
        section = _section(number)
        if len(section) > left:
            break
        sections.append(section)
        left -= len(section)
    filler = "and so on, word after word, " * (left // 28 + 1)
    return "".join(sections) + filler[:left] + END_MARK


def cut(text: str, pieces: int) -> list[str]:
    """`text` in `pieces` pieces of about the same length, none empty."""
    pieces = max(1, min(pieces, len(text)))
    borders = [number * len(text) // pieces for number in range(pieces + 1)]
    return [text[start:end] for start, end in pairwise(borders)]


def _section(number: int) -> str:
    return f"""## Section {number}

This is paragraph {number} of a long text. It has **bold words**, `code`, and enough of everything to be cut in odd
places; nothing in it depends on the hour or on chance.

- item {number}.1
- item {number}.2, with *emphasis*

```python
def section_{number}():
    return {number} * {number}  # {number * number}
```

| n | n squared |
|---|---|
| {number} | {number * number} |

"""
