"""Every notebook runs from top to bottom, and is stored as it is meant to be: without outputs."""

import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
kernelspec = pytest.importorskip("ipykernel.kernelspec")

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks():
    assert NOTEBOOKS


@by_name
def test_notebook_is_stored_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


@by_name
def test_notebook_runs(path, tmp_path, monkeypatch):
    # A kernel of this interpreter: one named python3 may be installed that belongs to another.
    kernelspec.install(kernel_name="this-python", prefix=str(tmp_path))
    assert sys.executable in (tmp_path / "share/jupyter/kernels/this-python/kernel.json").read_text()
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, kernel_name="this-python", timeout=60, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()  # raises CellExecutionError unless the cell is tagged raises-exception
    for cell in notebook.cells:
        if cell.cell_type == "code":
            raised = [output for output in cell.outputs if output.output_type == "error"]
            assert bool(raised) == ("raises-exception" in cell.metadata.get("tags", [])), cell.source
