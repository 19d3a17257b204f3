#!/usr/bin/python3
"""Writes the files of this folder with NumPy and PyTorch, so that the readers are tested on what these libraries write.

usage: make_data.py [FIXTURES]
Needs Debian's python3-numpy and python3-torch. With the folder of the shared fixtures (../shared/data) it also writes
shared_tensors.tsv: what PyTorch and NumPy read from them.
"""
import argparse
import collections
import io
import os
import pathlib
import pickle
import struct
import sys
import tarfile
import zipfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent


def fnv1a(data):
    """The 64-bit FNV-1a hash, which a test computes in three lines."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


# --- npy and npz ------------------------------------------------------------------------------------------------------------


def npy_bytes(array, version=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


def write_npy():
    """Every array holds 0, 1, 2, … in row-major order, whatever its dtype, order and endianness."""
    folder = HERE / "npy"
    folder.mkdir(exist_ok=True)
    count = np.arange(6)
    for code in ("|u1", "|i1", "<u4", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8", ">u4", ">i2", ">i4", ">i8", ">f2", ">f4", ">f8"):
        name = code.replace("<", "little_").replace(">", "big_").replace("|", "")
        (folder / f"{name}.npy").write_bytes(npy_bytes(count.astype(code).reshape(2, 3)))
    (folder / "bool.npy").write_bytes(npy_bytes((count % 2 == 1).reshape(2, 3)))
    cube = np.arange(24, dtype="<i4").reshape(2, 3, 4)
    (folder / "fortran.npy").write_bytes(npy_bytes(np.asfortranarray(cube)))
    (folder / "big_fortran.npy").write_bytes(npy_bytes(np.asfortranarray(cube.astype(">i2"))))
    (folder / "scalar.npy").write_bytes(npy_bytes(np.array(7, dtype="<f4")))
    (folder / "empty.npy").write_bytes(npy_bytes(np.zeros((3, 0), dtype="<f4", order="F")))
    (folder / "version2.npy").write_bytes(npy_bytes(count.astype("<i8"), (2, 0)))
    (folder / "version3.npy").write_bytes(npy_bytes(count.astype("<i8"), (3, 0)))
    refused = HERE / "npy_refused"
    refused.mkdir(exist_ok=True)
    for code in ("<u2", "<u8", "<f16", "<c8", "<c16", "S3", "<U3", "<M8[s]", "<m8[s]", "V2"):
        name = code.strip("<").replace("[", "_").replace("]", "")
        (refused / f"{name}.npy").write_bytes(npy_bytes(np.zeros(2, dtype=code)))
    (refused / "structured.npy").write_bytes(npy_bytes(np.zeros(2, dtype=[("a", "<f4"), ("b", "<i8")])))
    (refused / "unicode_fields.npy").write_bytes(npy_bytes(np.zeros(2, dtype=[("é", "<f4")]), (3, 0)))
    (refused / "object.npy").write_bytes(npy_bytes(np.array([None, {}], dtype=object)))


def write_npz():
    folder = HERE / "npz"
    folder.mkdir(exist_ok=True)
    arrays = {"x": np.arange(6, dtype="<i8").reshape(2, 3), "layer.weight": np.arange(300, dtype="<f4"),
              "fortran": np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4))}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    content = npy_bytes(arrays["x"])
    with zipfile.ZipFile(folder / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("x.npy", content)
    with zipfile.ZipFile(folder / "lzma.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", content)
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(folder / "twice.npz", "w") as archive:
            archive.writestr("x.npy", content)
            archive.writestr("x.npy", content)
    # A folder, an entry that is no array, and a comment at the end.
    with zipfile.ZipFile(folder / "others.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", b"")
        archive.writestr("readme.txt", b"no array")
        archive.writestr("folder/x.npy", content)
        archive.comment = b"PK\x05\x06 a comment"
    # A stream that cannot seek back: sizes and CRC follow the data.
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.data = bytearray()

        def writable(self):
            return True

        def write(self, data):
            self.data += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    (folder / "streamed.npz").write_bytes(pipe.data)
    # zipfile writes zip64 only where it must: let it think that it must.
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 0
    with zipfile.ZipFile(folder / "zip64.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", npy_bytes(array))
    zipfile.ZIP64_LIMIT = limit
    # Encrypted entries carry a flag, locally and in the directory.
    encrypted = bytearray((folder / "streamed.npz").read_bytes())
    encrypted[6] |= 1
    encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
    (folder / "encrypted.npz").write_bytes(encrypted)


# --- PyTorch ----------------------------------------------------------------------------------------------------------------


class Unknown:
    """A class that no reader knows."""

    def __init__(self):
        self.weight = torch.ones(3)
        self.rate = 0.5


def state_dict():
    base = torch.arange(24, dtype=torch.float32)
    matrix = base.reshape(4, 6)
    return collections.OrderedDict(
        [
            ("plain", matrix.clone()),
            ("transposed", matrix.t()),  # 6 x 4, strides 1 and 6
            ("window", matrix[1:3, 2:5]),  # the same storage, offset 8
            ("expanded", base[5:6].expand(3, 4)),  # strides 0
            ("permuted", base.reshape(2, 3, 4).permute(2, 0, 1)),
            ("channels_last", torch.arange(48.0).reshape(2, 3, 2, 4).contiguous(memory_format=torch.channels_last)),
            ("scalar", torch.tensor(3.5)),
            ("empty", torch.zeros(0, 3)),
            ("parameter", torch.nn.Parameter(base[:6].reshape(2, 3).clone())),
        ]
    )


def dtypes():
    values = torch.tensor([0, 1, 2, 3, 100], dtype=torch.int64)
    tensors = {str(dtype).removeprefix("torch."): values.to(dtype)
               for dtype in (torch.uint8, torch.int16, torch.int32, torch.int64, torch.bfloat16, torch.float16, torch.float32,
                             torch.float64)}
    tensors["bool"] = torch.tensor([True, False, True])
    return tensors


def refused_tensors():
    return {
        "good": torch.arange(3.0),
        "int8": torch.tensor([1, -1], dtype=torch.int8),  # not refused
        "complex64": torch.tensor([1j]),
        "quantized": torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.1, 0, torch.qint8),
        "sparse": torch.eye(2).to_sparse(),
    }


def checkpoint():
    """As Lightning writes it: hyper parameters of unknown classes, optimizer state, numbers, and the tensors."""
    weight = torch.arange(6.0).reshape(2, 3)
    return {
        "epoch": 3,
        "big": 1 << 80,
        "loss": -0.25,
        "name": "é",
        "bytes": b"\x00\xff",
        "none": None,
        "flags": (True, False),
        "set": {1, 2},
        "complex": 1 + 2j,
        "hyper_parameters": argparse.Namespace(rate=1e-3, device=torch.device("cpu"), path=pathlib.PurePosixPath("a/b")),
        "callbacks": {Unknown: Unknown()},
        "numpy": np.float64(1.5),
        "array": np.arange(3),
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "defaults": collections.defaultdict(list, {"steps": [1, 2]}),
        "state_dict": collections.OrderedDict([("layer.weight", weight), ("layer.bias", torch.tensor([0.5, -0.5])),
                                               ("tied", weight)]),
        "optimizer_states": [{"state": {0: {"step": 7, "exp_avg": torch.full((2,), 0.25)}}, "param_groups": [{"lr": 0.1}]}],
    }


def repack(source, target, method):
    """The same archive with its entries packed otherwise."""
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w", method) as write:
        for entry in read.infolist():
            write.writestr(entry.filename, read.read(entry))


def write_zip(path, prefix, pickled, storages, byteorder=b"little"):
    """A zip file as newer versions of PyTorch write it, from a pickle made by hand."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{prefix}/data.pkl", pickled)
        if byteorder is not None:
            archive.writestr(f"{prefix}/byteorder", byteorder)
        for key, data in storages.items():
            archive.writestr(f"{prefix}/data/{key}", data)
        archive.writestr(f"{prefix}/version", b"3\n")


