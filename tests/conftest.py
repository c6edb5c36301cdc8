"""What the whole test suite shares: golden files."""

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-goldens", action="store_true", help="write the golden files anew; review the difference by eye")


@pytest.fixture
def golden(request):
    """``golden(name, text)`` compares the text with the file tests/golden/name, or writes it under --update-goldens."""

    def compare(name, text):
        path = GOLDEN / name
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} does not exist; pytest --update-goldens writes it"
        assert text == path.read_text(encoding="utf-8")

    return compare
