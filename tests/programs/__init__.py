"""Programs as people write them; `registry` has them all by name, `comparison` runs them with and without the decorator.

Each other module is a subject. `python -m tests.programs` prints a table of them, in the root of the checkout.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    if _module.name != "__main__":
        importlib.import_module(f".{_module.name}", __name__)
