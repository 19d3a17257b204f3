"""wick.ray.app: an application of Ray Serve whose replicas run wick serve and pass its bytes on."""
from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NoReturn

from ._ray_batch import _connect, _die_with_parent, _Mistake, _Parser
from .ray import _absolute, _check_path, _last_lines, _missing, _not_on_all, _on_all_nodes, _one_on_this_node, _ray, _version

_DEATHS_AT_LOAD = 3  # of a model's replicas, until its deployment fails
_TRIES = 3  # of a request whose replica is lost before it answered
_DEFAULTS: dict[str, Any] = {"model": None, "flags": [], "adapters": {}, "replicas": 1, "num_cpus": 1, "num_gpus": 0, "resources": {},
                             "target_requests": 16, "target_tokens": None, "max_requests": 288, "drain": 60, "autoscaling": {}, "routed": False}
# Of one connection: those of the next one are made anew.
_OF_CONNECTION = {b"host", b"origin", b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
                  b"content-length", b"expect"}
_KEYS = {b"authorization", b"x-api-key"}
# A replica is in the list until it has not said for so long that it is healthy, which it says every _HEALTH_PERIOD seconds.
_HEALTH_PERIOD, _FORGOTTEN_AFTER = 5, 30
_LOST = "the replica was lost before the response was complete; send the request again"


# --- A replica: an actor with a child, which ends with it ---


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def _has(flags: Sequence[str], *names: str) -> bool:
    return any(flag.split("=")[0] in names for flag in flags)


def _total(metrics: str, name: str) -> float:
    """Of all samples of a family in a text of Prometheus, whatever its prefix."""
    return sum(float(value) for value in re.findall(rf"^[^#{{\n]*\b{name}(?:{{[^\n]*}})? (\S+)$", metrics, re.MULTILINE))


