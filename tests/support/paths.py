"""Where things lie in the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
DATA, GOLDEN, SUPPORT = TESTS / "data", TESTS / "golden", TESTS / "support"
