"""What scripts/feature_matrix and tests/gates/check_gates need of a build folder and of linked programs: commands, link maps, sizes."""
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time


def run(*command, **options):
    """The standard output of a command; its words and an exception if it fails."""
    result = subprocess.run([os.fspath(part) for part in command], capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))[:300]}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Build:
    """A build folder of Ninja: which command makes which file."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        rows = json.loads(run("ninja", "-t", "compdb", cwd=self.folder))
        self.commands = {row["output"]: row["command"] for row in rows if row["command"]}

    @functools.cached_property
    def source(self):
        for line in (self.folder / "CMakeCache.txt").read_text().splitlines():
            if line.startswith("CMAKE_HOME_DIRECTORY:"):
                return pathlib.Path(line.split("=", 1)[1])
        raise RuntimeError(f"{self.folder}: CMakeCache.txt names no source folder")

    def cache(self, name, default=""):
        for line in (self.folder / "CMakeCache.txt").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split("=", 1)[1]
        return default

    def inputs(self, target):
        """Every file that a target is made of, and its own."""
        return set(run("ninja", "-t", "inputs", target, cwd=self.folder).split("\n"))

    def plain_command(self, output):
        """A file's command without the names of the build and source folders, and without quotes, which a name with spaces has and another
        does not: for comparisons between builds."""
        return self.plain(self.commands[output]).replace('"', "").replace("'", "")

    def plain(self, text):
        return text.replace(os.fspath(self.folder), "BUILD").replace(os.fspath(self.source), "SOURCE")

    def generated_text(self, output):
        """What a compile command reads of generated files: a unity build's list of sources, with the text of those that are generated too."""
        command = self.plain_command(output)
        return self.generated_file(command.split(" -c ")[1].split()[0]) if " -c " in command else None

    def generated_file(self, name):
        path = pathlib.Path(name.replace("BUILD", os.fspath(self.folder), 1))
        if not name.startswith("BUILD/") or not path.is_file():
            return name
        text = self.plain(path.read_text())
        return re.sub(r'#include "(BUILD/[^"]+)"', lambda found: self.generated_file(found[1]), text)

    def path(self, program):
        """A program's file as Ninja names it."""
        return os.fspath(pathlib.Path(program).resolve().relative_to(self.folder))

    def link(self, output, result, link_map=None):
        """Links a program once more, into another file; returns the seconds."""
        command = self.commands[output]
        extra = f" -Wl,-Map={link_map}" if link_map else ""
        changed = command.replace(f" -o {output} ", f" -o {result}{extra} ", 1)
        if changed == command:
            raise RuntimeError(f"{output}: its link command has no '-o {output}': {command[:300]}")
        start = time.monotonic()
        run("sh", "-c", changed, cwd=self.folder)
        return time.monotonic() - start


SECTION = re.compile(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$")
ARCHIVE = re.compile(r"([^/()]+)\.a\(([^)]+)\)$")


class LinkMap:
    """The sections of a program that take room in it, by the object that they are from (GNU ld's -Map)."""

    def __init__(self, path):
        text = pathlib.Path(path).read_text(errors="replace")
        text = text[text.index("Linker script and memory map"):]
        text = re.sub(r"^( \.\S+)\n\s+0x", r"\1 0x", text, flags=re.MULTILINE)  # long names have a line of their own
        self.sections = []  # (name of the section, bytes, library or "", object)
        for line in text.split("\n"):
            found = SECTION.match(line)
            if not found or int(found[2], 16) == 0 or found[1].startswith((".bss", ".tbss", ".debug", ".comment", ".gnu.")):
                continue
            archive = ARCHIVE.search(found[4])
            library, member = (archive[1], archive[2]) if archive else ("", pathlib.Path(found[4]).name)
            self.sections.append((found[1], int(found[3], 16), library, member))

    def objects(self):
        """The objects that something of was kept, as "library/object"."""
        return {f"{library}/{member}" for _, size, library, member in self.sections if size > 0}

    def bytes_by_library(self):
        sums = {}
        for _, size, library, _ in self.sections:
            sums[library] = sums.get(library, 0) + size
        return sums


def room_of(library):
    """The room of an archive of the tree: "tensor" for libwick_tensor; None for one of somebody else."""
    found = re.fullmatch(r"libwick_(\w+)", library)
    if not found:
        return None
    return found[1].replace("backend_", "backend/", 1)


def needed_libraries(program):
    return sorted(re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", run("readelf", "-d", program)))


def stripped_size(program):
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder, "stripped")
        run("strip", "-o", stripped, program)
        return stripped.stat().st_size
