"""Who may import whom, read from the source; and that the wheel's package list is what is on the disk."""

import ast
import functools
import gc
import os
import re
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from paths import ROOT

NOT_PACKAGES = {"tests", "notebooks", "docs", "build", "dist"}

# What each folder may import of phlox. A longer prefix has precedence over a shorter one.
BACKEND_TOOLS = {
    "backends.arguments", "backends.device_memory", "backends.host_evaluation", "backends.instruction_texts",
    "backends.kept_programs", "backends.module_signature", "backends.padding", "backends.program_bytes", "backends.registry",
    "backends.requirements", "backends.text_forms", "compile", "hlo", "runtime",
}  # fmt: skip
ALLOWED = {
    "hlo": {"hlo"},
    "xla_builder": {"xla_builder", "hlo"},
    "compile": {"compile", "hlo"},
    "runtime": {"runtime", "hlo"},
    "backends": {"backends.loading"} | BACKEND_TOOLS,
    "backends.registry": {"backends.reference", "backends.cpu", "backends.gpu", "hlo", "runtime"},
    "backends.reference": {"backends.reference"} | BACKEND_TOOLS,
    "backends.llvm": {"backends.llvm"} | BACKEND_TOOLS,
    "backends.cpu": {"backends.cpu", "backends.llvm"} | BACKEND_TOOLS,
    "backends.gpu": {
        "backends.gpu",
        "backends.llvm",
        "backends.cpu",
    }
    | BACKEND_TOOLS,
    "client": {"client", "backends.arguments", "backends.device_memory", "backends.registry", "hlo", "runtime", "xla_builder"},
    "gpu": {"gpu", "backends.gpu.errors", "tracer"},
    "tracer": {"tracer", "hlo"},
    "debug": {"debug", "tracer", "backends.reference", "backends.registry", "hlo", "runtime"},
    "tracer.recording": {"tracer.recording", "compile", "hlo"},
    "tracer.indexing": {"tracer.indexing", "tracer.recording", "hlo"},
    "tracer.control_flow": {"tracer.control_flow", "tracer.recording", "compile", "hlo"},
    "tracer.source": {"tracer.source"},
    "tracer.capture": {
        "tracer.capture",
        "tracer.calls.again",
        "tracer.calls.host_call",
        "tracer.calls.text_calls",
        "tracer.calls.leaves",
        "tracer.calls.library_effects",
        "tracer.calls.outside_state",
        "tracer.calls.random_generators",
        "tracer.control_flow",
        "tracer.functions",
        "tracer.indexing",
        "tracer.outside",
        "tracer.recording",
        "tracer.source",
        "compile",
        "hlo",
    },
    "tracer.outside": {"tracer.outside", "hlo.interrupts"},
    "tracer.calls": {
        "tracer.calls",
        "tracer.capture",
        "tracer.outside",
        "tracer.recording",
        "tracer.source",
        "backends.device_memory",
        "backends.registry",
        "compile",
        "hlo",
        "runtime",
    },
    "tracer.device": {"tracer.device", "tracer.calls", "tracer.recording", "backends.registry", "hlo"},
    "tracer.functions": {
        "tracer.functions",
        "tracer.calls.custom_call",
        "tracer.indexing",
        "tracer.recording",
        "compile.scan_steps",
        "hlo",
    },
    "tracer.extents": {
        "tracer.control_flow",
        "tracer.extents",
        "tracer.functions",
        "tracer.indexing",
        "tracer.recording",
        "hlo",
    },
    "command_line": {"", "command_line", "tracer", "backends.loading"} | BACKEND_TOOLS,
    "__main__": {"", "command_line", "backends.registry", "hlo"},
    "": {"client", "debug", "gpu", "tracer", "backends.loading", "backends.registry", "hlo", "runtime"},
}
RUNTIME = {"numpy", "llvmlite", "ml_dtypes", "typing_extensions"}
FOREIGN = {"hlo": {"numpy", "ml_dtypes"}, "compile": {"numpy", "ml_dtypes"}, "tracer": RUNTIME - {"llvmlite"}}


