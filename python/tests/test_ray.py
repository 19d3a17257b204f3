"""wick.ray without Ray: mistakes, and rows that an actor answers. A cluster is tested by tests/programs/check_ray."""
import contextlib
import pathlib
import subprocess
import sys
import types

import pytest

import wick
import wick.ray

NOVELIST = pathlib.Path(__file__).resolve().parents[2] / "models/novelist-20m-q8_0.gguf"


@contextlib.contextmanager
def actor(task, error_column, **settings):
    made = object.__new__(wick.ray._Actor)
    made.host, made.name, made.output, made.error_column = "here", task, "answer", error_column
    made.task = wick.ray._TASKS[task](settings)
    with wick.load(NOVELIST, device="cpu", context=256) as made.model:
        made.task.prepare(made.model)
        yield made


def test_nothing_of_ray_is_imported_without_use():
    program = "import sys, wick.ray; print([name for name in sys.modules if name.split('.')[0] in ('ray', 'pyarrow')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stdout == "[]\n"


def test_without_ray_the_error_says_what_to_install(tmp_path):
    program = "import sys; sys.modules['ray'] = None; import wick.ray; wick.ray.generate(None, 'x')"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "ImportError: wick.ray needs Ray Data" in run.stderr and "pip install 'wick[ray]'" in run.stderr
    (tmp_path / "a.jsonl").write_text("")
    program = (f"import sys; sys.modules['ray'] = None; from wick import _ray_batch; "
               f"print(_ray_batch.command([{str(tmp_path)!r}, {str(tmp_path / 'out')!r}, '--ray', 'auto']))")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout == "2\n" and "wick batch: error: wick.ray needs Ray Data" in run.stderr and "pip install 'wick[ray]'" in run.stderr


@pytest.mark.parametrize("given, message", [
    ({"sise": 1}, "no parameter 'sise'"), ({"concurrency": 0}, "concurrency=0"), ({"concurrency": (3, 2)}, "concurrency=(3, 2)"),
    ({"concurrency": (1, 2, 3)}, "concurrency=(1, 2, 3)"), ({"batch_size": 0}, "batch_size=0"), ({"num_gpus": 2}, "num_gpus=2: must be from 0 to 1"),
    ({"num_cpus": -1}, "num_cpus=-1"), ({"on_error": "stop"}, "must be 'fail' or 'column'")])
def test_a_mistake_in_a_parameter_is_one_error(given, message):
    with pytest.raises((TypeError, ValueError)) as raised:
        wick.ray.generate(None, NOVELIST, **given)
    assert str(raised.value).startswith("wick.ray.generate: ") and message in str(raised.value)


def test_rows_are_answered_as_by_the_model():
    parameters = {"max_tokens": 6, "temperature": 0}
    prompts = ["The sea", "A ship", "It was"]
    with actor("generate", None, columns=["prompt"], parameters=parameters) as made:
        answers, errors = made.answer([{"prompt": prompt} for prompt in prompts])
        assert answers == [one.text for one in made.model.generate(prompts, **parameters)] and errors == [None] * 3
    with actor("embed", None, columns=["text"], normalize=True, dimensions=5, prompt_name=None, truncate=False) as made:
        vectors, _ = made.answer([{"text": "the sea"}])
        assert vectors[0] == pytest.approx(made.model.embed("the sea", dimensions=5).tolist())


def test_a_row_that_fails_has_an_error_or_raises_it():
    rows = [{"id": 0, "prompt": "The sea"}, {"id": 1, "prompt": "sea " * 1000}, {"id": 2, "prompt": None}, {"id": 3, "prompt": 7}, {"id": 4}]
    with actor("generate", "error", columns=["prompt"], parameters={"max_tokens": 2, "temperature": 0}) as made:
        answers, errors = made.answer(rows)
        made.error_column = None
        with pytest.raises(RuntimeError, match=r"wick\.ray\.generate: .*the row: \{'id': 1, 'prompt': 'sea .*on_error='column'"):
            made.answer(rows)
    assert answers[0] and errors[0] is None and answers[1:] == [None] * 4
    parts = ("context", "nothing in the column 'prompt'", "expected a text, got int", "no column 'prompt'; the dataset has id")
    for error, part in zip(errors[1:], parts, strict=True):
        assert part in error


def test_deaths_in_a_row_at_load_are_counted_until_one_loads():
    loads, place = wick.ray._Loads(), ("id", "host", "file", 0)
    assert loads.begin("p", "a", place) is None and loads.begin("p", "a", place) is None
    loads.end("p", "a", True)
    assert [loads.begin("p", "a", place) for _ in range(3)] == [None, None, None]
    assert loads.begin("q", "b", place) is None and loads.begin("p", "a", place) == (3, place)


def test_a_node_without_the_model_is_an_error_that_says_what_all_nodes_need():
    with pytest.raises(FileNotFoundError, match="there is no /nowhere.gguf; the model must be at this path on all nodes"):
        object.__new__(wick.ray._Actor).load("/nowhere.gguf", {}, 1)


