"""Every notebook runs from top to bottom, and what is stored with its cells is what they give.

`pytest tests/test_notebooks.py --update-goldens` runs them and stores the outputs.
"""

import re
import sys

import pytest
from paths import ROOT
from thinning import LEFT_TO_CI, one_in

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
kernelspec = pytest.importorskip("ipykernel.kernelspec")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Each of these is about a library, which may not be installed.
GALLERY = sorted((ROOT / "docs" / "gallery").glob("*.ipynb"))
# Pictures differ from one version of matplotlib to the next.
PICTURES = ("image/png",)
# The tag of cells that show times, or code for the processor.
DIFFERS = "machine-dependent"


def test_there_are_notebooks():
    assert NOTEBOOKS and GALLERY


@pytest.mark.parametrize(
    "path",
    [*one_in(6, NOTEBOOKS), *[pytest.param(path, marks=LEFT_TO_CI) for path in GALLERY]],
    ids=lambda path: path.stem,
)
def test_notebook(path, tmp_path, monkeypatch, request):
    stored = nbformat.read(path, as_version=4)
    for library in libraries(stored) if path in GALLERY else ():
        pytest.importorskip(library)
    nbformat.validate(stored)
    notebook = executed(nbformat.from_dict(stored), tmp_path, monkeypatch)
    for number, cell in enumerate(code_cells(notebook), 1):
        # What matplotlib says when it is new on a machine goes to stderr.
        outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        cell.outputs = [tidy(output, number) for output in joined(outputs)]
        cell.execution_count = number
        raised = [output for output in cell.outputs if output.output_type == "error"]
        assert bool(raised) == ("raises-exception" in cell.metadata.get("tags", [])), cell.source
    if request.config.getoption("--update-goldens"):
        nbformat.write(notebook, path)
        return
    for new, old in zip(code_cells(notebook), code_cells(stored), strict=True):
        assert old.execution_count == new.execution_count
        if DIFFERS in new.metadata.get("tags", []):
            assert [output.output_type for output in old.outputs] == [output.output_type for output in new.outputs]
            continue
        assert list(map(comparable, old.outputs)) == list(map(comparable, new.outputs)), new.source


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def libraries(notebook):
    """What is imported in it."""
    return re.findall(r"^(?:from|import) ([\w.]+)", "\n".join(cell.source for cell in code_cells(notebook)), re.MULTILINE)


def executed(notebook, folder, monkeypatch):
    """The notebook after all of its cells have run, in a folder of their own."""
    metadata = dict(notebook.metadata)
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    # A kernel of this interpreter: one named python3 may be installed that belongs to another.
    kernelspec.write_kernel_spec(
        folder / "share/jupyter/kernels/this-python", {"display_name": "this-python"}, python_arguments=["-Xfrozen_modules=off"]
    )
    assert sys.executable in (folder / "share/jupyter/kernels/this-python/kernel.json").read_text()
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "share" / "jupyter"))
    for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(folder / variable.lower()))
    resources = {"metadata": {"path": str(folder)}}
    # Raises CellExecutionError unless the cell is tagged raises-exception.
    nbclient.NotebookClient(notebook, kernel_name="this-python", timeout=120, resources=resources).execute()
    notebook.metadata = nbformat.from_dict(metadata)
    for cell in code_cells(notebook):
        cell.metadata.pop("execution", None)  # when it ran
    return notebook


def joined(outputs):
    """The outputs with what is printed in one piece, whatever its pieces were when it came from the kernel."""
    whole = []
    for output in outputs:
        if whole and output.output_type == whole[-1].output_type == "stream":
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def tidy(output, number):
    """The output without what is of this machine: folders, and the frames of the traceback."""

    def without_folders(text):
        return re.sub(r"[^\s(<>\"]*ipykernel_\d+/\d+\.py", "cell", text)

    if output.output_type == "error":
        output.evalue = without_folders(output.evalue)
        output.traceback = [f"{output.ename}: {output.evalue}"]
    elif output.output_type == "stream":
        output.text = without_folders(output.text)
    else:
        output.data = {kind: data if kind in PICTURES else without_folders(data) for kind, data in output.data.items()}
    if output.output_type == "execute_result":
        output.execution_count = number
    return output


def comparable(output):
    if output.output_type not in ("execute_result", "display_data"):
        return output
    data = {kind: "a picture" if kind in PICTURES else value for kind, value in output.data.items()}
    return {**output, "data": data}