def package_folders():
    """Every folder that holds Python files of the package, as a dotted name below phlox."""
    for folder, names, files in os.walk(ROOT):
        names[:] = [
            name
            for name in names
            if not name.startswith(".")
            and name != "__pycache__"
            and not (Path(folder) == ROOT and name in NOT_PACKAGES)
            and not (Path(folder) / name / "pyvenv.cfg").exists()
        ]
        if any(file.endswith(".py") for file in files):
            yield ".".join(Path(folder).relative_to(ROOT).parts)


def modules():
    """The name below phlox and the file of every module; a package has the name of its folder."""
    for folder in sorted(package_folders()):
        for path in sorted((ROOT / Path(*folder.split("."))).glob("*.py")):
            yield (folder if path.stem == "__init__" else f"{folder}.{path.stem}".strip(".")), path


MODULES = dict(modules())


def folder_of(name):
    """The package that a module's relative imports start from."""
    return name if MODULES[name].stem == "__init__" else name.rpartition(".")[0]


@functools.cache
def parsed(source):
    return ast.parse(source)


@functools.cache
def nodes_of(source):
    return tuple(ast.walk(parsed(source)))


@pytest.fixture(scope="module", autouse=True)
def trees():
    """A million nodes, none of which is in a circle, are kept from one test to the next, and no longer."""
    gc.disable()
    yield
    parsed.cache_clear()
    nodes_of.cache_clear()
    gc.enable()


