"""Language models over Ray Data: each row of a dataset becomes a request, and a column its answer.

    import ray
    import wick.ray

    texts = ray.data.read_json("prompts/")
    wick.ray.generate(texts, "model.gguf", prompt="question", output="answer", concurrency=(1, 8)).write_json("answers/")

Needs `pip install wick[ray]`. Ray places, restarts and scales actors, each of which holds the model; rows become requests of its engine, which
computes many at once.
"""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from . import _wick
from ._wick import Device
from .llm import Model, _texts, load as _load

if TYPE_CHECKING:
    from ray.data import Dataset  # type: ignore[import-not-found, import-untyped, unused-ignore]

__all__ = ["Placement", "app", "app_builder", "chat", "embed", "generate", "rerank", "score"]

_BATCHES_AT_ONCE = 2  # of an actor, so that the engine has requests while the last ones of a batch end
_DEATHS_AT_LOAD = 3  # of a pool of actors, one after another
_HUBS = ("hf://", "pypi://")  # what a model begins with that is no path
_NODES_SHOWN = 5


class Placement(TypedDict, total=False):
    """Where and how rows are answered: parameters of all functions of wick.ray.

    concurrency: how many actors, or the least and the most of them; each loads the model. batch_size: rows that are submitted together; an actor
    has two such batches under way. num_cpus, num_gpus (at most 1), resources: of an actor, which computes on its GPU, or without one on
    its CPUs. load: parameters of wick.load, such as {"context": 8192}. on_error: "fail" ends the job at a row that fails; "column" keeps such
    rows, without an answer, with the message in the column error_column. check_resources: whether more than the cluster has is an
    error; False for a cluster that grows when it is asked for more.
    """

    concurrency: int | tuple[int, int]
    batch_size: int
    num_cpus: float
    num_gpus: float
    resources: Mapping[str, float] | None
    load: Mapping[str, Any] | None
    on_error: Literal["fail", "column"]
    error_column: str
    check_resources: bool


_DEFAULTS: dict[str, Any] = {"concurrency": 1, "batch_size": 64, "num_cpus": 1, "num_gpus": 0, "resources": None, "load": None,
                             "on_error": "fail", "error_column": "error", "check_resources": True}


def _ray() -> Any:
    """The modules ray and ray.data."""
    # Who calls Wick has not asked Ray to report that.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray.data  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError(f"wick.ray needs Ray Data, which is not installed here ({error}); pip install 'wick[ray]'") from None
    return ray


# --- Tasks: `begin` submits a row's request, `end` waits for its answer; `columns` are those that they read ---


class _Task:
    reranks = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.columns: list[str] = settings["columns"]

    def prepare(self, model: Model) -> None:
        if self.reranks:
            model._model.require_reranker()

    def begin(self, model: Model, values: Sequence[Any]) -> Any:
        raise NotImplementedError

    def end(self, model: Model, begun: Any) -> Any:
        raise NotImplementedError

    def arrow_type(self, arrow: Any) -> Any:
        return arrow.string()


class _Generate(_Task):
    def begin(self, model: Model, values: Sequence[Any]) -> Any:
        prompt, = values
        return model.generate(prompt if isinstance(prompt, list) else _text(prompt), stream=True, **self.settings["parameters"])

    def end(self, model: Model, begun: Any) -> Any:
        return begun.read().text


class _Chat(_Task):
    def begin(self, model: Model, values: Sequence[Any]) -> Any:
        messages = _without_nulls(values[0])
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise TypeError("expected a list of messages, each with a role and content")
        return model.chat(messages, stream=True, **self.settings["parameters"])

    def end(self, model: Model, begun: Any) -> Any:
        return begun.read().text


class _Embed(_Task):
    def prepare(self, model: Model) -> None:
        model._width(self.settings["dimensions"])
        self.prompt = model._prompt(self.settings["prompt_name"])

    def begin(self, model: Model, values: Sequence[Any]) -> Any:
        return _wick._submit(model._model, {"prompt": self.prompt + _text(values[0]), "embed": True, "truncate": self.settings["truncate"]})

    def end(self, model: Model, begun: Any) -> Any:
        return model._vector(model._result("embed", begun), self.settings["normalize"], self.settings["dimensions"]).tolist()

    def arrow_type(self, arrow: Any) -> Any:
        return arrow.list_(arrow.float32())


class _Score(_Task):
    reranks = True

    def begin(self, model: Model, values: Sequence[Any]) -> Any:
        query, text = values
        tokens, second = model._model.encode_pair(_text(query), _text(text))
        return _wick._submit(model._model, {"tokens": tokens, "second": second, "embed": True, "truncate": self.settings["truncate"]})

    def end(self, model: Model, begun: Any) -> Any:
        return model._model.pair_score(model._result("score", begun).tolist())

    def arrow_type(self, arrow: Any) -> Any:
        return arrow.float32()


