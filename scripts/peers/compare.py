"""Measures cumind against its baselines on this machine, interleaved (A-B-A-B-A), and prints the ratios of the medians.

usage: compare.py --cumind build/cumind [--rounds 3] [--seconds 3] [--json FILE] [--only search|sizes|train|pictures|tree|package|gpu]

Comparisons on a GPU ("gpu ...") are made only if --only asks for them; with --small they are made in small on the CPU, which
shows that both sides run and have as many parameters, and no more. A baseline that is not done --limit seconds after the start
has no figure, and the status is 1.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
SEARCH = ["--batch", "256", "--simulations", "50", "--actions", "2", "--observation", "4", "--hidden", "128"]
TRAIN = ["--batch", "256", "--unroll", "5", "--actions", "2", "--observation", "4", "--hidden", "128"]
TREE = ["--batch", "256", "--simulations", "50"]


def rows():
    """(name, key of the figure, what cumind runs, what the baseline runs, ratio to reach) of every comparison. Figures in ns or us
    are the better the smaller they are. In place of a baseline there may be a figure to be reached."""
    for actions, goal in ((2, 6.3), (7, 6.9), (18, 11.3), (82, 21.9)):
        size = [*TREE, "--actions", str(actions)]
        yield f"tree {actions} actions / C++ nodes and maps", "ns_per_simulation", ["tree", *size], ["map_tree", *size], goal
    for policy in ("gumbel_muzero", "muzero"):
        for dtype, goal in (("float32", 2.5), ("bfloat16", 3.5)):
            yield (f"search {policy} {dtype} / mctx float32", "simulations_per_second",
                   ["search", *SEARCH, "--policy", policy, "--dtype", dtype],
                   ["mctx_search.py", *SEARCH, "--policy", policy], goal)
    for policy in ("gumbel_muzero", "muzero"):
        for actions in (2, 7, 82):
            for batch, goal in ((1, 1.0), (64, 3.0), (256, 3.0), (1024, 3.0)):
                size = ["--batch", str(batch), "--actions", str(actions), "--simulations", "50", "--observation", "4",
                        "--hidden", "128", "--policy", policy]
                yield (f"sizes {policy} {actions} actions, {batch} roots / mctx", "simulations_per_second",
                       ["search", *size], ["mctx_search.py", *size], goal)
    for dtype in ("float32", "bfloat16"):
        for mode, goal in (("eager", 3.0), ("compile", 2.0)):
            yield (f"train {dtype} / torch {mode}", "samples_per_second",
                   ["train", *TRAIN, "--dtype", dtype],
                   ["torch_train.py", *TRAIN, "--dtype", dtype, "--mode", mode], goal)
    yield from picture_rows()
    yield from package_rows()


def picture_rows():
    """Residual networks on Atari's pictures, in training; baselines compute on channels last."""
    for dtype in ("float32", "bfloat16"):
        size = ["--batch", "128", "--dtype", dtype]
        yield (f"pictures {dtype} / torch compile", "samples_per_second",
               ["train", "--network", "configured", "--config", "atari100k_c", *size],
               ["torch_resnet.py", "--preset", "atari", "--device", "cpu", "--mode", "compile", *size], 1.5)


def package_rows():
    """Of the package for Python; searches by the least time of the processors, which other work on them lengthens least."""
    for policy in ("gumbel_muzero", "muzero"):
        for actions in (2, 82):
            size = [*TREE, "--actions", str(actions), "--hidden", "128", "--policy", policy]
            yield (f"package {policy} {actions} actions, torch / mctx", "simulations_per_processor_second",
                   ["torch_search.py", *size], ["mctx_search.py", "--network", "mlp", *size], 3.0)
            yield (f"package {policy} {actions} actions, us a call", "us_besides_model",
                   ["torch_search.py", "--constant", *size], 20.0, 1.0)
    envs = ["--envs", "1024"]
    yield "package CartPole steps", "steps_per_second", ["vector_steps.py", "cumind", *envs], 20e6, 1.0
    for side in ("gymnasium", "sync"):
        yield (f"package CartPole / {side} vector", "steps_per_second", ["vector_steps.py", "cumind", *envs],
               ["vector_steps.py", side, *envs], 20.0)


def gpu_rows(small):
    """At sizes that fill a GPU."""
    own, baseline = (["--backend", "cpu"], ["--device", "cpu"]) if small else (["--backend", "cuda"], ["--device", "cuda"])
    modes = ["eager"] if small else ["compile", "max-autotune"]
    yield from gpu_search_rows(own, baseline, small)
    for mode in modes:
        yield from gpu_update_rows(own, [*baseline, "--mode", mode], small)
    less = ["--batch", "2", "--simulations", "2"]
    yield ("gpu go self-play bfloat16 / mctx and pgx", "env_steps_per_second",
           ["act", "--network", "configured", "--config", str(TOP / "scripts/gpu/go9_6x96.json"), "--dtype", "bfloat16", "--batch",
            "1024", "--simulations", "32", *own, *small * [*less, "--set", "num_blocks=1", "--set", "conv_channels=8"]],
           ["pgx_go.py", "--batch", "1024", "--simulations", "32", *baseline,
            *small * [*less, "--blocks", "1", "--channels", "8", "--moves", "1", "--candidates", "2"]], 1.0)