def imports(folder, source, inside_functions=True):
    """What source in this folder imports: modules of phlox with a leading ".", others as named, none that serve types only."""
    pending = [parsed(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not inside_functions:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif isinstance(node, ast.ImportFrom):
            base = folder.split(".") if folder else []
            assert node.level - 1 <= len(base), f"an import leaves the package: {ast.unparse(node)}"
            base = base[: len(base) - (node.level - 1)] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                submodule = ".".join([*base, alias.name])
                yield "." + (submodule if submodule in MODULES else ".".join(base))
        pending.extend(ast.iter_child_nodes(node))


def within(name, prefixes):
    """The longest of the prefixes under which this dotted name stands, None if there is none; "" stands for itself only."""
    found = [prefix for prefix in prefixes if name == prefix or (prefix and name.startswith(prefix + "."))]
    return max(found, key=len, default=None)


def test_imports_point_one_way():
    for name in MODULES:
        rule = within(name, ALLOWED)
        assert rule is not None, f"no rule says what {name} may import"
        for imported in imports(folder_of(name), MODULES[name].read_text(encoding="utf-8")):
            if imported.startswith("."):
                assert within(imported[1:], ALLOWED[rule]) is not None, f"{name} must not import phlox{imported.rstrip('.')}"
            assert imported.split(".")[0] != "phlox", f"{name} must import {imported} relatively"


def test_importing_phlox_needs_its_dependencies_only():
    for name in MODULES:
        allowed = FOREIGN.get(name.split(".")[0], RUNTIME) | sys.stdlib_module_names
        for imported in imports(folder_of(name), MODULES[name].read_text(encoding="utf-8"), inside_functions=False):
            if not imported.startswith("."):
                assert imported.split(".")[0] in allowed, f"{name} imports {imported} outside of any function"


# Folders without import circles, whose files keep their underscore names to themselves.
ORDERLY = ("backends", "client", "command_line", "compile", "hlo", "runtime", "tracer", "xla_builder")


def files_of(folder):
    return [name for name in MODULES if within(name, {folder}) is not None]


@pytest.mark.parametrize("folder", ORDERLY)
def test_no_file_imports_itself_on_a_way_round(folder):
    """Imports inside of functions count, too; those of types do not.

    In hlo they do not count: modules and attributes print themselves by what stands above them.
    """
    imported = {}
    for name in files_of(folder):
        source = MODULES[name].read_text(encoding="utf-8")
        found = {other[1:] for other in imports(folder_of(name), source, inside_functions=folder != "hlo")}
        # The packages around what is imported run, too; those around the importing file are running already.
        found |= {".".join(other.split(".")[:depth]) for other in found for depth in range(1, other.count(".") + 1)}
        imported[name] = {other for other in found if other in MODULES and within(name, {other}) is None}
    try:
        list(TopologicalSorter(imported).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def unexplained_imports(source):
    """The lines of imports inside of functions with no comment beside them, or above those that stand together."""
    lines = source.splitlines()
    functions = [node for node in nodes_of(source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {node.lineno for f in functions for node in ast.walk(f) if isinstance(node, ast.Import | ast.ImportFrom)}
    first = {}  # of the imports that stand together
    for line in sorted(found):
        first[line] = first.get(line - 1, line)
    return [line for line in first if "#" not in lines[line - 1] and not lines[first[line] - 2].lstrip().startswith("#")]


@pytest.mark.parametrize("folder", ORDERLY)
def test_imports_inside_functions_say_why(folder):
    for name in files_of(folder):
        assert not unexplained_imports(MODULES[name].read_text(encoding="utf-8")), name


def test_unexplained_imports_are_found():
    lines = "import a;def f():; import b; # because; import c; import d; e(); import g  # why; import h".split(";")
    assert unexplained_imports("\n".join(lines)) == [3, 9]


def private_names_of_others(source):
    """The underscore names that a file imports or reads and does not define itself."""
    defined, used = set(), {}
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            defined.add(node.value)  # of __slots__
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.ImportFrom) and node.level:
            used.update((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
                defined.add(node.attr)
            else:
                used[node.attr] = node.lineno
    return {
        name: line
        for name, line in used.items()
        if name.startswith("_") and not name.startswith("__") and name not in defined and name not in FOREIGN_PRIVATE
    }


# Of NumPy, sys, ast, named tuples, ctypes, threading and llvmlite.
FOREIGN_PRIVATE = {
    "_NoValue", "_ARRAY_API", "_getframe", "_attributes", "_fields", "_replace", "_make", "_asdict", "_LLVMLock", "_cblist",
    "_lock", "_CFuncPtr", "_name", "_block", "_useset", "_basenamemap", "_insert", "_at_fork_reinit", "_field_defaults",
}  # fmt: skip


@pytest.mark.parametrize("folder", ORDERLY)
def test_underscore_names_stay_in_their_file(folder):
    for name in files_of(folder):
        found = private_names_of_others(MODULES[name].read_text(encoding="utf-8"))
        assert not found, f"{name} uses private names of other files: {found}"


def test_private_names_are_found():
    source = "from .a import _b, c\nclass D:\n    def _e(self):\n        self._f = c._g\n        return self._e(), c.__name__"
    assert set(private_names_of_others(source)) == {"_b", "_g"}


def set_on_others(source):
    """The attributes of llvmlite's objects that a file sets so that the code means something else."""
    nodes = [node for node in nodes_of(source) if isinstance(node, ast.Attribute)]
    stored = [node for node in nodes if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) != "self"]
    return {node.attr for node in stored} & {"type", "constant", "allocated_type", "interruption", "shared_functions"}


def makes_phis(source):
    return any(isinstance(node, ast.Attribute) and node.attr in ("phi", "add_incoming") for node in nodes_of(source))


MAKE_PHIS = {
    "backends.llvm.branches", "backends.llvm.loops", "backends.llvm.interruption",
    "backends.gpu.persistent",  # whose loops carry pointers
}  # fmt: skip


def test_llvmlite_is_extended_in_one_place():
    for name in [name for name in MODULES if within(name, {"backends"}) is not None]:
        source = MODULES[name].read_text(encoding="utf-8")
        assert name == "backends.llvm.memory" or not set_on_others(source), name
        # Loops carry values and branches merge them by the functions that are there for it.
        assert name in MAKE_PHIS or not makes_phis(source), name


def test_what_is_set_on_llvmlite_is_found():
    assert set_on_others("a.type = b\nself.type = c\nd.constant += 1") == {"type", "constant"}
    assert makes_phis("x = b.phi(I64)") and not makes_phis("x = phi")


LOADS_CODE = {"create_mcjit_compiler", "add_object_file", "add_symbol", "add_global_mapping"}
MAKE_MACHINE_CODE = {
    "backends.cpu.machine_code": LOADS_CODE | {"emit_object", "emit_assembly"},
    "backends.gpu.code_generation.optimized_modules": {"emit_object", "emit_assembly"},
    "backends.gpu.code_generation.emission_apart": {"emit_object", "emit_assembly"},
}


def test_machine_code_is_made_and_loaded_in_one_place():
    """In one of each kind of backend: a device's driver loads what is made for it."""
    for name in MODULES:
        used = {node.attr for node in nodes_of(MODULES[name].read_text(encoding="utf-8")) if isinstance(node, ast.Attribute)}
        found = used & (LOADS_CODE | {"emit_object", "emit_assembly"})
        assert found <= MAKE_MACHINE_CODE.get(name, set()), f"{name}: {found}"


def answers_of_anything(source):
    """The lines of except clauses that take any Exception for an answer: all but those that raise it again."""
    handlers = [node for node in nodes_of(source) if isinstance(node, ast.ExceptHandler)]
    kinds = {node: node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] for node in handlers}
    wide = [node for node in handlers if any(kind is None or ast.unparse(kind) == "Exception" for kind in kinds[node])]
    return [node.lineno for node in wide if ast.unparse(node.body[-1]) != "raise"]


def test_attempts_take_no_exception_of_a_signal_for_an_answer():
    """They go through `not_of_a_signal`."""
    for name in MODULES:
        assert not answers_of_anything(MODULES[name].read_text(encoding="utf-8")), name


def test_answers_of_anything_are_found():
    tried = "try:\n    f()\nexcept {}:\n    {}"
    assert all(answers_of_anything(tried.format(kinds, "pass")) for kinds in ("", "Exception as error", "(Exception, A)"))
    assert not any(answers_of_anything(tried.format(kinds, "pass")) for kinds in ("KeyError", "not_of_a_signal(Exception)"))
    assert not answers_of_anything(tried.format("Exception", "raise"))


def set_on_instructions(source):
    """The parts of an instruction's identity that a file sets outside of a constructor."""
    constructors = [node for node in nodes_of(source) if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    stored = [node for node in nodes_of(source) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    inside = {node for constructor in constructors for node in ast.walk(constructor)}
    own = {node for node in stored if node in inside and ast.unparse(node).startswith("self.")}
    return {node.attr for node in stored if node not in own} & {"operation", "opcode", "operands", "attributes", "shape"}


def test_instructions_stay_as_they_are_made():
    for path in [*MODULES.values(), *sorted((ROOT / "tests" / "support").glob("*.py"))]:
        assert not set_on_instructions(path.read_text(encoding="utf-8")), path


def test_what_is_set_on_instructions_is_found():
    source = "class A:\n    def __init__(self):\n        self.shape, self.opcode = 1, 2\n    def f(self, x):\n        "
    assert not set_on_instructions(source + "return x.shape")
    assert set_on_instructions(source + "self.shape = x.operands = 1; x.opcode += 1") == {"shape", "operands", "opcode"}


def test_relative_imports_are_resolved():
    source = (
        "from .. import hlo\nfrom ..hlo import shape\nfrom . import registry\nimport numpy as np\nfrom .loading import load_hlo"
    )
    assert set(imports("backends", source)) == {".hlo", ".hlo.shape", ".backends.registry", "numpy", ".backends.loading"}
    assert list(imports("", "def f():\n    import llvmlite", inside_functions=False)) == []
    assert list(imports("", "def f():\n    import llvmlite")) == ["llvmlite"]


def test_the_shared_compiler_names_no_backend_for_which_it_compiles():
    for name in [name for name in MODULES if within(name, {"compile"})]:
        assert not re.search(r"\b(cpu|cuda|llvm)\b", MODULES[name].read_text(encoding="utf-8"), re.IGNORECASE), name


def test_only_two_modules_stand_at_the_root():
    """Another one, called numpy.py say, would shadow the real one for whoever runs Python in this folder."""
    assert sorted(path.name for path in ROOT.glob("*.py")) == ["__init__.py", "__main__.py"]


def test_the_wheel_holds_every_package():
    with open(ROOT / "pyproject.toml", "rb") as file:
        listed = tomllib.load(file)["tool"]["setuptools"]["packages"]
    on_disk = [".".join(filter(None, ["phlox", folder])) for folder in package_folders()]
    of_type_checkers = [f"phlox.{path.parent.name}" for path in (ROOT / "stubs").glob("*/__init__.pyi")]
    assert sorted(listed) == sorted(on_disk + of_type_checkers)
    for folder in package_folders():
        assert (ROOT / Path(*folder.split(".")) / "__init__.py").exists(), f"{folder} has no __init__.py"


def test_the_checkout_is_no_package_of_tests(request):
    """Else pytest imports phlox once more, under the name of the folder."""
    assert not [node for node in request.node.listchain() if isinstance(node, pytest.Package)]
