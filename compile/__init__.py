"""HLO to better HLO: passes, the rules they apply, and the pipeline that runs them."""

from .pass_manager import FixedPoint, Pass, module_pass, run_passes
from .pipeline import DEFAULT, available_passes, optimize, run_named_passes

__all__ = ["DEFAULT", "FixedPoint", "Pass", "available_passes", "module_pass", "optimize", "run_named_passes", "run_passes"]
