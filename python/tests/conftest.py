"""Counts the tests in the words of ./dev check."""
counts = {"passed": 0, "failed": 0, "skipped": 0}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        counts[report.outcome] += 1


def pytest_unconfigure(config):
    print("\n{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
