"""What holds of the package as a whole: its examples, types, docs, start-up, threads and interpreters."""
import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time

import pytest

import wick

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOVELIST = ROOT / "models/novelist-20m-q8_0.gguf"
# For programs that run elsewhere: where this wick lies.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(wick._wick.__file__).resolve().parents[1])}
EXAMPLES = {"tensors": [], "mnist": [], "kernel": [], "chat": [str(NOVELIST), "Who are you?", "chatml"], "extract": [str(NOVELIST)], "search": [str(NOVELIST)],
            "finetune": [str(NOVELIST), str(ROOT / "docs/engine.md"), "adapter", "25"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / f"python/examples/{name}.py"), *EXAMPLES[name]], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120, env=ENVIRONMENT)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    if name == "tensors":
        assert "slope 2.00, offset 1.00" in done.stdout
    if name == "finetune":
        losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", done.stdout)]
        assert losses[-1] < losses[0] - 1 and "with the adapter" in done.stdout and (tmp_path / "adapter/adapter_config.json").exists()
    if name == "mnist":
        assert float(re.findall(r"([\d.]+) right", done.stdout)[-1]) > 0.9


def test_the_version_is_the_packages():
    assert wick.__version__ == re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]


def test_all_examples_are_run():
    assert {path.stem for path in (ROOT / "python/examples").glob("*.py")} == set(EXAMPLES)


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    subprocess.run([sys.executable, str(ROOT / "python/make_notebooks.py"), str(folder), str(NOVELIST)], check=True)
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_notebooks_run(name, notebooks):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(notebooks / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(notebooks)}}).execute()
    printed = "".join(output.get("text", "") for one in notebook.cells if one.cell_type == "code" for output in one.outputs)
    assert printed.strip() and notebook.cells[0].source.startswith("# ")


def test_types_are_strict(tmp_path):
    pytest.importorskip("mypy")
    pytest.importorskip("nanobind")
    package = tmp_path / "wick"
    shutil.copytree(ROOT / "python/wick", package, ignore=shutil.ignore_patterns("__pycache__"))
    folder = pathlib.Path(wick._wick.__file__).parents[1]
    subprocess.run([sys.executable, str(ROOT / "python/make_stubs.py"), str(folder)], check=True)
    shutil.copytree(folder / "wick/_wick", package / "_wick")
    for name in EXAMPLES:
        shutil.copy(ROOT / f"python/examples/{name}.py", tmp_path / f"example_{name}.py")
    modules = [f"example_{name}" for name in EXAMPLES]
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "-p", "wick",
                           *[word for module in modules for word in ("-m", module)]], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": "", "PYTHONPATH": ""}, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_guide_says_what_is_so():
    results = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
                               globs={"MODEL": str(NOVELIST)})
    assert results.attempted > 20 and results.failed == 0


def test_adding_eight_numbers_takes_at_most_half_as_long_again_as_numpy():
    import numpy
    import timeit

    a, b = wick.rand((8,)), wick.rand((8,))
    x, y = a.numpy(), b.numpy()

    def seconds(left, right):
        return min(timeit.repeat("a + b", globals={"a": left, "b": right}, number=20000, repeat=3))

    ratios = sorted(seconds(a, b) / seconds(x, y) for _ in range(9))
    assert isinstance(x, numpy.ndarray) and ratios[2] < 1.5, ratios  # others may use the processor meanwhile


def test_import_takes_no_other_library_and_little_time():
    program = "import sys, time; t = time.process_time(); import wick; print(time.process_time() - t, 'numpy' in sys.modules, 'asyncio' in sys.modules)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split() for _ in range(5)]
    assert {(run[1], run[2]) for run in runs} == {("False", "False")}
    assert min(float(run[0]) for run in runs) < 0.05


def test_ops_release_the_interpreter():
    x = wick.rand((700, 700))
    x @ x
    ticks, running = 0, True

    def count():
        nonlocal ticks
        while running:
            ticks += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    before = ticks
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        x @ x
    seen = ticks - before
    running = False
    thread.join()
    assert seen > 20


def test_threads_may_share_tensors():
    x, failures = wick.rand((64, 64)), []

    def work():
        try:
            for _ in range(200):
                assert (x @ x).shape == (64, 64) and x[x > 0.5].ndim == 1
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_source_distribution_can_be_configured(tmp_path):
    pytest.importorskip("build")
    pytest.importorskip("scikit_build_core")
    if shutil.which("ninja") is None or shutil.which("cmake") is None:
        pytest.skip("no CMake or no Ninja")
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        assert not [name for name in files.getnames() if "/models/" in name and name.endswith(".gguf")]
        files.extractall(tmp_path)
    settings = ["WICK_PYTHON=ON", "WICK_UNITY=ON", "WICK_TESTS=OFF", "WICK_PROGRAMS=OFF", "WICK_INSTALL=OFF", f"Python_EXECUTABLE={sys.executable}"]
    # CMake refuses a target whose sources are not there.
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", str(tmp_path / f"wick-{archive.name[5:-7]}"), "-B", str(tmp_path / "build"),
                           "-DCMAKE_BUILD_TYPE=Release", *[f"-D{one}" for one in settings]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_tensors_and_streams_may_outlive_the_interpreter(tmp_path):
    program = f"""
import threading, wick
kept = [wick.rand((64, 64)), wick.Var([1.0])]
model = wick.load({str(NOVELIST)!r}, device="cpu", context=256)
stream = model.generate("The sea", max_tokens=200, ignore_eos=True, stream=True)
print(next(stream) is not None)
threading.Thread(target=lambda: [None for _ in stream], daemon=True).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr


def test_tensors_work_in_a_forked_child():
    program = """
import os, sys, wick
x = wick.ones((300, 300))
x @ x
child = os.fork()
if child == 0:
    try:
        print((x + x).sum().item(), (x @ x)[0, 0].item(), flush=True)
    finally:
        os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == 0 and done.stdout == "180000.0 300.0\n", done.stdout + done.stderr


def test_sub_interpreters_are_refused():
    program = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    failure = interpreters.exec(interpreters.create(), "import wick")
    print(failure is not None and "interpreter" in failure.msg)
else:
    import _xxsubinterpreters as interpreters
    try:
        interpreters.run_string(interpreters.create(), "import wick")
        print("imported")
    except interpreters.RunFailedError as error:
        print("interpreter" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.stdout == "True\n" and done.returncode == 0, done.stdout + done.stderr


def test_the_command_line_is_the_program_s():
    done = subprocess.run([sys.executable, "-m", "wick", "run", "--model", str(NOVELIST), "--prompt", "The sea", "--max-tokens", "3", "--device", "cpu"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "wick", "run", "--model", "/nowhere.gguf", "--prompt", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "/nowhere.gguf" in done.stderr


def test_callbacks_that_fail_are_the_caller_s_errors():
    def progress(done, total):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        wick.load(NOVELIST, device="cpu", progress=progress)


def test_the_table_of_pytorchs_names_is_of_today():
    made = subprocess.run([sys.executable, str(ROOT / "python/make_pytorch_table.py")], capture_output=True, text=True, timeout=60, check=True).stdout
    assert made == (ROOT / "docs/pytorch.md").read_text(), "run python/make_pytorch_table.py > docs/pytorch.md"
