"""Pages of documentation, one for each family of operations, made of the records.

A page's title and introduction are the docstring of the family's file; each operation has its docstring, its operands and
attributes, an example made of one of its samples, and what its invalid samples are told.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .accepted_types import accepted_types, in_words, operand_names, operand_shape
from .attributes import REQUIRED, AttributeKind, Choice
from .element_type import TOKEN
from .errors import HloError
from .instruction import Computation, Module, make_instruction
from .operation import CALLS, ELEMENTWISE, HOST_CALL, OPERATIONS, InvalidSample, Operation, Sample
from .shape import AnyShape, Shape, TupleShape, leaves, shape_of
from .text.literals import literal_text
from .text.printer import module_text
from .writing import function_name

# What each backend, by its name, does with an operation: "native", "expanded", "host call", or None for nothing.
Support = Mapping[str, str | None]
SUPPORT_IN_WORDS = {
    "native": "the backend has code for it",
    "expanded": "it is written as other operations first",
    "host call": "the program calls back into Python, which evaluates it",
    None: "it raises NotImplementedError, with the name of the operation",
}
_LARGEST_EXAMPLE = 64  # elements


class Example(NamedTuple):
    """A sample as a module; where the sample says what its result is, that as HLO text, and the module has no parameters."""

    module: Module
    result: str | None


def families() -> dict[str, list[Operation]]:
    """The operations of each family, by the name of its file in ``hlo/ops``, in alphabetical order."""
    found: dict[str, list[Operation]] = {}
    for record in OPERATIONS.values():
        found.setdefault(record.family, []).append(record)
    return dict(sorted(found.items()))


def pages(support: Callable[[str], Support]) -> dict[str, str]:
    """The text of every page in Markdown, by file name; README.md is the index.

    ``support(opcode)`` says what each backend does with an operation.

    >>> pages(lambda opcode: {"reference": "native"})["fourier.md"].splitlines()[0]
    '# The discrete Fourier transform'
    """
    texts = {f"{family}.md": _family_page(family, records, support) for family, records in families().items()}
    return {"README.md": _index(support), **texts}


# --- the pages ---


def _index(support: Callable[[str], Support]) -> str:
    backends = list(support(next(iter(OPERATIONS))))
    lines = [
        "# Operations",
        "",
        f"The {len(OPERATIONS)} operations of HLO that phlox knows. `python -m phlox docs --out docs/operations` writes the",
        "pages from the records in `hlo/ops/`: what they say of constraints, element types and backends is what the code does.",
        "",
        "| page | operations |",
        "|---|---|",
    ]
    for family, records in families().items():
        names = ", ".join(f"`{record.opcode}`" for record in records)
        lines.append(f"| [{_title(family)[0]}]({family}.md) | {names} |")
    lines += ["", "## What each backend does", ""]
    lines += [f"- {word or 'gap'}: {meaning}" for word, meaning in SUPPORT_IN_WORDS.items()]
    lines += ["", f"| operation | {' | '.join(backends)} |", "|---" * (len(backends) + 1) + "|"]
    for opcode, family in sorted((record.opcode, family) for family, records in families().items() for record in records):
        cells = [support(opcode)[backend] or "gap" for backend in backends]
        lines.append(f"| [{opcode}]({family}.md#{opcode}) | {' | '.join(cells)} |")
    lines += [
        "",
        "## Kinds of attributes",
        "",
        "What the values are, and how HLO text spells them.",
        "",
        "| kind | spelled |",
        "|---|---|",
    ]
    kinds = {_kind_in_words(type(kind)): type(kind) for record in OPERATIONS.values() for kind in record.attributes.values()}
    lines += [f"| {words} | {_in_a_cell(kind.__doc__ or '')} |" for words, kind in sorted(kinds.items())]
    return "\n".join(lines) + "\n"


def _kind_in_words(kind: type[AttributeKind]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", kind.__name__).lower()


def _in_a_cell(docstring: str) -> str:
    """The first paragraph, on one line of a table."""
    return " ".join(_markdown(docstring.strip().partition("\n\n")[0]).split()).replace("|", "\\|")


def _title(family: str) -> tuple[str, str]:
    """The docstring of the family's file: what stands before the first colon or full stop, and the rest."""
    module = sys.modules[families()[family][0].shape_function.__module__]
    first, _, rest = (module.__doc__ or family).strip().partition("\n\n")
    title, _, explanation = " ".join(first.split()).rstrip(".").partition(": ")
    introduction = [explanation[:1].upper() + explanation[1:] + "."] if explanation else []
    return title, "\n\n".join([*introduction, *([rest] if rest else [])])


