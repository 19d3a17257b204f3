"""A cluster of Ray with several nodes on this machine, for check_ray and check_ray_serve: the cases, and where they run.

Everything runs in namespaces of its own: nothing listens on the machine's interfaces, and no process stays.
"""
import contextlib
import ctypes
import functools
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/novelist-20m-q8_0.gguf"
# With 127.0.0.1 alone Ray's nodes do not find each other.
ADDRESS = "10.77.0.1"
LOAD = {"deterministic": True, "context": 256}
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def in_namespaces(*command):
    """The command with a network of lo and one address, processes and mounts of its own."""
    own = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    own += [] if os.geteuid() == 0 else ["--map-root-user"]
    return [*own, "sh", "-c", f'ip link set lo up && ip address add {ADDRESS}/24 dev lo && exec "$@"', "sh", *map(str, command)]


def skipped(why):
    print(f"skipped: {why}\n0 passed, 0 failed, {len(CASES)} skipped")


def environment(folder, package):
    """Of the processes in the namespaces."""
    return {**os.environ, "WICK_CHECK_RAY": str(folder), "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0",
            "RAY_raylet_start_wait_time_s": "300", "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60", "RAY_worker_niceness": "0",
            "RAY_TMPDIR": str(folder), "PYTHONPATH": str(package)}


def start_inside(program, python, package, cases):
    if subprocess.run([python, "-c", "import ray.data, ray.serve, openai"], capture_output=True, check=False).returncode != 0:
        return skipped(f"{python} lacks the package ray or openai")
    if (run := subprocess.run(in_namespaces("true"), capture_output=True, text=True, check=False)).returncode != 0:
        return skipped(f"no namespaces can be made here: {run.stderr.strip()}")
    with tempfile.TemporaryDirectory(prefix="wick-ray-", ignore_cleanup_errors=True) as folder:
        # All processes inside end with the first one, and that with this one.
        sys.exit(subprocess.run(in_namespaces(python, program, python, package, *cases), env=environment(folder, package), check=False,
                                preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)).returncode)


@functools.cache
def local_model():
    import wick
    return wick.load(MODEL, device=wick.Device("cpu", threads=1), **LOAD)


class Cluster:
    """A head that computes nothing, and further nodes with a place for an actor each."""

    def __init__(self, nodes, **head):
        import logging

        import ray
        from ray.cluster_utils import Cluster as Nodes
        self.store = 100 << 20
        self.folder = pathlib.Path(os.environ["WICK_CHECK_RAY"])
        self.nodes = Nodes(initialize_head=True, head_node_args={
            "node_ip_address": ADDRESS, "num_cpus": 2, "object_store_memory": self.store, **head})
        self.workers = [self.add(resources={"place": 1}) for _ in range(nodes)]
        ray.init(address=self.nodes.address, _node_ip_address=ADDRESS, log_to_driver=False, logging_level="error")
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)

    def add(self, **options):
        return self.nodes.add_node(node_ip_address=ADDRESS, object_store_memory=self.store, **{"num_cpus": 1, **options})

    @contextlib.contextmanager
    def node_without(self, folder, name, **resources):
        """A further node, with this host name, on which the folder is empty, until the block ends."""
        import ray
        # Mounts and host name are of its processes alone.
        own = ["unshare", "--mount", "--uts", "sh", "-c", 'mount -t tmpfs none "$0" && hostname "$1" && shift && exec "$@"', folder, name]
        start = [pathlib.Path(sys.executable).parent / "ray", "start", "--block", "--address", self.nodes.address, "--node-ip-address", ADDRESS,
                 "--num-cpus", 1, "--object-store-memory", self.store, "--resources", json.dumps(resources)]
        with open(self.folder / name, "w") as log:
            process = subprocess.Popen([str(one) for one in (*own, *start)], stdout=log, stderr=log)

        def is_there():
            return any(node["Alive"] and node["NodeManagerHostname"] == name for node in ray.nodes())

        try:
            end = time.monotonic() + 120
            while not is_there():
                assert time.monotonic() < end and process.poll() is None, (self.folder / name).read_text()
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait(60)
            while is_there():
                time.sleep(0.1)


def raises(call, *parts):
    """Asserts that the call raises an error that says all of this."""
    try:
        call()
    except Exception as error:
        assert all(part in str(error) for part in parts), error
    else:
        raise AssertionError("nothing was raised")
    # What the error's frames hold keeps the actors of Ray Data, and their places.
    gc.collect()


def main(program, nodes, **head):
    """Runs the cases that the command line names, or all, of the program whose file this is; `head`: options of the head node."""
    if "WICK_CHECK_RAY" not in os.environ:
        return start_inside(program, *sys.argv[1:3], sys.argv[3:])
    # A shell's background process ignores it, and so would the programs that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = sys.argv[3:] or list(CASES)
    cluster = Cluster(nodes, **{"include_dashboard": False, **head})
    passed = failed = 0
    for name in chosen:
        begin = time.monotonic()
        try:
            CASES[name](cluster)
            passed += 1
            print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
        except Exception:  # the other cases run all the same
            print(name, flush=True)
            traceback.print_exc()
            failed += 1
    import ray
    ray.shutdown()
    cluster.nodes.shutdown()
    print(f"{passed} passed, {failed} failed, 0 skipped", flush=True)
    sys.exit(1 if failed else 0)