class Replica:
    """Holds a child, wick serve on a Unix socket, and passes requests on to it. A routed one listens at its node's address, and is in the list."""

    def __init__(self, name: str, settings: Mapping[str, Any], version: str, replicas: Any = None) -> None:
        self.place = f"model {name} on node {socket.gethostname()}"
        if version != _version():
            raise RuntimeError(f"{self.place}: wick {_version()} is there, and who deployed has {version}; install the same version on all nodes")
        model = settings["model"]
        try:
            _check_path("model", model)
            for path in settings["adapters"].values():
                _check_path("adapter", path)
        except FileNotFoundError as error:
            raise RuntimeError(f"{self.place}: {error}") from None
        self.folder = tempfile.TemporaryDirectory(prefix="wick-serve-")
        self.socket = os.path.join(self.folder.name, "socket")
        self.log = os.path.join(self.folder.name, "log")
        self.session: Any = None
        self.ends = self.has_loaded = False
        self.drain, self.replicas = settings["drain"], replicas
        self.listed: dict[str, str] = {}  # what the list says of it
        self.host_and_port: tuple[str, int] | None = None  # of a routed child, once it listens
        # Beside the keys that clients have, one of the replica's own.
        own, self.key, self.has_keys = self._keys(settings["flags"], replicas is not None)
        command = [sys.executable, "-m", "wick", "serve", "--model", model, "--alias", name]
        command += ["--unix-socket", self.socket] if replicas is None else ["--host", self._address(), "--port", "0"]
        command += ["--drain", str(settings["drain"]), "--no-ui", *(f"--lora={one}={path}" for one, path in settings["adapters"].items())]
        if not settings["num_gpus"] and not _has(settings["flags"], "--threads", "-t", "--device"):
            command += ["--device", "cpu", "--threads", str(max(1, int(settings["num_cpus"])))]
        begun = threading.Event()
        # The child dies with the thread that starts it, which therefore stays.
        threading.Thread(target=self._hold, args=([*command, *settings["flags"]], own, begun), daemon=True).start()
        with _one_on_this_node(model):
            begun.wait()
            while self._status() != 200:
                if self.code is not None:
                    raise RuntimeError(f"{self.place}: wick serve ended with code {self.code} while it loaded the model; its last lines were:\n"
                                       f"{self._last_lines()}")
                time.sleep(0.1)
        self.has_loaded = True
        if replicas is not None:
            from ray import serve  # type: ignore[import-not-found, import-untyped, unused-ignore]

            assert self.host_and_port is not None  # it has answered
            host, port = self.host_and_port
            self.listed = {"url": f"http://{f'[{host}]' if ':' in host else host}:{port}", "model": name,
                           "name": f"{serve.get_replica_context().deployment}#{serve.get_replica_context().replica_id.unique_id}"}
            if not self.has_keys:
                self.listed["key"] = self.key
            self._list()

    def _list(self) -> None:
        if self.listed:
            self.replicas.add.remote(self.listed)

    @staticmethod
    def _address() -> str:
        import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]

        address: str = ray.util.get_node_ip_address()
        return address

    def _keys(self, flags: Sequence[str], is_routed: bool) -> tuple[dict[str, str], str, bool]:
        """A variable for the child with a key of its own, that key, and whether it has others. Others see a process's arguments, not its variables."""
        free = [name for name, flag in (("WICK_API_KEY", "--api-key"), ("WICK_API_KEY_FILE", "--api-key-file"))
                if not _has(flags, flag) and name not in os.environ]
        if not free:
            raise RuntimeError(f"{self.place}: --api-key and --api-key-file are both given; give one, as the replica has a key of its own")
        if not is_routed and len(free) == 2:
            return {}, "", False
        key = secrets.token_urlsafe(32)
        if free[0] == "WICK_API_KEY":
            return {free[0]: key}, key, len(free) == 1
        path = os.path.join(self.folder.name, "key")
        with open(path, "w") as file:
            file.write(key + "\n")
        return {free[0]: path}, key, True

    def _hold(self, command: Sequence[str], own: Mapping[str, str], begun: threading.Event) -> None:
        self.code: int | None = None
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_die_with_parent,
                                          env={**os.environ, **own})
        begun.set()
        self.code = self.child.wait()
        if self.has_loaded and not self.ends:
            # Ray starts another actor at once.
            print(f"{self.place}: wick serve ended with code {self.code}; its last lines were:\n{self._last_lines()}", file=sys.stderr, flush=True)
            os._exit(1)

    def _last_lines(self) -> str:
        return _last_lines(self.log, max(0, os.path.getsize(self.log) - 4096))

    def _connection(self) -> http.client.HTTPConnection | None:
        if self.replicas is None:
            return _UnixConnection(self.socket)
        if self.host_and_port is None:
            with open(self.log, "rb") as log:
                found = re.search(rb"listening.*?http://\[?([0-9a-fA-F:.]+?)\]?:(\d+)", log.read(1 << 20))
            if found is None:
                return None
            self.host_and_port = (found[1].decode(), int(found[2]))
        return http.client.HTTPConnection(*self.host_and_port, timeout=10)

    def _ask(self, path: str) -> tuple[int | None, str]:
        """The status and the text of a GET; None: nothing answers."""
        connection = self._connection()
        if connection is None:
            return None, ""
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.key}"} if self.key else {})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return None, ""
        finally:
            connection.close()

    def _status(self) -> int | None:
        return self._ask("/v1/ready")[0]

    def check_health(self) -> None:
        if self._status() != 200:
            raise RuntimeError(f"{self.place}: wick serve is not ready")
        self._list()

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """What the child computes and has in its queue, wherever it came from: for Scaling."""
        status, text = await asyncio.to_thread(self._ask, "/metrics")
        if status != 200:
            return {}
        return {"requests": _total(text, "num_requests_running") + _total(text, "num_requests_waiting"),
                "tokens": _total(text, "num_tokens_in_flight")}

    async def send(self, method: str, target: str, fields: list[tuple[str, str]], body: bytes) -> AsyncIterator[Any]:
        """The response: its status and fields first, then its body in pieces."""
        import aiohttp  # type: ignore[import-not-found, unused-ignore]
        import yarl  # type: ignore[import-not-found, unused-ignore]

        if self.session is None:
            self.base = self.listed.get("url", "http://localhost")
            connector = aiohttp.TCPConnector(limit=0, force_close=True) if self.listed else \
                aiohttp.UnixConnector(self.socket, limit=0, force_close=True)
            self.session = aiohttp.ClientSession(connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None),
                                                 skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"))
        if self.key and not self.has_keys:
            fields = [(name, value) for name, value in fields if name.lower().encode() not in _KEYS]
            fields.append(("Authorization", f"Bearer {self.key}"))
        url = yarl.URL(f"{self.base}{target}", encoded=True)
        async with self.session.request(method, url, headers=fields, data=body or None, allow_redirects=False) as response:
            yield response.status, [(name, value) for name, value in response.raw_headers if name.lower() not in _OF_CONNECTION
                                    or name.lower() == b"content-length"]
            async for piece in response.content.iter_any():
                yield piece

    def __del__(self) -> None:
        # Serve has waited for the requests that were under way, but for those of a router, for which the child waits.
        self.ends = True
        if getattr(self, "listed", None):
            self.replicas.remove.remote(self.listed["name"])
        if hasattr(self, "child") and self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(max(10, self.drain + 5))
            except subprocess.TimeoutExpired:
                self.child.kill()