class _Rerank(_Score):
    def begin(self, model: Model, values: Sequence[Any]) -> Any:
        query, documents = values
        return [super(_Rerank, self).begin(model, (query, text)) for text in _texts("rerank", documents)]

    def end(self, model: Model, begun: Any) -> Any:
        scores = [super(_Rerank, self).end(model, one) for one in begun]
        best = sorted(enumerate(scores), key=lambda pair: -pair[1])[:self.settings["top_n"]]
        return [{"index": index, "score": score} for index, score in best]

    def arrow_type(self, arrow: Any) -> Any:
        return arrow.list_(arrow.struct([("index", arrow.int32()), ("score", arrow.float32())]))


_TASKS: dict[str, type[_Task]] = {"generate": _Generate, "chat": _Chat, "embed": _Embed, "rerank": _Rerank, "score": _Score}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {type(value).__name__}")
    return value


def _without_nulls(value: Any) -> Any:
    """Without the keys that Arrow adds to each of several dictionaries, because others have them."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


# --- Actors ---


class _Loads:
    """An actor, one for all pools of a driver, that counts the processes which died while they loaded the model."""

    def __init__(self) -> None:
        self.under_way: dict[str, tuple[str, str, str, int]] = {}  # by actor
        self.deaths: dict[str, int] = {}  # by pool, since the last process that loaded it

    def begin(self, pool: str, actor: str, place: tuple[str, str, str, int]) -> tuple[int, tuple[str, str, str, int]] | None:
        """place: id and name of the node, the file of standard error and its size. Too many deaths, and the place of the last, or None."""
        last = self.under_way.get(actor)
        if last is not None:  # which Ray has started again
            self.deaths[pool] = self.deaths.get(pool, 0) + 1
            if self.deaths[pool] >= _DEATHS_AT_LOAD:
                return self.deaths[pool], last
        self.under_way[actor] = place
        return None

    def end(self, pool: str, actor: str, loaded: bool) -> None:
        self.under_way.pop(actor, None)
        if loaded:
            self.deaths.pop(pool, None)


_kept: list[Any] = []  # handles of _Loads: Ray ends it with the first one


def _loads(ray: Any) -> Any:
    from ray.util.scheduling_strategies import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        NodeAffinitySchedulingStrategy,
    )

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    _kept.append(ray.remote(_Loads).options(name=f"wick.ray loads {ray.get_runtime_context().get_job_id()}", get_if_exists=True, num_cpus=0,
                                            max_restarts=-1, max_task_retries=-1, scheduling_strategy=here).remote())
    return _kept[-1]


def _last_lines(path: str, begin: int) -> str:
    """Of what was written to a file after its first bytes."""
    with open(path, "rb") as file:
        file.seek(begin)
        text = file.read().decode(errors="replace")
    return "\n".join([line for line in text.splitlines() if line.strip()][-10:])


def _report(ray: Any, deaths: int, place: tuple[str, str, str, int]) -> str:
    from ray.util.scheduling_strategies import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        NodeAffinitySchedulingStrategy,
    )

    node, host, path, size = place
    try:
        reader = ray.remote(_last_lines).options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
        lines = ray.get(reader.remote(path, size), timeout=60)
        said = f"its last lines were:\n{lines}" if lines else "it said nothing, as a process that the system kills for its memory"
    except Exception as error:
        said = f"its last lines could not be read: {error}"
    return f"wick.ray: a worker died {deaths} times while it loaded the model, the last time on node {host}; {said}"


@contextlib.contextmanager
def _one_on_this_node(model: str) -> Iterator[None]:
    """One actor of a node at a time downloads a model, the others find it then."""
    if not model.startswith(_HUBS):
        yield
        return
    name = hashlib.sha256(model.encode()).hexdigest()[:16]
    with open(os.path.join(tempfile.gettempdir(), f"wick-{os.getuid()}-{name}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Actor:
    """Holds a model, and answers batches of rows."""

    def __init__(self, task: str, model: str, options: Mapping[str, Any], settings: Mapping[str, Any], output: str, error_column: str | None,
                 threads: int, version: str, loads: Any, pool: str) -> None:
        ray = _ray()
        self.host = socket.gethostname()
        self.name, self.output, self.error_column = task, output, error_column
        self.task = _TASKS[task](settings)
        if version != _version():
            raise RuntimeError(f"node {self.host} has wick {_version()}, the driver {version}; install the same version on all nodes")
        context = ray.get_runtime_context()
        actor, log = context.get_actor_id(), os.path.realpath("/proc/self/fd/2")
        place = (context.get_node_id(), self.host, log, os.path.getsize(log) if os.path.isfile(log) else 0)
        too_many = ray.get(loads.begin.remote(pool, actor, place))
        if too_many is not None:
            raise RuntimeError(_report(ray, *too_many))
        loaded = False
        try:
            self.model = self.load(model, options, threads)
            self.task.prepare(self.model)
            loaded = True
        except FileNotFoundError as error:  # which says all; Ray would print where it was raised, too
            raise RuntimeError(f"node {self.host}: {error}") from None
        except Exception as error:
            raise RuntimeError(f"node {self.host}: {error}") from error
        finally:
            ray.get(loads.end.remote(pool, actor, loaded))

    def load(self, model: str, options: Mapping[str, Any], threads: int) -> Model:
        _check_path("model", model)
        device = {"device": Device("cpu", threads=threads)} if threads else {}
        with _one_on_this_node(model):
            made = _load(model, **{**device, **options})
        if not threads and "device" not in options and str(made.device) == "cpu":
            raise RuntimeError(f"Ray gave the actor a GPU ({os.environ.get('CUDA_VISIBLE_DEVICES', 'of no number')}), and Wick finds none here; "
                               "see wick devices on this node, or compute on its CPUs: num_gpus=0")
        return made

    def __call__(self, table: Any) -> Any:
        import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

        for column in (self.output, self.error_column):
            if column in table.column_names:
                raise ValueError(f"wick.ray.{self.name}: the dataset has a column {column!r} already; choose another name for this one")
        answers, errors = self.answer(table.to_pylist())
        table = table.append_column(self.output, pyarrow.array(answers, self.task.arrow_type(pyarrow)))
        return table if self.error_column is None else table.append_column(self.error_column, pyarrow.array(errors, pyarrow.string()))

    def answer(self, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[str | None]]:
        """The answers, and what went wrong, of each row. All requests are under way before the first is waited for."""
        errors: list[str | None] = [None] * len(rows)

        def attempt(call: Callable[..., Any], index: int, *arguments: Any) -> Any:
            if errors[index] is not None:
                return None
            try:
                return call(*arguments)
            except Exception as error:
                errors[index] = str(error) or type(error).__name__
                if self.error_column is None:
                    raise RuntimeError(f"wick.ray.{self.name}: {errors[index]}; the row: {_shortened(rows[index])}; "
                                       "on_error='column' keeps such rows") from error
                return None

        begun = [attempt(self.begin, i, row) for i, row in enumerate(rows)]
        return [attempt(partial(self.task.end, self.model), i, one) for i, one in enumerate(begun)], errors

    def begin(self, row: Mapping[str, Any]) -> Any:
        for column in self.task.columns:
            if column not in row:
                raise ValueError(f"there is no column {column!r}; the dataset has {', '.join(row)}")
            if row[column] is None:
                raise ValueError(f"the row has nothing in the column {column!r}")
        return self.task.begin(self.model, [row[column] for column in self.task.columns])


def _shortened(row: Mapping[str, Any]) -> str:
    text = repr({name: value[:40] + "…" if isinstance(value, str) and len(value) > 40 else value for name, value in row.items()})
    return text if len(text) <= 200 else text[:200] + "…"


def _version() -> str:
    """Of the package, where it is installed as one."""
    try:
        return metadata.version("wick")
    except metadata.PackageNotFoundError:
        return "of a folder"


# --- What the functions have in common ---


def _absolute(path: str | os.PathLike[str]) -> str:
    """A path for processes of other folders; a model of a hub as it is."""
    text: str = os.fspath(path)
    return text if text.startswith(_HUBS) else os.path.abspath(text)


def _on_all_nodes(what: str, path: str) -> dict[str, str]:
    """The path with what to do where a node does not have it; none for a model of a hub."""
    return {} if path.startswith(_HUBS) else {path: f"the {what} must be at this path on all nodes, or be one of hf://"}


def _lacking(paths: Sequence[str]) -> list[str]:
    """Those that this node does not have."""
    return [path for path in paths if not os.path.exists(path)]


def _check_path(what: str, path: str) -> None:
    """Raises FileNotFoundError for a path that this node does not have."""
    for one, remedy in _on_all_nodes(what, path).items():
        if _lacking([one]):
            raise FileNotFoundError(f"there is no {one}; {remedy}")


def _room(node: Mapping[str, Any], resources: Mapping[str, float]) -> int | None:
    """For how many actors or tasks a node has these resources; None: for any number."""
    return min((int(node["Resources"].get(one, 0) / wanted + 1e-9) for one, wanted in resources.items()), default=None)


def _not_on_all(ray: Any, what: str, resources: Mapping[str, float], paths: Mapping[str, str]) -> str | None:
    """Which nodes do not have one of the paths; each comes with its remedy. Only nodes with room for an actor or task (`what`) are asked."""
    from ray.exceptions import RayError  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from ray.util.scheduling_strategies import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        NodeAffinitySchedulingStrategy,
    )

    if not paths:
        return None
    nodes = [node for node in ray.nodes() if node["Alive"] and _room(node, resources) != 0]
    ask = ray.remote(_lacking)
    asked = {ask.options(num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))
             .remote(list(paths)): node["NodeManagerHostname"] for node in nodes}
    # A node that does not answer, or has another version of Wick, is named by what begins there.
    answered, _ = ray.wait(list(asked), num_returns=len(asked), timeout=30) if asked else ([], [])
    without: dict[str, list[str]] = {}
    for one in answered:
        with contextlib.suppress(RayError):
            for path in ray.get(one):
                without.setdefault(path, []).append(asked[one])
    for path, remedy in paths.items():
        if hosts := without.get(path):
            names = ", ".join(sorted(set(hosts))[:_NODES_SHOWN]) + (", …" if len(set(hosts)) > _NODES_SHOWN else "")
            plural = "s" if len(set(hosts)) > 1 else ""
            return f"there is no {path} on node{plural} {names} ({len(hosts)} of the {len(nodes)} with room for {what}); {remedy}"
    return None


def _missing(ray: Any, least: int, what: str, resources: Mapping[str, float]) -> str | None:
    """What the cluster does not have, for which Ray would wait without an end."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    room = [least if (one := _room(node, resources)) is None else one for node in nodes]
    if sum(room) >= least:
        return None
    have = "; ".join(f"{node['NodeManagerHostname']} has " + ", ".join(f"{node['Resources'].get(one, 0):g} {one}" for one in resources)
                     for node in nodes)
    wanted = ", ".join(f"{wanted:g} {one}" for one, wanted in resources.items())
    return (f"{least} {what}{'s' if least > 1 else ''} of {wanted} each, and the cluster has room for {sum(room)} ({have}); "
            "ask for less, or add a node")