def pickled_tensors(rebuild, storage_class, tensors):
    """{name: rebuild(persistent id, *arguments)}; `tensors`: name to (key, elements, arguments). Protocol 2."""

    def text(value):
        data = value.encode()
        return b"X" + struct.pack("<I", len(data)) + data

    def value(item):
        if item is None:
            return b"N"
        if item is True or item is False:
            return b"\x88" if item else b"\x89"
        if isinstance(item, int):
            return b"J" + struct.pack("<i", item)
        if isinstance(item, tuple):
            return b"(" + b"".join(map(value, item)) + b"t"
        if isinstance(item, bytes):  # a global
            return b"c" + item
        raise TypeError(item)

    body = b"\x80\x02}("
    for name, (key, elements, arguments) in tensors.items():
        storage = b"(" + text("storage") + b"c" + storage_class + text(key) + text("cpu") + value(elements) + b"tQ"
        body += text(name) + b"c" + rebuild + b"(" + storage + b"".join(map(value, arguments)) + b"tR"
    return body + b"u."


def write_legacy_tar(path):
    """The format of PyTorch before 0.1.10: a tar archive of pickles."""

    def entry(archive, name, data):
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))

    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        entry(archive, "storages", pickle.dumps(1, 2))
        entry(archive, "tensors", pickle.dumps(0, 2))
        entry(archive, "pickle", pickle.dumps({}, 2))
    os.truncate(path, 3 * 1024 + 1024)  # the entries and the two empty blocks behind them