class Replicas:
    """Knows the routed replicas of all models, as each says of itself while it is healthy."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.found: dict[str, tuple[float, dict[str, str]]] = {}

    def add(self, replica: dict[str, str]) -> None:
        self.found[replica["name"]] = (time.monotonic(), replica)

    def remove(self, name: str) -> None:
        self.found.pop(name, None)

    def list(self) -> list[dict[str, str]] | None:
        """None: it has begun so late that those which run have not told it all."""
        now = time.monotonic()
        if now - self.begun < _HEALTH_PERIOD + 2:
            return None
        self.found = {name: one for name, one in self.found.items() if now - one[0] < _FORGOTTEN_AFTER}
        return [replica for _, replica in self.found.values()]


class Scaling:
    """How many replicas of a model there should be: a policy of Serve, which knows only of requests that went through it itself."""

    def __init__(self, target_tokens: float | None = None) -> None:
        self.target_tokens = target_tokens

    def __call__(self, context: Any) -> tuple[float, dict[str, Any]]:
        told = context.aggregated_metrics or {}
        requests = max(context.total_num_requests, sum(told.get("requests", {}).values()) + context.total_queued_requests)
        wanted = requests / context.config.get_target_ongoing_requests()
        if self.target_tokens:
            wanted = max(wanted, sum(told.get("tokens", {}).values()) / self.target_tokens)
        return wanted, {}


# --- The entry: finds the model's replicas, and repeats what a lost one left without an answer ---


class Entry:
    """Takes HTTP requests from Serve's proxy."""

    def __init__(self, adapters: Mapping[str, Sequence[str]], **handles: Any) -> None:
        # A model is named as its handle's place in the list: names of models need not be Python's.
        self.handles = {name: handles[f"model_{i}"].send.options(stream=True) for i, name in enumerate(adapters)}
        self.replicas = handles.get("replicas")
        self.models = {**{adapter: name for name, all_of in adapters.items() for adapter in all_of}, **{name: name for name in adapters}}

    async def __call__(self, request: Any) -> Any:
        from starlette.responses import JSONResponse  # type: ignore[import-not-found, unused-ignore]

        body = await request.body()
        path = request.scope["path"]
        if request.method == "GET" and path in ("/v1/models", "/openai/v1/models", "/models"):
            return await self.list_models(request)
        if request.method == "GET" and path == "/v1/replicas":
            return await self.list_replicas(request)
        named = path.split("/models/", 1)[1] if request.method == "GET" and "/models/" in path else _model_in(body)
        if named is None:
            named = next(iter(self.handles))
        if named not in self.models and ":" in named and named.rsplit(":", 1)[0] in self.models:
            named = named.rsplit(":", 1)[0]  # Ollama's tag
        if named not in self.models:
            message = f"no model {named}; there are {', '.join(self.models)}"
            return JSONResponse(_error(path, message, 404, "model_not_found"), status_code=404)
        return await self.answer(request, self.handles[self.models[named]], body)

    async def list_models(self, request: Any) -> Any:
        from starlette.responses import JSONResponse

        data = []
        for handle in self.handles.values():
            response = await self.answer(request, handle, b"")
            if response.status_code != 200:
                return response
            data += json.loads(response.body)["data"]
        return JSONResponse({"object": "list", "data": data})

    async def list_replicas(self, request: Any) -> Any:
        """For `wick route --serve`. Who has no key of the models, where they have some, is not told."""
        from starlette.responses import JSONResponse

        path = request.scope["path"]
        if self.replicas is None:
            message = "no model of this application is routed; set routed: true, or --ray-routed"
            return JSONResponse(_error(path, message, 404, "not_routed"), status_code=404)
        for handle in self.handles.values():
            response = await self.answer(request, handle, b"", b"/v1/models")
            if response.status_code != 200:
                return response
        try:
            replicas = await asyncio.wait_for(self.replicas.list.remote(), 5)
        except asyncio.TimeoutError:  # it is being started again, or the application ends
            replicas = None
        if replicas is None:
            return JSONResponse(_error(path, "the list is not complete yet", 503, "not_ready"), status_code=503, headers={"Retry-After": "1"})
        return JSONResponse({"replicas": replicas})

    async def answer(self, request: Any, handle: Any, body: bytes, asked: bytes | None = None) -> Any:
        """A model's response to a request, or to one for the path `asked` in its place."""
        from ray.exceptions import RayError  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from starlette.responses import JSONResponse, Response, StreamingResponse

        query = request.scope["query_string"]
        target = asked or (request.scope.get("raw_path") or request.scope["path"].encode()).split(b"?")[0] + (b"?" + query if query else b"")
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw if name not in _OF_CONNECTION]
        path = request.scope["path"]
        for _ in range(_TRIES):
            pieces = handle.remote(request.method, target.decode("latin-1"), fields, body)
            try:
                status, answered = await anext(pieces)
                length = next((int(value) for name, value in answered if name.lower() == b"content-length"), None)
                if length is None:
                    response = StreamingResponse(_stream(pieces, path, dict(answered)), status_code=status)
                else:
                    # Held until it is complete, so that it is never cut off.
                    response = Response(b"".join([piece async for piece in pieces]), status_code=status)
            except RayError:
                continue
            response.raw_headers = [(name.lower(), value) for name, value in answered if name.lower() not in (b"date", b"server")]
            return response
        return JSONResponse(_error(path, _LOST, 503, "replica_lost"), status_code=503, headers={"Retry-After": "1"})


