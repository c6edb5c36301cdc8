"""Clients and builders that the tests of this folder share."""

import pytest
from phlox.client import ClientLibrary, ComputationBuilder


@pytest.fixture(params=["cpu", "reference"])
def client(request):
    return ClientLibrary.ClientLibraryOrDie(request.param)


@pytest.fixture
def builder():
    return ComputationBuilder(ClientLibrary.ClientLibraryOrDie("reference"), "test")
