"""Counts the tests in the words of ./dev check, and gives each the same random numbers every time."""
import pytest

import wick

counts = {"passed": 0, "failed": 0, "skipped": 0}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        counts[report.outcome] += 1


def pytest_unconfigure(config):
    print("\n{passed} passed, {failed} failed, {skipped} skipped".format(**counts))


@pytest.fixture(autouse=True)
def same_random_numbers():
    wick.manual_seed(0)
