"""What the training baselines in PyTorch share: modes of torch.compile, an update as a CUDA graph, times."""
import time

import torch

# What --mode asks torch.compile for. Its own graphs are off: on a GPU the whole update is one.
MODES = {"eager": None, "compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}


def is_captured(args):
    """Mode eager is PyTorch as it comes."""
    return args.device == "cuda" and args.mode != "eager"


def capture(update, clear):
    """The replay of `update` as a CUDA graph, after three updates on a stream of their own, as graphs want it. `clear` takes
    away the gradients: those of the graph lie in its own memory."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            clear()
            update()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    clear()
    with torch.cuda.graph(graph):
        update()
    return graph.replay


def median(times):
    return sorted(times)[len(times) // 2]


def time_on_gpu(call, seconds):
    events = [torch.cuda.Event(enable_timing=True)]
    events[0].record()
    end = time.perf_counter() + seconds
    while len(events) < 2 or time.perf_counter() < end:
        call()
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()
        if len(events) % 4 == 0:
            events[-3].synchronize()  # not further ahead of the GPU
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in zip(events, events[1:])]


def time_on_cpu(call, seconds):
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def time_calls(call, args):
    """Milliseconds of each call after --warmup of them: by events on a GPU."""
    for _ in range(args.warmup):
        call()
    return (time_on_gpu if args.device == "cuda" else time_on_cpu)(call, args.seconds)


def device_name(args):
    return torch.cuda.get_device_name() if args.device == "cuda" else "cpu"
