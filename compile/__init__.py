"""HLO to better HLO: passes, and the rules that they apply. Which of them run, and in which order, says each backend."""

from .pass_manager import FixedPoint, Pass, module_pass, run_passes, run_steps
from .passes import available_passes, run_named_passes, simplification_steps

__all__ = [
    "FixedPoint", "Pass", "available_passes", "module_pass", "run_named_passes", "run_passes", "run_steps",
    "simplification_steps",
]  # fmt: skip