def _model_in(body: bytes) -> str | None:
    """None for none, and for what is no object: any replica says what is wrong with it."""
    try:
        named = json.loads(body)["model"]
    except (ValueError, KeyError, TypeError):
        return None
    return named if isinstance(named, str) else None


def _error(path: str, message: str, status: int, code: str) -> dict[str, Any]:
    if path.startswith("/api/"):
        return {"error": message}
    if path.startswith("/v1/messages"):
        return {"type": "error", "error": {"type": "not_found_error" if status == 404 else "api_error", "message": message}}
    return {"error": {"message": message, "type": "invalid_request_error" if status == 404 else "server_error", "param": None, "code": code}}


async def _stream(pieces: Any, path: str, fields: Mapping[bytes, bytes]) -> AsyncIterator[bytes]:
    from ray.exceptions import RayError

    try:
        async for piece in pieces:
            yield piece
    except RayError:
        # The client has seen the beginning: an event of its API says that the rest will not come.
        text = json.dumps(_error(path, _LOST, 503, "replica_lost"))
        is_lines = not any(b"event-stream" in value for value in fields.values())
        named = "event: error\n" if path.startswith("/v1/messages") else ""
        yield (f"{text}\n" if is_lines else f"\n\n{named}data: {text}\n\n").encode()
    finally:
        pieces.cancel()


# --- The application ---


