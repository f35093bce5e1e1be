import pytest
from django.urls import get_script_prefix, set_script_prefix


@pytest.fixture
def under_a_prefix():
    """As behind a proxy that serves us under /planner; the test client does not do this itself."""
    before = get_script_prefix()
    set_script_prefix("/planner/")
    yield
    set_script_prefix(before)