def _family_page(family: str, records: list[Operation], support: Callable[[str], Support]) -> str:
    title, introduction = _title(family)
    parts = [f"# {title}", _markdown(introduction)] if introduction else [f"# {title}"]
    parts.append("Operations: " + ", ".join(f"[{record.opcode}](#{record.opcode})" for record in records))
    rows, below = _table_rows(records)
    if rows:
        parts.append(_table(rows, support))
        parts += below
        parts.append("Rejected:\n\n" + "\n".join(f"- {message}" for record in rows for message in rejections(record)))
    parts += [_operation_text(record, support(record.opcode)) for record in records if record not in rows]
    return "\n\n".join(parts) + "\n"


def _table_rows(records: list[Operation]) -> tuple[dict[Operation, str], list[str]]:
    """The operations of which a line says all there is to say, with what they mean, and the paragraphs that all others share.

    These are the elementwise operations without attributes whose docstrings are one paragraph.
    """
    candidates = [r for r in records if ELEMENTWISE in r.traits and not r.attributes and not r.wants_stated_shape]
    paragraphs = {record: _markdown(_described(record)[1]).split("\n\n") for record in candidates}
    counts = Counter(paragraph for texts in paragraphs.values() for paragraph in texts)
    shared = [paragraph for paragraph, count in counts.items() if count > 2]
    own = {record: [text for text in texts if text not in shared] for record, texts in paragraphs.items()}
    return {record: " ".join(texts[0].split()) for record, texts in own.items() if len(texts) == 1}, shared