def _settled(name: str, given: Any) -> dict[str, Any]:
    """A model's settings with their defaults. Raises TypeError and ValueError."""
    place = f"wick.ray.app: models[{name!r}]"
    if isinstance(given, (str, os.PathLike)):
        given = {"model": given}
    if not isinstance(given, Mapping):
        raise TypeError(f"{place}: must be a model's path, or its settings: {', '.join(_DEFAULTS)}")
    if unknown := sorted(set(given) - set(_DEFAULTS)):
        raise TypeError(f"{place}: there is no setting {unknown[0]!r}; there are {', '.join(_DEFAULTS)}")
    if not name or not given.get("model"):
        raise ValueError(f"{place}: {'its path is missing: {}'.format(repr('model')) if name else 'a model needs a name'}")
    chosen = {**_DEFAULTS, **given}
    replicas = chosen["replicas"]
    least_and_most = [replicas, replicas] if isinstance(replicas, int) else list(replicas)
    if len(least_and_most) != 2 or not 1 <= least_and_most[0] <= least_and_most[1]:
        raise ValueError(f"{place}.replicas={replicas!r}: must be a number of replicas, or the least and the most of them")
    for setting, least in (("num_cpus", 0), ("num_gpus", 0), ("target_requests", 1), ("max_requests", 1), ("drain", 0)):
        if not isinstance(chosen[setting], (int, float)) or chosen[setting] < least:
            raise ValueError(f"{place}.{setting}={chosen[setting]!r}: must be a number of at least {least}")
    target_tokens = chosen["target_tokens"]
    if target_tokens is not None and (not isinstance(target_tokens, (int, float)) or target_tokens < 1):
        raise ValueError(f"{place}.target_tokens={target_tokens!r}: must be a number of at least 1")
    if not isinstance(chosen["routed"], bool):
        raise TypeError(f"{place}.routed={chosen['routed']!r}: must be true or false")
    if isinstance(chosen["flags"], str) or not all(isinstance(flag, str) for flag in chosen["flags"]):
        raise TypeError(f"{place}.flags: must be a list of texts, such as ['--context', '8192']")
    for flag in ("--host", "--port", "--unix-socket", "--tls-cert", "--tls-key"):
        if _has(chosen["flags"], flag):
            raise ValueError(f"{place}.flags: {flag}: replicas listen where wick.ray puts them; see routed")
    for setting, example in (("adapters", "{'legal': '/models/legal.gguf'}"), ("autoscaling", "{'downscale_delay_s': 60}"),
                             ("resources", "{'TPU': 1}")):
        if not isinstance(chosen[setting], Mapping):
            raise TypeError(f"{place}.{setting}: must be a mapping, such as {example}")
    if taken := sorted({"min_replicas", "max_replicas", "target_ongoing_requests"} & set(chosen["autoscaling"])):
        raise ValueError(f"{place}.autoscaling: {taken[0]} is said by replicas and target_requests")
    if chosen["autoscaling"] and least_and_most[0] == least_and_most[1]:
        raise ValueError(f"{place}.autoscaling: the number of replicas is fixed; replicas: [1, 8] lets it change")

    return {**chosen, "model": _absolute(chosen["model"]), "adapters": {one: _absolute(path) for one, path in chosen["adapters"].items()},
            "flags": list(chosen["flags"]), "replicas": tuple(least_and_most), "resources": dict(chosen["resources"])}


def _serve() -> Any:
    _ray()
    try:
        from ray import serve  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError(f"wick.ray.app needs Ray Serve, which is not installed here ({error}); pip install 'wick[ray]'") from None
    return serve


def app(models: Mapping[str, Any]) -> Any:
    """See wick.ray.app."""
    if not isinstance(models, Mapping) or not models:
        raise ValueError("wick.ray.app: models: name at least one, such as {'small': '/models/small.gguf'}")
    settled = {name: _settled(name, given) for name, given in models.items()}
    names = [one for name, settings in settled.items() for one in (name, *settings["adapters"])]
    if twice := next((one for one in names if names.count(one) > 1), None):
        raise ValueError(f"wick.ray.app: two models or adapters are called {twice!r}; give each its own name")
    serve = _serve()
    handles = {}
    if any(settings["routed"] for settings in settled.values()):
        handles["replicas"] = serve.deployment(name="replicas", ray_actor_options={"num_cpus": 0})(Replicas).bind()
    for i, (name, settings) in enumerate(settled.items()):
        least, most = settings["replicas"]
        # Serve would ignore it.
        if unknown := sorted(set(settings["autoscaling"]) - set(serve.config.AutoscalingConfig.model_fields)):
            raise TypeError(f"wick.ray.app: models[{name!r}].autoscaling: Ray Serve's AutoscalingConfig has no {unknown[0]!r}")
        count: dict[str, Any] = {"num_replicas": least} if least == most else {"autoscaling_config": {
            "min_replicas": least, "max_replicas": most, "target_ongoing_requests": settings["target_requests"], **_policy(settings),
            **settings["autoscaling"]}}
        deployment = serve.deployment(
            name=f"model-{i}-{''.join(c if c.isalnum() or c in '-_.' else '-' for c in name)}", max_ongoing_requests=int(settings["max_requests"]),
            health_check_period_s=_HEALTH_PERIOD, health_check_timeout_s=30,
            graceful_shutdown_timeout_s=settings["drain"] + (10 if settings["routed"] else 0),
            max_constructor_retry_count=_DEATHS_AT_LOAD,
            ray_actor_options={"num_cpus": settings["num_cpus"], "num_gpus": settings["num_gpus"], "resources": settings["resources"]},
            **count)(Replica)
        # What Serve changes in running replicas is no argument of them: those would be started again.
        own = {one: settings[one] for one in ("model", "flags", "adapters", "num_cpus", "num_gpus", "drain")}
        routed = [handles["replicas"]] if settings["routed"] else []
        handles[f"model_{i}"] = deployment.bind(name, own, _version(), *routed)
    entry = serve.deployment(name="entry", max_ongoing_requests=1024, ray_actor_options={"num_cpus": 0})(Entry)
    return entry.bind({name: list(settings["adapters"]) for name, settings in settled.items()}, **handles)


