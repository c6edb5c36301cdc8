"""Loop nests, a file for each kind. Each file puts its operations into the table of emitters when it is imported, here."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
