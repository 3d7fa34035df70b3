"""Compiles the forward kernels of records with nvcc, runs them on a GPU and compares what they write.

Usage: gpu_check.py DATASET [COUNT]. Inputs and launches are made from the record alone, with the CUDA driver's
functions; the expected values are the interpreter's. Exits with 77 where there is no nvcc or GPU.
"""

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import causeway as cw
import numpy as np
from records import array_of, difference, tolerance_of

NVCC = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
BLOCK = 128


class Driver:
    """The CUDA driver; every call raises an error unless it returns 0."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.cuInit(0)
        context = ctypes.c_void_p()
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            status = function(*arguments)
            if status != 0:
                raise RuntimeError(f"{name} returned {status}")

        return call


class DeviceArray:
    def __init__(self, driver, host):
        self.driver, self.host = driver, np.ascontiguousarray(host)
        self.pointer = ctypes.c_uint64()
        size = max(self.host.nbytes, 1)
        driver.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(size))
        driver.cuMemcpyHtoD_v2(self.pointer, self.host.ctypes.data_as(ctypes.c_void_p),
                               ctypes.c_size_t(self.host.nbytes))  # fmt: skip

    def download(self):
        found = np.empty_like(self.host)
        self.driver.cuMemcpyDtoH_v2(found.ctypes.data_as(ctypes.c_void_p), self.pointer,
                                    ctypes.c_size_t(found.nbytes))  # fmt: skip
        self.driver.cuMemFree_v2(self.pointer)
        return found


def signature(record):
    """The names of the kernel's parameters."""
    pattern = rf'extern "C" __global__ void {record["metadata"]["kernel"]}\((.*?)\) {{'
    return [item.rsplit(" ", 1)[1] for item in re.search(pattern, record["cuda_forward"])[1].split(", ")]


def arguments_of(record, launch, place_array):
    """The bytes of every argument; place_array(name, values) returns the address of an array."""
    given = {}
    for i, parameter in enumerate(launch["parameters"]):
        made = array_of(parameter, i, launch)
        is_array = "shape" in parameter
        given[parameter["name"]] = np.uint64(place_array(parameter["name"], made)) if is_array else made
        for d, extent in enumerate(parameter.get("shape", ())):
            given[f"{parameter['name']}_shape{d}"] = np.int32(extent)
    names = ["dim"] if len(launch["dim"]) == 1 else ["dim_x", "dim_y", "dim_z", "dim_w"]
    given.update(zip(names, map(np.int32, launch["dim"])))
    # A name that CUDA has already ends in "_".
    return [given[name if name in given else name.rstrip("_")].tobytes() for name in signature(record)]


def compiled(record):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.cu")
        source.write_text(record["cuda_forward"])
        cubin = Path(folder, "kernel.cubin")
        subprocess.run([NVCC, "-arch=native", "-fmad=false", "-cubin", "-w", "-o", cubin, source], check=True)
        return cubin.read_bytes()


def worst_difference(driver, record, code):
    """The largest relative difference over all launches."""
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuModuleLoadData(ctypes.byref(module), code)
    driver.cuModuleGetFunction(ctypes.byref(kernel), module, record["metadata"]["kernel"].encode())
    worst = 0.0
    for k, launch in enumerate(record["inputs"]):
        arrays = {}

        def place(name, made, arrays=arrays):
            arrays[name] = DeviceArray(driver, made)
            return arrays[name].pointer.value

        values = [ctypes.create_string_buffer(raw, len(raw)) for raw in arguments_of(record, launch, place)]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        blocks = max(1, -(-math.prod(launch["dim"]) // BLOCK))
        driver.cuLaunchKernel(kernel, blocks, 1, 1, BLOCK, 1, 1, 0, None, addresses, None)
        driver.cuCtxSynchronize()
        expected = cw.pairs.run(record, k)
        for parameter in launch["parameters"]:
            if "shape" not in parameter:
                continue
            found = arrays[parameter["name"]].download()
            if parameter.get("output"):
                worst = max(worst, difference(found, expected[parameter["name"]]))
    driver.cuModuleUnload(module)
    return worst


def main():
    if NVCC is None or shutil.which("nvidia-smi") is None:
        print("nvcc or a GPU is missing")
        return 77
    records = cw.pairs.read(sys.argv[1])[: int(sys.argv[2]) if len(sys.argv) > 2 else None]
    driver = Driver()
    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for record, code in zip(records, pool.map(compiled, records)):
            worst = worst_difference(driver, record, code)
            if worst > tolerance_of(record):
                wrong += 1
                print(record["metadata"]["id"], record["metadata"]["category"], f"differs by {worst:.2g}")
    print(f"{len(records) - wrong} of {len(records)} records agree on the GPU")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
