"""Compile an HLO file and run it on arrays."""

from __future__ import annotations

import argparse
import os
import sys
import time
import zipfile
import zlib
from typing import Any

import numpy as np

from .. import hlo
from ..backends.arguments import flatten, pack, parameter_leaves
from ..backends.loading import LoadedModule, random_arguments
from ..runtime import Communicator, DeadlockError, Environment, HostQueue, QueueClosedError
from .errors import WRONG_USE, CommandError
from .files import check_backend, read_hlo_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.hlo", help="HLO text, as phlox or XLA write it")
    parser.add_argument(
        "--args",
        metavar="FILE.npz",
        help="arguments: arrays arr_0, arr_1, ... as numpy.savez names them, or the parameters' names (default: random values)",
    )
    parser.add_argument("--backend", metavar="NAME", help="the backend that runs it (default: PHLOX_BACKEND, or cpu)")
    parser.add_argument(
        "--seed",
        metavar="N",
        type=_seed,
        default=0,
        help="of the random values, and of those that the program draws (default: 0)",
    )
    parser.add_argument(
        "--fill-elided",
        action="store_true",
        help="constants whose values the dump has left out, {...}, are random; the results mean nothing, their time does",
    )
    parser.add_argument("--out", metavar="FILE.npz", help="write the results there, as arr_0, arr_1, ...")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"an integer from 0 on is required, got {text!r}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    backend = check_backend(options.backend)
    if options.out:
        _check_output(options.out)
    try:
        module = read_hlo_file(options.file, options.seed if options.fill_elided else None)
        return _run(options, module, backend)
    except MemoryError as error:
        raise CommandError(f"not enough memory: {error}" if str(error) else "not enough memory") from error


def _run(options: argparse.Namespace, module: hlo.Module, backend: str) -> int:
    if options.fill_elided:
        print(f"constants whose values are left out are random, seed {options.seed}")
    if options.args:
        arguments = read_arguments(options.args, module)
    else:
        arguments = random_arguments(module, options.seed)
        if arguments:
            print(f"arguments are random, seed {options.seed}:")
            _print_arrays([f"{name}: {shape}" for name, shape in parameter_leaves(module)], flatten(tuple(arguments)))

    start = time.perf_counter()
    loaded = LoadedModule(module, backend)
    compiled = time.perf_counter()
    environment = _environment(options.seed)
    try:
        with environment.active():
            result = loaded(*arguments)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error), WRONG_USE) from error
    except (QueueClosedError, DeadlockError, TimeoutError) as error:
        raise CommandError(str(error)) from error
    finished = time.perf_counter()

    results = [leaf for leaf in flatten(result) if leaf is not None]  # tokens have no value
    print(f"results of {module.name}:")
    _print_arrays(_result_titles(loaded), results)
    for number in range(len(environment.outfeed)):
        sent = flatten(environment.outfeed.get())
        _print_arrays([f"outfeed {number}: {hlo.shape_of(array)}" for array in sent], sent)
    print(f"backend {backend}: compiled in {1e3 * (compiled - start):.1f} ms, run in {1e3 * (finished - compiled):.3f} ms")
    if options.out:
        _write(options.out, results)
    return 0


def _environment(seed: int) -> Environment:
    """One in which nothing feeds the program, so that it does not wait for that, and what it sends is kept until its end."""
    environment = Environment(seed=seed, outfeed=HostQueue("outfeed", capacity=sys.maxsize))
    environment.infeed.close()
    return environment


def read_arguments(path: str, module: hlo.Module) -> list[Any]:
    """The arguments of the module's entry computation, from an .npz file; raises CommandError where they do not fit."""
    try:
        with open(path, "rb") as file:
            start = file.read(6)
        if start == b"\x93NUMPY":
            raise CommandError(f"{path}: an .npz file of arrays is required, an .npy file of one array given", WRONG_USE)
        if not start.startswith(b"PK"):
            raise CommandError(
                f"{path}: an .npz file of arrays is required, a file that begins with {start!r} given", WRONG_USE
            )
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    # A RuntimeError for encrypted files, and its subclass NotImplementedError for unknown compressions.
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"{path} cannot be read as an .npz file: {reason}", WRONG_USE) from error
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


def _result_titles(loaded: LoadedModule) -> list[str]:
    """A title for each array of the results: of one device, or of all, one device after the other."""
    titles = [f"result {number}: {shape}" for number, shape in enumerate(hlo.array_leaves(loaded.module.entry.shape))]
    if loaded.device_count == 1:
        return titles
    communicator = Communicator(loaded.module.replica_count, loaded.module.partition_count)
    return [f"{communicator.name(device)}, {title}" for device in communicator.devices for title in titles]


def _print_arrays(titles: list[str], arrays: list[Any]) -> None:
    for title, array in zip(titles, arrays):
        text = np.array2string(np.asarray(array), threshold=60, edgeitems=3)
        print(f"  {title}\n    " + text.replace("\n", "\n    "))


def _check_output(path: str) -> None:
    """Raise CommandError where no file of this name can be written, before any work is done."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        reason = f"there is no folder {folder}"
    elif os.path.isdir(path):
        reason = "it is a folder"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        reason = "permission denied"
    else:
        return
    raise CommandError(f"the results cannot be written to {path}: {reason}", WRONG_USE)


def _write(path: str, results: list[Any]) -> None:
    try:
        # An open file, since numpy.savez would append .npz to a name that ends otherwise.
        with open(path, "wb") as file:
            np.savez(file, *results)
    except OSError as error:
        raise CommandError(f"the results cannot be written to {path}: {error.strerror}") from error
    print(f"results written to {path}")
