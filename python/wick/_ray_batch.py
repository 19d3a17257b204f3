"""wick batch --ray: each file of a folder is a task of Ray, which runs wick batch on it.

A task that dies with its node is placed on another one, and wick batch goes on with what the last one wrote.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from .ray import _absolute, _missing, _not_on_all, _on_all_nodes, _ray, _version

_DEATHS_OF_A_FILE = 3  # of the program while it answers a file
_ERRORS_SHOWN = 5
_SHARED = "the folders must be shared by all nodes"
_SUMMED = ("requests", "succeeded", "failed", "of_earlier_runs", "prompt_tokens", "cached_tokens", "generated_tokens")


class _Mistake(Exception):
    """Of who called the command."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Mistake(message)


def _parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    if len(arguments) < 2 or arguments[0].startswith("-") or arguments[1].startswith("-"):
        raise _Mistake("with --ray the folders come first: wick batch INPUT_FOLDER OUTPUT_FOLDER --ray auto --model FILE.gguf")
    parser = _Parser(allow_abbrev=False, add_help=False)
    parser.add_argument("--ray", metavar="auto|ADDRESS", required=True)
    parser.add_argument("--ray-cpus", type=float, default=1)
    parser.add_argument("--ray-gpus", type=float, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--model", "-m")
    options, flags = parser.parse_known_args(arguments[2:])
    for name, value, most in (("cpus", options.ray_cpus, float("inf")), ("gpus", options.ray_gpus, 1)):
        if not 0 <= value <= most:
            raise _Mistake(f"--ray-{name} {value:g}: must be from 0 to {most:g}, of a file" if most == 1 else
                           f"--ray-{name} {value:g}: must be at least 0")
    return options, flags


def _files(folder: pathlib.Path, output: pathlib.Path) -> list[pathlib.Path]:
    if not folder.is_dir():
        raise _Mistake(f"{folder}: no such folder; with --ray the input is a folder of .jsonl files")
    if output.exists() and not output.is_dir():
        raise _Mistake(f"{output}: is a file; with --ray the output is a folder")
    if output.resolve() == folder.resolve():
        raise _Mistake(f"{output}: this is the folder of the requests; name another one for the answers")
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise _Mistake(f"{folder}: there is no file whose name ends in .jsonl")
    return files


def _connect(address: str) -> Any:
    ray = _ray()
    if address != "auto":
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdigit():
            raise _Mistake(f"--ray {address}: must be auto or HOST:PORT, such as 10.0.0.1:6379")
        # Ray itself would try for minutes.
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise _Mistake(f"--ray {address}: nothing answers there ({error}); check the address, the cluster and the network") from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except ConnectionError as error:
        raise _Mistake(f"--ray {address}: no cluster was found ({str(error).splitlines()[0]}); start one with `ray start --head`") from None
    except RuntimeError as error:
        raise _Mistake(f"--ray {address}: {error}") from None
    return ray


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _answer(source: str, output: str, flags: Sequence[str], folder: str, version: str, paths: Mapping[str, str]) -> dict[str, Any]:
    """Runs wick batch on one file, on the node where this is called; its exit code, summary and last lines. `paths`: those of _not_on_all."""
    host = socket.gethostname()
    if version != _version():
        return {"host": host, "code": 1, "said": f"wick {_version()} is there, and the driver has {version}; install the same version on all nodes"}
    for path, remedy in {**paths, source: _SHARED}.items():
        if not os.path.exists(path):
            return {"host": host, "code": 2, "said": f"there is no {path}; {remedy}"}
    deaths = 0
    while True:
        with tempfile.TemporaryFile() as log:
            done = subprocess.run([sys.executable, "-m", "wick", "batch", source, output, "--json", *flags], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=log, cwd=folder if os.path.isdir(folder) else None, preexec_fn=_die_with_parent,
                                  check=False)
            log.seek(0)
            said = "\n".join(log.read().decode(errors="replace").strip().splitlines()[-10:])
        if done.returncode >= 0:
            lines = done.stdout.splitlines()
            return {"host": host, "code": done.returncode, "said": said, "summary": json.loads(lines[-1]) if lines else None}
        deaths += 1
        if deaths == _DEATHS_OF_A_FILE:
            return {"host": host, "code": 1, "said": f"the program died {deaths} times, the last time of signal {-done.returncode}; "
                                                     f"its last lines were:\n{said}"}


def _wait(ray: Any, pending: dict[Any, pathlib.Path], output: pathlib.Path) -> tuple[int, dict[str, Any]]:
    """Waits for all files; the exit code and the sums."""
    sums: dict[str, Any] = {"files": len(pending), "files_with_errors": 0, **dict.fromkeys(_SUMMED, 0)}
    code = 0
    while pending:
        ready, _ = ray.wait(list(pending), num_returns=1)
        file = pending.pop(ready[0])
        try:
            result = ray.get(ready[0])
        except Exception as error:
            result = {"host": "of no name", "code": 1, "said": str(error).strip().splitlines()[-1]}
        if result["code"] == 0 and not (output / file.name).exists():
            result.update(code=2, said=f"{output / file.name} is not on this machine; {_SHARED}")
        for name in _SUMMED:
            sums[name] += (result.get("summary") or {}).get(name, 0)
        if result["code"] != 0:
            sums["files_with_errors"] += 1
            code = code if code == 1 else 1 if result["code"] not in (0, 2) else 2
            if sums["files_with_errors"] <= _ERRORS_SHOWN:
                print(f"wick batch: error: {file}, on node {result['host']}: {result['said'].removeprefix('wick batch: error: ')}", file=sys.stderr)
        print(f"wick batch: {sums['files'] - len(pending)} of {sums['files']} files, {sums['succeeded']} answers, {sums['failed']} failed",
              file=sys.stderr)
    if sums["files_with_errors"] > _ERRORS_SHOWN:
        print(f"wick batch: error: {sums['files_with_errors']} files had errors; the same command tries again what has no answer", file=sys.stderr)
    return code, sums


def _command(arguments: Sequence[str]) -> int:
    options, flags = _parse(arguments)
    folder, output = pathlib.Path(arguments[0]).absolute(), pathlib.Path(arguments[1]).absolute()
    files = _files(folder, output)
    ray = _connect(options.ray)
    try:
        resources = {name: wanted for name, wanted in (("CPU", options.ray_cpus), ("GPU", options.ray_gpus)) if wanted}
        if missing := _missing(ray, 1, "task", resources):
            raise _Mistake(missing)
        output.mkdir(parents=True, exist_ok=True)
        paths = {str(folder): _SHARED, str(output): _SHARED}
        if options.model is not None:
            model = _absolute(options.model)
            paths |= _on_all_nodes("model", model)
            flags += ["--model", model]
        if lacked := _not_on_all(ray, "a task", resources, paths):
            raise _Mistake(lacked)
        if not options.ray_gpus and not any(flag.split("=")[0] in ("--threads", "-t", "--device") for flag in flags):
            flags += ["--threads", str(max(1, int(options.ray_cpus))), "--device", "cpu"]
        task = ray.remote(_answer).options(num_cpus=options.ray_cpus, num_gpus=options.ray_gpus, max_retries=-1)
        pending = {task.remote(str(file), str(output / file.name), flags, os.getcwd(), _version(), paths): file for file in files}
        code, sums = _wait(ray, pending, output)
    finally:
        ray.shutdown()
    if options.json:
        print(json.dumps(sums))
    return code


def command(arguments: Sequence[str]) -> int:
    """The command line after "batch"; the exit code."""
    try:
        return _command(arguments)
    except (_Mistake, ImportError, ValueError, OSError) as error:
        print(f"wick batch: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("wick batch: stopped; the same command goes on", file=sys.stderr)
        return 130
