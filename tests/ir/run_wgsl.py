#!/usr/bin/env python3
"""Runs WGSL kernels with wgpu (PyPI) on whatever adapter there is, a software one included.

    run_wgsl.py --check        exit 0 if wgpu and an adapter with subgroups and f16 are there, 77 with the reason if not
    run_wgsl.py FOLDER         FOLDER/<i>.json names text, entry, grid and parameters, FOLDER/<i>.<b>.in are the buffers' bytes; writes
                               FOLDER/<i>.<b>.out, and prints a line for each kernel that is refused
"""
import json
import pathlib
import sys

SKIP = 77


def open_device():
    try:
        import wgpu
    except ImportError as error:
        return None, None, f"no wgpu: {error}"
    wanted = ["shader-f16", "subgroup"]
    try:
        adapters = wgpu.gpu.enumerate_adapters_sync()
    except Exception as error:  # noqa: BLE001: whatever a missing driver says
        return None, None, f"no adapter: {error}"
    for adapter in adapters:
        if adapter.info["backend_type"] == "Vulkan" and all(feature in adapter.features for feature in wanted):
            device = adapter.request_device_sync(required_features=wanted, required_limits={})
            return wgpu, device, ""
    return None, None, "no Vulkan adapter with f16 and subgroups"


def run(wgpu, device, folder, index):
    case = json.loads((folder / f"{index}.json").read_text())
    # Naga has subgroup operations without the directive that the specification asks for, and refuses it.
    text = case["text"].replace("enable subgroups;\n", "")
    module = device.create_shader_module(code=text)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": case["entry"]})
    if case["buffers"] == 0:
        return  # compiled, and that is all
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffers = [device.create_buffer_with_data(data=(folder / f"{index}.{b}.in").read_bytes(), usage=usage) for b in range(case["buffers"])]
    bound = list(buffers)
    if case["parameters"]:
        words = b"".join(word.to_bytes(4, "little") for word in case["parameters"])
        bound.append(device.create_buffer_with_data(data=words, usage=wgpu.BufferUsage.UNIFORM))
    entries = [{"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}} for i, b in enumerate(bound)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, group)
    compute.dispatch_workgroups(*case["grid"])
    compute.end()
    device.queue.submit([encoder.finish()])
    for b, buffer in enumerate(buffers):
        (folder / f"{index}.{b}.out").write_bytes(device.queue.read_buffer(buffer))


def main():
    wgpu, device, reason = open_device()
    if device is None:
        print(reason)
        return SKIP
    if sys.argv[1] == "--check":
        print(device.adapter.info["subgroup_min_size"] if "subgroup_min_size" in device.adapter.info else 0)
        return 0
    folder = pathlib.Path(sys.argv[1])
    refused = 0
    for index in range(len(list(folder.glob("*.json")))):
        try:
            run(wgpu, device, folder, index)
        except Exception as error:  # noqa: BLE001: every refusal is a finding
            refused += 1
            name = json.loads((folder / f"{index}.json").read_text())["entry"]
            print(f"{name}: {str(error)[:1500]}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