def write_pytorch():
    folder = HERE / "pytorch"
    folder.mkdir(exist_ok=True)
    for name, value in (("state_dict", state_dict()), ("dtypes", dtypes()), ("refused", refused_tensors()), ("checkpoint", checkpoint())):
        torch.save(value, folder / f"{name}.pt")
        torch.save(value, folder / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(state_dict(), folder / "protocol4.pt", pickle_protocol=4)
    torch.save(state_dict(), folder / "protocol5_legacy.pt", pickle_protocol=5, _use_new_zipfile_serialization=False)
    torch.save(torch.arange(4.0), folder / "tensor.pt")
    torch.save([torch.arange(2.0), (torch.arange(3), {"x": torch.ones(1)})], folder / "list.pt")
    torch.save(torch.nn.Linear(2, 1), folder / "module.pt")
    torch.save({}, folder / "nothing.pt")
    cycle = {"weight": torch.ones(2)}
    cycle["self"] = cycle
    torch.save(cycle, folder / "cycle.pt")
    torch.save({"a": {"b": torch.ones(1)}, "a.b": torch.zeros(1)}, folder / "same_name.pt")
    repack(folder / "state_dict.pt", folder / "deflated.pt", zipfile.ZIP_DEFLATED)
    write_legacy_tar(folder / "tar.pt")
    # What torch 1.13 cannot write: _rebuild_tensor_v3 over untyped storages for the newer dtypes.
    tensors = {
        "f8": ("0", 4, (0, (2, 2), (2, 1), False, None, b"torch\nfloat8_e4m3fn\n", None)),
        "u32": ("1", 8, (0, (2,), (1,), False, None, b"torch\nuint32\n", None)),
        "f8e5m2": ("0", 4, (0, (4,), (1,), False, None, b"torch\nfloat8_e5m2\n", None)),
    }
    pickled = pickled_tensors(b"torch._utils\n_rebuild_tensor_v3\n", b"torch.storage\nUntypedStorage\n", tensors)
    storages = {"0": bytes([0x38, 0x40, 0xB8, 0x7E]), "1": struct.pack("<2I", 1, 0xFFFFFFFF)}
    write_zip(folder / "version3.pt", "version3", pickled, storages)
    pickled = pickled_tensors(b"torch._utils\n_rebuild_tensor_v2\n", b"torch\nFloatStorage\n", {"x": ("0", 1, (0, (1,), (1,), False, None))})
    write_zip(folder / "big_endian.pt", "big", pickled, {"0": struct.pack(">f", 1)}, b"big")
    write_zip(folder / "no_storage.pt", "none", pickled, {})
    write_zip(folder / "small_storage.pt", "small", pickled, {"0": b"\0\0\0"})
    pickled = pickled_tensors(b"torch._utils\n_rebuild_tensor_v2\n", b"torch\nFloatStorage\n", {"x": ("0", 4, (1, (2, 2), (2, 1), False, None))})
    write_zip(folder / "beyond_storage.pt", "beyond", pickled, {"0": bytes(16)})
    # A pickle that would run a command if anybody ran it.
    pickled = b"\x80\x02}X\x01\x00\x00\x00xcposix\nsystem\nX\x07\x00\x00\x00touch /\x85Rs."
    write_zip(folder / "hostile.pt", "hostile", pickled, {})


# --- what the libraries read from the shared fixtures -----------------------------------------------------------------------


def line(path, name, tensor):
    """File, tensor, dtype, shape, and the hash of the elements in row-major order; separated by tabs."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    flat = tensor.detach().contiguous().reshape(-1)
    data = flat.view(torch.int16).numpy().tobytes() if tensor.dtype == torch.bfloat16 else flat.numpy().tobytes()
    return "\t".join([path, name, dtype, str(list(tensor.shape)), fnv1a(data)])


def tensors_below(value, path, found):
    if torch.is_tensor(value):
        found[".".join(path)] = value
    elif isinstance(value, dict):
        for key, inner in value.items():
            tensors_below(inner, path + [str(key)], found)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            tensors_below(inner, path + [str(index)], found)


def read_file(path):
    if path.suffix in (".pt", ".pth"):
        return torch.load(path, map_location="cpu")
    if path.suffix == ".npz":
        return {name: torch.from_numpy(array) for name, array in np.load(path).items()}
    return torch.from_numpy(np.load(path))


def write_expectations(shared):
    lines = []
    for folder in ("fixtures/burn-pt", "fixtures/candle", "mnist"):
        for path in sorted((shared / folder).iterdir()):
            if path.suffix not in (".pt", ".pth", ".npy", ".npz"):
                continue
            name = f"{folder}/{path.name}"
            found = {}
            try:
                tensors_below(read_file(path), [], found)
            except pickle.UnpicklingError:
                lines.append(f"{name}\t\tbroken\t\t")
            lines += [line(name, *item) for item in found.items()]
    (HERE / "shared_tensors.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    torch.manual_seed(0)
    os.chdir(HERE)
    write_npy()
    write_npz()
    write_pytorch()
    if len(sys.argv) > 1:
        write_expectations(pathlib.Path(sys.argv[1]))