def _table(rows: dict[Operation, str], support: Callable[[str], Support]) -> str:
    lines = ["| operation | builder | result | element types | example | traits | backends |", "|---" * 7 + "|"]
    for record, meaning in rows.items():
        shown = example(record)
        cells = (
            f'<a id="{record.opcode}"></a>`{record.opcode}({", ".join(record.operand_names)})`',
            ", ".join(f"`{name}`" for name in (record.builder, *record.aliases)),
            meaning.replace("|", "\\|"),
            _element_types(record),
            "" if shown is None else _example_line(record, shown),
            ", ".join(sorted(record.traits)),
            ", ".join(f"{backend}: {word or 'gap'}" for backend, word in support(record.opcode).items()),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _example_line(record: Operation, shown: Example) -> str:
    """The example as an equation of literals, or the shapes of its operands where its result is not known."""
    root = shown.module.entry.root
    if shown.result is None:
        return f"`{record.opcode}({', '.join(str(operand.shape) for operand in root.operands)})`"
    operands = [f"{o.shape} {literal_text(o.attributes['literal'], o.shape)}" for o in root.operands]
    return f"`{record.opcode}({', '.join(operands)})` is `{root.shape} {shown.result}`"


def _operation_text(record: Operation, support: Support) -> str:
    signature, meaning = _described(record)
    parts = [f"## {record.opcode}", f"`{signature}`", _markdown(meaning), _facts(record, support)]
    if record.attributes:
        rows = [_attribute_row(name, kind) for name, kind in record.attributes.items()]
        parts.append("\n".join(["| attribute | kind | default | in HLO text |", "|---|---|---|---|", *rows]))
    shown = example(record)
    if shown is not None:
        parts.append(_example_text(shown))
    messages = rejections(record)
    if messages:
        parts.append("Rejected:\n\n" + "\n".join(f"- {message}" for message in messages))
    return "\n\n".join(parts)


def _described(record: Operation) -> tuple[str, str]:
    """The docstring, split into ``Name(operands, ...)`` and what it means."""
    text = record.documentation
    match = re.match(r"([A-Z]\w*\(.*?\)):\s+", text, re.DOTALL)
    if match is None:
        return f"{record.builder}({', '.join(record.operand_names)})", text
    summary, blank, rest = text[match.end() :].partition("\n\n")
    summary = " ".join(summary.split())
    return " ".join(match[1].split()), summary[:1].upper() + summary[1:] + blank + rest


def _facts(record: Operation, support: Support) -> str:
    lines = []
    if record.operand_names:
        names = [f"`{name.removeprefix('*')}`" + ("..." if name.startswith("*") else "") for name in record.operand_names]
        lines.append("- Operands: " + ", ".join(names))
    if CALLS in record.traits:
        lines.append("- Element types: those that the called computations take")
    elif types := _element_types(record):
        lines.append("- Element types: " + types)
    if record.wants_stated_shape:
        lines.append("- Result: of the shape that the program states")
    lines.append(f"- Function: `hlo.{function_name(record.opcode)}`")
    lines.append(f"- `XlaBuilder`: {', '.join(f'`{name}`' for name in (record.builder, *record.aliases))}")
    if record.traits:
        lines.append("- Traits: " + ", ".join(sorted(record.traits)))
    lines.append("- Backends: " + ", ".join(f"{backend}: {word or 'gap'}" for backend, word in support.items()))
    return "\n".join(lines)


def _element_types(record: Operation) -> str:
    alike: dict[str, list[str]] = {}
    for name, element_types in accepted_types(record).items():
        alike.setdefault(in_words(element_types), []).append(f"`{name}`")
    return "; ".join(f"{', '.join(names)}: {words}" for words, names in alike.items())


def _attribute_row(name: str, kind: AttributeKind) -> str:
    words = _kind_in_words(type(kind))
    if isinstance(kind, Choice):
        words = "one of " + ", ".join(f"`{word}`" for word in kind.words if word)
    default = "required" if kind.default is REQUIRED else "none" if kind.default in ("", (), None) else f"`{kind.default}`"
    place = "between the parentheses" if kind.stands_in_parentheses else f"`{kind.spelling or name}=`"
    return f"| `{name}` | {words} | {default} | {place} |"


def _markdown(docstring: str) -> str:
    """The docstring with its code marked as Markdown does, its doctests as blocks."""
    blocks = []
    for block in docstring.split("\n\n"):
        if block.startswith(">>>"):
            blocks.append(f"```python\n{block}\n```")
        else:
            blocks.append(re.sub(r"``(.+?)``", r"`\1`", block, flags=re.DOTALL))
    return "\n\n".join(blocks)


# --- examples ---


def example(record: Operation) -> Example | None:
    """A module that does the operation, of the sample that shows it best; None where there are no samples.

    That is a small one with an expected result, whose operands become constants; else one whose operands are parameters.

    >>> example(OPERATIONS["get-tuple-element"]).result
    '7'
    """
    samples = record.samples()
    known = [sample for sample in samples if HOST_CALL not in record.traits and _is_known(sample)]
    if known:
        sample = min(known, key=_distance)
        return _example(record, sample, literal_text(sample.expected, shape_of(sample.expected)))
    return _example(record, min(samples, key=_distance), None) if samples else None


def _is_known(sample: Sample) -> bool:
    """Whether operands and result are small values that can be written down."""
    if sample.expected is None or any(isinstance(operand, Shape | TupleShape) for operand in sample.operands):
        return False
    has_token = any(leaf.element_type is TOKEN for leaf in leaves(shape_of(sample.expected)))
    return not has_token and _size(sample) <= _LARGEST_EXAMPLE


def _distance(sample: Sample) -> tuple[int, int]:
    """How far the sample is from the one that one would choose: a few elements of the most usual types."""
    types = {leaf.element_type.name for operand in sample.operands for leaf in leaves(operand_shape(operand))}
    return len(types - {"f32", "s32", "pred", "c64"}), max(0, 4 - _size(sample), _size(sample) - 16)


def _size(sample: Sample) -> int:
    return sum(leaf.size for operand in sample.operands for leaf in leaves(operand_shape(operand)))


def _example(record: Operation, sample: Sample, result: str | None) -> Example:
    operands = []
    for number, (name, operand) in enumerate(zip(operand_names(record, len(sample.operands)), sample.operands)):
        if operand is None:
            operands.append(make_instruction("after-all", (), name=name))
        elif result is None:
            operands.append(make_instruction("parameter", (), {"number": number}, operand_shape(operand), name))
        else:
            operands.append(make_instruction("constant", (), {"literal": operand}, name=name))
    instruction = make_instruction(record.opcode, operands, sample.attributes, sample.shape)
    return Example(Module("example", Computation("example", (*operands, instruction), instruction)), result)


def _example_text(shown: Example) -> str:
    text = module_text(shown.module).strip()
    if shown.result is not None:
        return f"Example:\n\n```hlo\n{text}\n```\n\nreturns `{shown.result}`."
    entry = text[text.index("ENTRY") :]
    line = next(line for line in entry.splitlines() if line.lstrip().startswith("ROOT"))
    shapes = ", ".join(f"`{operand.shape}`" for operand in shown.module.entry.root.operands)
    return f"Example:\n\n```\n{line.strip().removeprefix('ROOT ')}\n```" + (f"\n\nof operands {shapes}." if shapes else "")


# --- constraints ---


def rejections(record: Operation) -> list[str]:
    """What each invalid sample is told, and for which operands, as Markdown; each message once.

    >>> rejections(OPERATIONS["tuple"])
    []
    """
    found: dict[str, str] = {}
    for sample in record.invalid_samples():
        given = ", ".join(str(operand_shape(operand)) for operand in sample.operands)
        found.setdefault(_rejection(record, sample), f"`{record.opcode}({given})`")
    return [f"{given}: {message}" for message, given in found.items()]


def _rejection(record: Operation, sample: InvalidSample) -> str:
    shapes: list[AnyShape] = [operand_shape(operand) for operand in sample.operands]
    operands = [make_instruction("parameter", (), {"number": number}, shape) for number, shape in enumerate(shapes)]
    try:
        make_instruction(record.opcode, operands, sample.attributes, sample.shape)
    except HloError as error:
        return str(error).removeprefix(f"{record.opcode}: ").replace("<", "&lt;")
    raise AssertionError(f"an invalid sample of {record.opcode} is accepted: {sample}")
