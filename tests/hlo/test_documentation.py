"""The pages of docs/operations: up to date, complete, and true."""

import re

import phlox
import pytest
from cpu_passes import optimize
from paths import ROOT
from phlox.__main__ import main
from phlox.backends.registry import get_backend, operation_support, register_backend
from phlox.command_line.operation_pages import operation_pages
from phlox.hlo import ELEMENT_TYPES, OPERATIONS, Computation, Module, Shape, TupleShape, make_instruction, shape_of
from phlox.hlo.accepted_types import accepted_types, in_words
from phlox.hlo.documentation import SUPPORT_IN_WORDS, example, families, rejections
from phlox.hlo.text.literals import literal_text

FOLDER = ROOT / "docs" / "operations"
GAPS = FOLDER.parent / "gaps.md"


@pytest.fixture(scope="module")
def pages():
    return operation_pages()


def test_the_pages_are_up_to_date(pages, golden):
    """`python -m phlox docs --out docs/operations` writes them anew, and so does `pytest --update-goldens`."""
    for name, text in pages.items():
        golden(FOLDER / name, text)
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(pages)


def test_every_operation_stands_on_one_page(pages):
    anchor = r"^(?:## (.+)|\| <a id=\"(.+?)\"></a>.*)$"
    headings = ["".join(found) for text in pages.values() for found in re.findall(anchor, text, re.MULTILINE)]
    assert sorted(
        heading for heading in headings if heading not in ("What each backend does", "Kinds of attributes")
    ) == sorted(OPERATIONS)
    rows = re.findall(r"^\| \[(.+?)\]\((.+?)\.md#(.+?)\) \|", pages["README.md"], re.MULTILINE)
    assert [opcode for opcode, _, _ in rows] == sorted(OPERATIONS)
    for opcode, page, anchor in rows:
        assert anchor == opcode
        assert f"\n## {opcode}\n" in pages[f"{page}.md"] or f'\n| <a id="{opcode}"></a>' in pages[f"{page}.md"]


def test_every_page_has_a_title_and_says_where_its_semantics_come_from(pages):
    for family in families():
        text = pages[f"{family}.md"]
        assert re.match(r"# [A-Z]", text), family
        assert "Source" in text or "the preview" in text, f"{family}: no source of the semantics is named"


def test_every_kind_of_attribute_is_explained(pages):
    index = pages["README.md"].split("## Kinds of attributes")[1]
    kinds = {type(kind).__name__ for record in OPERATIONS.values() for kind in record.attributes.values()}
    rows = re.findall(r"^\| ([a-z0-9 ]+) \| (.*`.+) \|$", index, re.MULTILINE)
    assert {words.replace(" ", "") for words, _ in rows} == {name.lower() for name in kinds}


def test_no_docstring_is_left_in_reStructuredText(pages):
    for name, text in pages.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        assert "``" not in prose, name
        assert "Operations:" in text or name == "README.md"


# --- examples ---


def shown_examples(text):
    """The HLO of each example with a result, and the result."""
    yield from re.findall(r"```hlo\n(.*?)```\n\nreturns `(.*?)`\.", text, re.DOTALL)
    for opcode, operands, shape, result in re.findall(r"\| `([a-z0-9-]+)\((.*)\)` is `(\S+) (.*?)` \|", text):
        shapes = re.split(r"(?:^|, )(\w+\[[\d,]*\]) ", operands)[1:]
        constants = [f"x{i} = {shapes[i]} constant({shapes[i + 1]})\n" for i in range(0, len(shapes), 2)]
        names = ", ".join(f"x{i}" for i in range(0, len(shapes), 2))
        yield f"HloModule m\nENTRY e {{\n{''.join(constants)}ROOT y = {shape} {opcode}({names})\n}}", result


def test_the_examples_run(pages):
    count = 0
    for text in pages.values():
        for hlo_text, result in shown_examples(text):
            loaded = phlox.load_hlo(hlo_text, backend="reference")
            value = loaded()
            assert literal_text(value, shape_of(value)) == result
            count += 1
    assert count == sum(example(record).result is not None for record in OPERATIONS.values() if record.samples())
    assert count > 20


def test_every_operation_with_samples_has_an_example(pages):
    for family, records in families().items():
        for record in records:
            page = pages[f"{family}.md"]
            if f"\n## {record.opcode}\n" in page:
                section = page.split(f"\n## {record.opcode}\n")[1].split("\n## ")[0]
                shown_text = section.partition("Example:")[2].partition("\n\nRejected")[0]
                assert bool(shown_text) == bool(record.samples())
                assert not shown_text or re.search(rf" {record.opcode}\(", shown_text)
            else:
                assert re.search(rf"^\| <a id=.*\| `{record.opcode}\(.*`.* \|", page, re.MULTILINE)
            shown = example(record)
            if shown is not None:
                assert shown.module.entry.root.opcode == record.opcode
                assert (shown.result is None) or not shown.module.entry.parameters


