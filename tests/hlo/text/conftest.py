"""What the tests of this folder share."""

import pytest


@pytest.fixture(scope="session")
def xla():
    """XLA's own parser of HLO text."""
    pytest.importorskip("jaxlib")
    return pytest.importorskip("jaxlib._hlo")