def _chosen(name: str, placement: Mapping[str, Any]) -> dict[str, Any]:
    """The placement with its defaults. Raises TypeError and ValueError."""
    unknown = sorted(set(placement) - set(_DEFAULTS))
    if unknown:
        raise TypeError(f"wick.ray.{name}: there is no parameter {unknown[0]!r}")
    chosen = {**_DEFAULTS, **placement}
    least_and_most = (chosen["concurrency"],) * 2 if isinstance(chosen["concurrency"], int) else tuple(chosen["concurrency"])
    if len(least_and_most) != 2 or not 1 <= least_and_most[0] <= least_and_most[1]:
        raise ValueError(f"wick.ray.{name}: concurrency={chosen['concurrency']!r}: must be a number of actors, or the least and the most of them")
    if chosen["batch_size"] < 1:
        raise ValueError(f"wick.ray.{name}: batch_size={chosen['batch_size']}: must be at least 1")
    if not 0 <= chosen["num_gpus"] <= 1:
        raise ValueError(f"wick.ray.{name}: num_gpus={chosen['num_gpus']}: must be from 0 to 1, of an actor; concurrency is the number of actors")
    if chosen["num_cpus"] < 0:
        raise ValueError(f"wick.ray.{name}: num_cpus={chosen['num_cpus']}: must be at least 0")
    if chosen["on_error"] not in ("fail", "column"):
        raise ValueError(f"wick.ray.{name}: on_error={chosen['on_error']!r}: must be 'fail' or 'column'")
    return {**chosen, "concurrency": least_and_most}


