"""Compares functions of a network that ONNX Runtime computes with what cumind computes. Started by `cumind export --check`.

arguments: EXAMPLES (safetensors, arrays "FUNCTION.PORT"), the largest difference that may be, the largest median of an output's
differences, files FUNCTION.onnx. Prints a line for each file. A difference is that of two numbers by the larger of 1 and the second.
Status 3: there is no ONNX Runtime; 4: a file is beyond a limit."""

import sys

sys.path[:] = [path for path in sys.path if path]  # nothing of the folder that the program was started in is run

import json
import pathlib

BATCHES = (1, 7, 64)

try:
    import numpy as np
    import onnxruntime
except ImportError:
    sys.exit(3)


def read_arrays(path):
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start]).items()
    return {
        name: np.frombuffer(data, "<f4", int(np.prod(entry["shape"])), start + entry["data_offsets"][0]).reshape(entry["shape"])
        for name, entry in entries
    }


def difference(session, arrays, function):
    """The largest of all outputs for all batches, and the largest median of an output's; NaN if one is."""
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(uint8)": np.uint8}
    found = {port.name: [] for port in session.get_outputs()}
    for batch in BATCHES:
        feeds = {port.name: arrays[f"{function}.{port.name}"][:batch].astype(types[port.type]) for port in session.get_inputs()}
        for port, got in zip(session.get_outputs(), session.run(None, feeds), strict=True):
            want = arrays[f"{function}.{port.name}"][:batch]
            same = got.shape == want.shape
            apart = np.abs(got - want) / np.maximum(1.0, np.abs(want)) if same else np.full(1, np.inf)
            found[port.name].append(apart.ravel())
    outputs = [np.concatenate(parts) for parts in found.values()]
    return np.max([(output.max(), np.median(output)) for output in outputs], axis=0)


def main(examples, most, median, *files):
    arrays = read_arrays(examples)
    failed = False
    for path in files:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        found = difference(session, arrays, pathlib.Path(path).stem)
        failed = failed or not np.all(found <= (float(most), float(median)))
        print(f"{path}: differs by {found[0]:.1e} at most, {found[1]:.1e} in the median", flush=True)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