def gpu_search_rows(own, baseline, small):
    size = [*SEARCH, "--batch", "1024", *small * ["--batch", "2", "--simulations", "2"]]
    for policy in ("gumbel_muzero", "muzero"):
        for dtype in ("float32", "bfloat16"):
            yield (f"gpu search {policy} {dtype} / mctx float32", "simulations_per_second",
                   ["search", *size, "--policy", policy, "--dtype", dtype, *own],
                   ["mctx_search.py", *size, "--policy", policy, *baseline], 10.0)


def gpu_update_rows(own, baseline, small):
    """Whole updates; `baseline` ends in the mode."""
    mode = baseline[-1]
    for dtype in ("float32", "bfloat16"):
        size = [*TRAIN, "--batch", "2" if small else "1024", "--dtype", dtype]
        yield (f"gpu mlp / torch {mode} {dtype}", "samples_per_second", ["train", *size, *own], ["torch_train.py", *size, *baseline], 1.0)
    for preset, config, batch in (("connect4", "scripts/gpu/connect4_6x128.json", 1024), ("go", "scripts/gpu/go9_10x128.json", 1024),
                                  ("atari", "configs/atari100k_b.json", 256)):
        size = ["--batch", "2" if small else str(batch), "--dtype", "bfloat16"]
        yield (f"gpu {preset} / torch {mode} bfloat16", "samples_per_second",
               ["train", "--network", "configured", "--config", str(TOP / config), *size, *own,
                *small * ["--set", "num_blocks=1", "--set", "conv_channels=8"]],
               ["torch_resnet.py", "--preset", preset, *size, *baseline, *small * ["--blocks", "1", "--channels", "8"]], 1.0)


def measure(command, end=None):
    """What a program prints; a number is a figure to be reached. None: it was not done by `end`."""
    if not isinstance(command, list):
        return command
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=end and max(end - time.monotonic(), 1))
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        sys.exit(f"compare.py: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def own_command(own, args):
    if own[0].endswith(".py"):
        return [sys.executable, str(HERE / own[0]), *own[1:], "--seconds", args.seconds]
    network = [] if "--network" in own else ["--network", "plain"]
    return [args.cumind, "benchmark", *own, *network, "--threads", str(args.threads), "--json"]


def baseline_command(baseline, args):
    if not isinstance(baseline, list):
        return baseline
    program = [sys.executable, str(HERE / baseline[0])] if baseline[0].endswith(".py") else [str(pathlib.Path(args.programs) / baseline[0])]
    return [*program, *baseline[1:], "--seconds", args.seconds]


def use_package(args):
    """Scripts find the package of this checkout, and the library that is built next to the program; environments in Python
    are run by this Python."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TOP / "python"), os.environ.get("PYTHONPATH")]))
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    library = pathlib.Path(args.cumind).resolve().parent / "libcumind.so"
    if library.exists():
        os.environ["CUMIND_LIBRARY"] = str(library)


def interleave(own, baseline, rounds, end):
    """What both sides print: cumind before and after each of the baseline's rounds."""
    sides = [measure(own)], []
    for _ in range(rounds):
        sides[1].append(measure(baseline, end))
        if sides[1][-1] is None:
            return sides[0], [None]
        sides[0].append(measure(own))
    return sides


def figures(key, side):
    return [done[key] if isinstance(done, dict) else done for done in side]


def check_same_work(name, own, baseline):
    """Searches of the tree alone have to be the same ones, which their mean depth shows; networks in training, which their
    number of parameters does."""
    for key, what, tolerance in (("mean_depth", "mean depth", 1e-3), ("parameters", "parameters", 0)):
        if isinstance(baseline, dict) and key in own and key in baseline and abs(own[key] - baseline[key]) > tolerance:
            sys.exit(f"compare.py: {name}: {what} {own[key]}, but the baseline's is {baseline[key]}")


def compare(row, args, end):
    """Measures a row and prints it."""
    name, key, own, baseline, goal = row
    sides = interleave(own_command(own, args), baseline_command(baseline, args), args.rounds, end)
    check_same_work(name, sides[0][0], sides[1][0])
    turns = {"cumind": figures(key, sides[0]), "peer": figures(key, sides[1])}
    a, late = statistics.median(turns["cumind"]), turns["peer"] == [None]
    b = None if late else statistics.median(turns["peer"])
    ratio = None if late else b / a if key.startswith(("ns_", "us_")) else a / b
    said = f"not in {args.limit:g} s" if late else f"{b:>12,.0f} {ratio:>6.2f}x {goal:>5.1f}x"
    print(f"{name:<46} {a:>12,.0f} {said}", flush=True)
    return {"comparison": name, "key": key, "cumind": a, "peer": b, "ratio": ratio, "goal": goal, "turns": turns}


def chosen(args):
    every = list(gpu_rows(args.small) if args.only.startswith("gpu") else rows())
    some = [row for row in every if row[0].startswith(args.only)]
    if not some:
        sys.exit(f"compare.py: no comparison begins with {args.only}")
    return some


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cumind", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", default="3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--programs", default="build", help="folder of the compiled baselines")
    parser.add_argument("--json", default="")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--limit", type=float, help="seconds for all, compilations included")
    args = parser.parse_args()
    some = chosen(args)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])

    use_package(args)
    print(f"{'comparison':<46} {'cumind':>12} {'baseline':>12} {'ratio':>7} {'goal':>6}")
    end = args.limit and time.monotonic() + args.limit
    results = [compare(row, args, end) for row in some]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"threads": args.threads, "results": results}, indent=2) + "\n")
        print(f"written to {args.json}")
    return 1 if any(row["peer"] is None for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