def _policy(settings: Mapping[str, Any]) -> dict[str, Any]:
    if not settings["routed"] and settings["target_tokens"] is None:
        return {}
    tokens = {} if settings["target_tokens"] is None else {"target_tokens": settings["target_tokens"]}
    return {"policy": {"policy_function": f"{__name__}:Scaling", "policy_kwargs": tokens}}


# --- wick serve --ray ---


def _parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, tuple[int, int], list[str]]:
    parser = _Parser(allow_abbrev=False, add_help=False)
    parser.add_argument("--ray", metavar="auto|ADDRESS", required=True)
    parser.add_argument("--ray-cpus", type=float, default=1)
    parser.add_argument("--ray-gpus", type=float, default=0)
    parser.add_argument("--ray-routed", action="store_true")
    parser.add_argument("--replicas", default="1")
    parser.add_argument("--model", "-m", required=True)
    parser.add_argument("--alias")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options, flags = parser.parse_known_args(arguments)
    least, dots, most = options.replicas.partition("..")
    if not least.isdigit() or (dots and not most.isdigit()):
        raise _Mistake(f"--replicas {options.replicas}: must be a number, or the least and the most: 1..8")
    guarded = any(flag.split("=")[0] in ("--api-key", "--api-key-file", "--insecure") for flag in flags)
    if options.host not in ("127.0.0.1", "localhost", "::1") and not guarded:
        raise _Mistake(f"--host {options.host}: others could reach it without a key; give --api-key-file FILE, or --insecure")
    for flag in ("--unix-socket", "--tls-cert", "--tls-key", "--models", "--batch-folder"):
        if any(one.split("=")[0] == flag for one in flags):
            raise _Mistake(f"{flag}: not with --ray; see docs/scale.md")
    return options, (int(least), int(most) if dots else int(least)), flags


def _command(arguments: Sequence[str]) -> int:
    options, replicas, flags = _parse(arguments)
    name = options.alias or os.path.splitext(os.path.basename(options.model.rstrip("/")))[0]
    built = app({name: {"model": options.model, "flags": flags, "replicas": replicas, "num_cpus": options.ray_cpus, "num_gpus": options.ray_gpus,
                         "routed": options.ray_routed}})
    ray, serve = _connect(options.ray), _serve()
    try:
        resources = {one: wanted for one, wanted in (("CPU", options.ray_cpus), ("GPU", options.ray_gpus)) if wanted}
        if missing := _missing(ray, replicas[0], "replica", resources):
            raise _Mistake(missing)
        if lacked := _not_on_all(ray, "a replica", resources, _on_all_nodes("model", _absolute(options.model))):
            raise _Mistake(lacked)
        serve.start(http_options={"host": options.host, "port": options.port})
        try:
            serve.run(built, name="wick", route_prefix="/", logging_config={"enable_access_log": False})
            print(f"wick serve: {name} at http://{options.host}:{options.port}, replicas: {options.replicas}; Ctrl-C ends it", file=sys.stderr,
                  flush=True)
            threading.Event().wait()
        except RuntimeError as error:
            status = serve.status().applications.get("wick")
            said = [one.message for one in status.deployments.values() if one.message] if status else []
            raise _Mistake("\n".join(said) or str(error)) from None
        finally:
            serve.delete("wick")
    finally:
        ray.shutdown()
    return 0


def command(arguments: Sequence[str]) -> int:
    """The command line after "serve"; the exit code."""
    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt  # not by SIGINT, which a background process may ignore

    signal.signal(signal.SIGTERM, stop)
    try:
        return _command(arguments)
    except (_Mistake, ImportError, TypeError, ValueError, OSError) as error:
        print(f"wick serve: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("wick serve: stopped", file=sys.stderr)
        return 0
