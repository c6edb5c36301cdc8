"""Compile an HLO file and run it on arrays."""

from __future__ import annotations

import argparse
import time
import zipfile
from typing import Any

import numpy as np

from .. import hlo
from ..backends.arguments import flatten, pack, parameter_leaves
from ..backends.loading import LoadedModule, random_arguments
from .errors import WRONG_USE, CommandError
from .files import check_backend, read_hlo_file

SEED = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.hlo", help="HLO text, as phlox or XLA write it")
    parser.add_argument(
        "--args",
        metavar="FILE.npz",
        help="arguments: arrays arr_0, arr_1, ... as numpy.savez names them, or the parameters' names (default: random values)",
    )
    parser.add_argument("--backend", metavar="NAME", help="the backend that runs it (default: PHLOX_BACKEND, or cpu)")
    parser.add_argument("--out", metavar="FILE.npz", help="write the results there, as arr_0, arr_1, ...")


def run(options: argparse.Namespace) -> int:
    module = read_hlo_file(options.file)
    backend = check_backend(options.backend)
    if options.args:
        arguments = read_arguments(options.args, module)
    else:
        arguments = random_arguments(module, SEED)
        if arguments:
            print(f"arguments are random, seed {SEED}:")
            _print_arrays([f"{name}: {shape}" for name, shape in parameter_leaves(module)], flatten(tuple(arguments)))

    start = time.perf_counter()
    loaded = LoadedModule(module, backend)
    compiled = time.perf_counter()
    try:
        result = loaded(*arguments)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error), WRONG_USE) from error
    finished = time.perf_counter()

    results = flatten(result)
    print(f"results of {module.name}:")
    _print_arrays([f"result {number}: {shape}" for number, shape in enumerate(hlo.leaves(module.entry.shape))], results)
    print(f"backend {backend}: compiled in {1e3 * (compiled - start):.1f} ms, run in {1e3 * (finished - compiled):.3f} ms")
    if options.out:
        _write(options.out, results)
    return 0


def read_arguments(path: str, module: hlo.Module) -> list[Any]:
    """The arguments of the module's entry computation, from an .npz file; raises CommandError where they do not fit."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise CommandError(f"{path}: an .npz file of arrays is required, an .npy file of one array given", WRONG_USE)
        with loaded as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path} cannot be read as an .npz file: {error}", WRONG_USE) from error
    leaves = parameter_leaves(module)
    positional = [f"arr_{number}" for number in range(len(leaves))]
    named = [parameter.name for parameter in module.entry.parameters]
    if arrays.keys() == set(positional):
        names = positional
    elif len(named) == len(leaves) and arrays.keys() == set(named):
        names = named
    else:
        required = ", ".join(positional) or "no arrays"
        if positional and len(named) == len(leaves) and all(named):
            required += f" (or {', '.join(named)})"
        raise CommandError(f"{path} must hold {required}; it holds {', '.join(arrays) or 'none'}", WRONG_USE)
    values = iter([_restored(arrays[name], shape) for name, (_, shape) in zip(names, leaves)])
    return [pack(parameter.shape, values) for parameter in module.entry.parameters]


def _restored(array: np.ndarray, shape: hlo.Shape) -> np.ndarray:
    """NumPy's file format stores dtypes that are not its own (bfloat16, ...) as raw bytes of their size."""
    if array.dtype.kind == "V" and array.dtype.fields is None and array.dtype.itemsize == shape.dtype.itemsize:
        return array.view(shape.dtype)
    return array


def _print_arrays(titles: list[str], arrays: list[Any]) -> None:
    for title, array in zip(titles, arrays):
        text = np.array2string(np.asarray(array), threshold=60, edgeitems=3)
        print(f"  {title}\n    " + text.replace("\n", "\n    "))


def _write(path: str, results: list[Any]) -> None:
    try:
        # An open file, since numpy.savez would append .npz to a name that ends otherwise.
        with open(path, "wb") as file:
            np.savez(file, *results)
    except OSError as error:
        raise CommandError(f"the results cannot be written to {path}: {error.strerror}") from error
    print(f"results written to {path}")