def _map(name: str, dataset: Dataset, model: str | os.PathLike[str], settings: Mapping[str, Any], output: str,
         placement: Mapping[str, Any]) -> Dataset:
    chosen = _chosen(name, placement)
    ray = _ray()
    if not ray.is_initialized():
        ray.init()
    resources = {one: float(wanted) for one, wanted in
                 (("CPU", chosen["num_cpus"]), ("GPU", chosen["num_gpus"]), *(chosen["resources"] or {}).items()) if wanted}
    least, most = chosen["concurrency"]
    if chosen["check_resources"] and (missing := _missing(ray, least, "actor", resources)):
        raise ValueError(f"wick.ray.{name}: {missing}; check_resources=False is for clusters that add nodes on demand")
    path = _absolute(model)
    if lacked := _not_on_all(ray, "an actor", resources, _on_all_nodes("model", path)):
        raise FileNotFoundError(f"wick.ray.{name}: {lacked}")
    return dataset.map_batches(
        _Actor, batch_size=chosen["batch_size"], batch_format="pyarrow", num_cpus=chosen["num_cpus"], num_gpus=chosen["num_gpus"] or None,
        resources=dict(chosen["resources"] or {}) or None,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most, max_concurrent_calls_per_actor=_BATCHES_AT_ONCE,
                                           max_tasks_in_flight_per_actor=2 * _BATCHES_AT_ONCE, enable_true_multi_threading=True),
        fn_constructor_kwargs={"task": name, "model": path, "options": dict(chosen["load"] or {}), "settings": settings, "output": output,
                               "error_column": chosen["error_column"] if chosen["on_error"] == "column" else None,
                               # Without a GPU an actor computes on the CPUs that it has.
                               "threads": 0 if chosen["num_gpus"] else max(1, int(chosen["num_cpus"])), "version": _version(), "loads": _loads(ray),
                               "pool": uuid.uuid4().hex})


