"""Files of tests that another project's suite has and Wick does not pass: a pattern, ' | ' and a reason a row, '#' before a comment."""
import dataclasses
import fnmatch
import re
import sys


@dataclasses.dataclass
class Excuse:
    pattern: str  # of the test's name; only * and ? are special, because names of tests have brackets
    reason: str

    def __post_init__(self):
        self.matches = re.compile(fnmatch.translate(self.pattern.replace("[", "\0")).replace("\0", r"\[")).fullmatch


def read_excuses(path, program):
    """The rows of the file. A row without a reason ends the program."""
    excuses = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, separator, reason = line.partition(" | ")
        if not separator or not reason.strip():
            sys.exit(f"{program}: {path}:{number}: a row is a test, ' | ' and the reason why it is left out")
        excuses.append(Excuse(pattern.strip(), reason.strip()))
    return excuses