# --- what each backend does ---


def sample_module(record, sample):
    shapes = [operand if isinstance(operand, Shape | TupleShape) else shape_of(operand) for operand in sample.operands]
    parameters = [make_instruction("parameter", (), {"number": number}, shape) for number, shape in enumerate(shapes)]
    root = make_instruction(record.opcode, parameters, sample.attributes, sample.shape)
    # For two devices, since collectives of a single one are copies.
    return Module("sample", Computation("sample", (*parameters, root), root), {"replica_count": "2"})


def survives(record, sample):
    """Whether the operation is in the module of the sample when the CPU backend has written what it writes as others."""
    steps = ("pad-dynamic-dimensions", "expand-collectives", "expand", "canonicalize", "fuse")
    module = optimize(sample_module(record, sample), steps)
    return any(i.opcode == record.opcode for c in module.computations() for i in c.instructions)


@pytest.mark.parametrize("record", [r for r in OPERATIONS.values() if r.samples()], ids=str)
def test_support_of_the_cpu_backend(record):
    """What is native reaches the emitter in some form; what is expanded never does."""
    word = get_backend("cpu").support(record.opcode)
    samples = record.samples()
    if word == "expanded":
        assert not any(survives(record, sample) for sample in samples[:20])
    elif word is not None:
        assert any(survives(record, sample) for sample in samples)


def test_gaps_are_listed():
    table = GAPS.read_text(encoding="utf-8").split("## Operations\n")[1].split("\n## ")[0]
    listed = {tuple(cell.strip(" `") for cell in line.split("|")[1:3]) for line in table.splitlines() if line.startswith("| ")}
    for name, support in operation_support().items():
        for opcode in OPERATIONS:
            word = support(opcode)
            assert word in SUPPORT_IN_WORDS
            assert word is not None or (opcode, name) in listed, f"{opcode} is a gap of backend {name}"


def test_a_backend_adds_a_column(registered):
    class Nothing:
        name = "nothing"

        def support(self, opcode):
            return None

    register_backend("nothing", Nothing)
    index = operation_pages()["README.md"]
    assert re.search(r"^\| operation \| .* \| nothing \|$", index, re.MULTILINE)
    assert re.search(r"^\| \[add\]\(elementwise.md#add\) \| .*native \| gap \|$", index, re.MULTILINE)


# --- what the pages are made of ---


def test_accepted_types():
    def words(opcode):
        return {name: in_words(types) for name, types in accepted_types(OPERATIONS[opcode]).items()}

    assert words("and") == {"lhs": "pred, integers", "rhs": "pred, integers"}
    assert words("complex") == {"real": "f32, f64", "imag": "f32, f64"}
    assert words("dynamic-slice") == {"operand": "pred, integers, floats, complex numbers", "start_indices": "integers"}
    assert words("erf") == {"operand": "floats"}
    assert words("select")["pred"] == "pred"
    assert words("parameter") == {}


def test_accepted_types_in_words():
    types = ELEMENT_TYPES
    assert in_words([]) == ""
    assert in_words(types.values()) == "pred, integers, floats, complex numbers, token, opaque"
    assert in_words([types["s32"], types["c64"], types["c128"]]) == "s32, complex numbers"


def test_rejections_are_the_messages():
    found = rejections(OPERATIONS["get-tuple-element"])
    assert "`get-tuple-element(f32[])`: operand must be a tuple, got f32[]" in found
    assert len(found) == len(set(found)) == len(OPERATIONS["get-tuple-element"].invalid_samples())


# --- the command ---


def test_the_command(capsys, tmp_path, pages):
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "old.md").write_text("")
    assert main(["docs", "--out", str(folder)]) == 0
    assert "old.md is of no family that exists" in capsys.readouterr().out
    (folder / "old.md").unlink()
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == pages
    assert main(["docs", "--out", str(folder / "README.md")]) == 1
    assert "cannot be written" in capsys.readouterr().err


# --- the rest of the documentation ---


def test_links_lead_somewhere():
    root = FOLDER.parent.parent
    for path in (root / "README.md", *sorted(FOLDER.parent.rglob("*.md"))):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} links to {target}"
    index = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.parent.glob("*.md"):
        assert f"({path.name})" in index or path.name == "README.md", f"docs/README.md does not link {path.name}"