def generate(dataset: Dataset, model: str | os.PathLike[str], *, prompt: str = "prompt", output: str = "text",
             parameters: Mapping[str, Any] | None = None, **placement: Unpack[Placement]) -> Dataset:
    """Continues the text, or the tokens, in the column `prompt` of each row. parameters: those of Model.generate, such as {"max_tokens": 64}."""
    return _map("generate", dataset, model, {"columns": [prompt], "parameters": dict(parameters or {})}, output, placement)


def chat(dataset: Dataset, model: str | os.PathLike[str], *, messages: str = "messages", output: str = "text",
         parameters: Mapping[str, Any] | None = None, **placement: Unpack[Placement]) -> Dataset:
    """Answers the conversation in the column `messages` of each row. parameters: those of Model.chat."""
    return _map("chat", dataset, model, {"columns": [messages], "parameters": dict(parameters or {})}, output, placement)


def embed(dataset: Dataset, model: str | os.PathLike[str], *, text: str = "text", output: str = "embedding", normalize: bool = True,
          dimensions: int | None = None, prompt_name: str | None = None, truncate: bool = False, **placement: Unpack[Placement]) -> Dataset:
    """Adds the vector of the text in the column `text` of each row, as Model.embed computes it."""
    settings = {"columns": [text], "normalize": normalize, "dimensions": dimensions, "prompt_name": prompt_name, "truncate": truncate}
    return _map("embed", dataset, model, settings, output, placement)


def rerank(dataset: Dataset, model: str | os.PathLike[str], *, query: str = "query", documents: str = "documents", output: str = "ranking",
           top_n: int | None = None, truncate: bool = False, **placement: Unpack[Placement]) -> Dataset:
    """Adds a list of {"index", "score"}, the best first, of the texts in the column `documents` by that in the column `query`: of a reranker."""
    return _map("rerank", dataset, model, {"columns": [query, documents], "top_n": top_n, "truncate": truncate}, output, placement)


def score(dataset: Dataset, model: str | os.PathLike[str], *, query: str = "query", text: str = "text", output: str = "score",
          truncate: bool = False, **placement: Unpack[Placement]) -> Dataset:
    """Adds the score of the text in the column `text` by that in the column `query`: of a reranker."""
    return _map("score", dataset, model, {"columns": [query, text], "truncate": truncate}, output, placement)


def app(models: Mapping[str, Any]) -> Any:
    """An application of Ray Serve, for serve.run(): models by name, each a path or its settings.

    Settings: model (a path that all nodes have, or one of hf://), flags (of wick serve), adapters (paths by name), replicas (a number, or the
    least and the most), target_requests and target_tokens (in flight for each replica, above which autoscaling adds one), routed (whether replicas
    listen at their nodes' addresses, for `wick route --serve`), autoscaling (further settings of
    Serve's AutoscalingConfig, such as {"downscale_delay_s": 60}), max_requests (sent to a replica at once), drain (seconds that a replica has
    for its requests before it stops), num_cpus, num_gpus and resources of a replica.
    """
    from . import _ray_serve

    return _ray_serve.app(models)


def app_builder(args: Mapping[str, Any]) -> Any:
    """What a configuration file of `serve deploy` names: import_path: wick.ray:app_builder, with args: {models: …}."""
    unknown = sorted(set(args) - {"models"})
    if unknown:
        raise TypeError(f"wick.ray.app_builder: there is no argument {unknown[0]!r}; there is models")
    return app(args.get("models", {}))