def test_what_the_nodes_have_room_for_is_counted_node_by_node():
    nodes = [{"Alive": True, "NodeManagerHostname": name, "Resources": {"CPU": 4.0, "GPU": gpus}} for name, gpus in (("a", 1.0), ("b", 2.0))]
    ray = types.SimpleNamespace(nodes=lambda: [*nodes, {**nodes[0], "Alive": False}])
    assert wick.ray._missing(ray, 3, "actor", {"CPU": 1.0, "GPU": 1.0}) is None and wick.ray._missing(ray, 6, "actor", {"GPU": 0.5}) is None
    assert wick.ray._missing(ray, 4, "actor", {"CPU": 1.0, "GPU": 1.0}) == (
        "4 actors of 1 CPU, 1 GPU each, and the cluster has room for 3 (a has 4 CPU, 1 GPU; b has 4 CPU, 2 GPU); ask for less, or add a node")
    assert "room for 0" in (wick.ray._missing(ray, 1, "task", {"CPU": 8.0}) or "")


@pytest.mark.parametrize("words, message", [
    ([], "the folders come first"), (["--ray", "auto"], "the folders come first"), (["{tmp}/none", "out", "--ray", "auto"], "no such folder"),
    (["{tmp}", "{tmp}", "--ray", "auto"], "this is the folder of the requests"), (["{tmp}", "out", "--ray", "auto"], "ends in .jsonl"),
    (["{tmp}", "out", "--ray", "auto", "--ray-gpus", "2"], "--ray-gpus 2: must be from 0 to 1"),
    (["{tmp}", "out", "--ray", "auto", "--ray-cpus", "-1"], "--ray-cpus -1: must be at least 0")])
def test_mistakes_of_wick_batch_with_ray_are_one_line(words, message, tmp_path, capsys):
    from wick import _ray_batch

    assert _ray_batch.command([word.format(tmp=tmp_path) for word in words]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("wick batch: error: ") and message in printed and printed.count("\n") == 1


@pytest.mark.parametrize("models, message", [
    ({}, "name at least one"), ({"a": 3}, "models['a']: must be a model's path"), ({"a": {}}, "its path is missing"),
    ({"a": {"model": "x", "sise": 1}}, "no setting 'sise'"), ({"a": {"model": "x", "replicas": [2, 1]}}, "replicas=[2, 1]"),
    ({"a": {"model": "x", "drain": -1}}, "drain=-1"), ({"a": {"model": "x", "flags": "-c 8"}}, "flags: must be a list"),
    ({"a": {"model": "x", "adapters": {"a": "y"}}}, "called 'a'"), ({"a": {"model": "x", "routed": 1}}, "routed=1: must be true or false"),
    ({"a": {"model": "x", "target_tokens": 0}}, "target_tokens=0"), ({"a": {"model": "x", "flags": ["--host=::"]}}, "--host: replicas listen where")])
def test_a_mistake_in_an_application_is_one_error(models, message):
    with pytest.raises((TypeError, ValueError)) as raised:
        wick.ray.app_builder({"models": models})
    assert str(raised.value).startswith("wick.ray.app: ") and message in str(raised.value)


def test_replicas_are_scaled_by_the_requests_and_tokens_that_they_tell():
    from wick._ray_serve import Scaling, _total

    context = types.SimpleNamespace(total_num_requests=6, total_queued_requests=2, config=types.SimpleNamespace(get_target_ongoing_requests=lambda: 16),
                                    aggregated_metrics={"requests": {"a": 20, "b": 10}, "tokens": {"a": 3000, "b": 1000}})
    assert Scaling()(context) == (2, {}) and Scaling(1000)(context) == (4, {}) and Scaling(1e6)(context) == (2, {})
    context.aggregated_metrics = None  # none was told yet
    assert Scaling(1000)(context) == (6 / 16, {})
    text = '# HELP wick:num_requests_running x\nwick:num_requests_running{model_name="a 1"} 3\nvllm:num_requests_running 4\nx_num_requests_running 1\n'
    assert _total(text, "num_requests_running") == 7 and _total(text, "num_tokens_in_flight") == 0


def test_the_list_of_replicas_is_complete_or_none(monkeypatch):
    from wick import _ray_serve

    now = 100.0
    monkeypatch.setattr(_ray_serve.time, "monotonic", lambda: now)
    replicas = _ray_serve.Replicas()
    a, b = ({"name": name, "url": f"http://{name}"} for name in "ab")
    replicas.add(a)
    assert replicas.list() is None
    now += 10
    replicas.add(b)
    assert replicas.list() == [a, b]
    now += 25  # a has not said for 35 s that it is healthy
    assert replicas.list() == [b]
    replicas.remove("b")
    replicas.remove("b")
    assert replicas.list() == []


@pytest.mark.parametrize("flags, message", [
    (["--replicas", "x", "-m", "a"], "--replicas x"), ([], "--model"), (["-m", "a", "--host", "0.0.0.0"], "--api-key-file"),
    (["-m", "a", "--tls-cert", "c"], "--tls-cert: not with --ray"), (["-m", "a", "--replicas", "3..1"], "replicas=(3, 1)")])
def test_a_mistake_in_wick_serve_with_ray_is_one_line(flags, message):
    run = subprocess.run([sys.executable, "-m", "wick", "serve", "--ray", "auto", *flags], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and run.stderr.startswith("wick serve: error: ") and message in run.stderr and run.stderr.count("\n") == 1
