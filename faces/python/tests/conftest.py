"""What several test files need."""

import pytest

from foregather import _lab
from foregather._errors import Error


@pytest.fixture
def needs_the_command() -> None:
    """Skips the test where the command `foregather` was not built."""
    try:
        _lab.command()
    except Error as error:
        pytest.skip(str(error))
