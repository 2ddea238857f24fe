"""Measures cumind against its baselines on this machine, interleaved (A-B-A-B), and prints the ratios of the medians.

usage: compare.py --cumind build/cumind [--rounds 3] [--seconds 3] [--json FILE] [--only search|sizes|train|pictures|tree|package]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
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
        size = ["--batch", "64", "--dtype", dtype]
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


def measure(command):
    """What a program prints; a number is a figure to be reached."""
    if not isinstance(command, list):
        return command
    done = subprocess.run(command, capture_output=True, text=True)
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
    """Scripts find the package of this checkout, and the library that is built next to the program."""
    os.environ["PYTHONPATH"] = str(HERE.parent.parent / "python")
    library = pathlib.Path(args.cumind).resolve().parent / "libcumind.so"
    if library.exists():
        os.environ["CUMIND_LIBRARY"] = str(library)


def medians(name, key, rounds):
    """Of both sides. Searches of the tree alone have to be the same ones, which their mean depth shows."""
    own, baseline = rounds[0]
    if not isinstance(baseline, dict):
        return statistics.median(side[key] for side, _ in rounds), baseline
    if "mean_depth" in baseline and abs(own["mean_depth"] - baseline["mean_depth"]) > 1e-3:
        sys.exit(f"compare.py: {name}: mean depth {own['mean_depth']}, but the baseline's is {baseline['mean_depth']}")
    return (statistics.median(side[key] for side in sides) for sides in zip(*rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cumind", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", default="3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--programs", default="build", help="folder of the compiled baselines")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])

    use_package(args)
    results = []
    print(f"{'comparison':<46} {'cumind':>12} {'baseline':>12} {'ratio':>7} {'goal':>6}")
    for name, key, own, baseline, goal in rows():
        if not name.startswith(args.only):
            continue
        own, baseline = own_command(own, args), baseline_command(baseline, args)
        rounds = [(measure(own), measure(baseline)) for _ in range(args.rounds)]
        a, b = medians(name, key, rounds)
        ratio = b / a if key.startswith(("ns_", "us_")) else a / b
        results.append({"comparison": name, "key": key, "cumind": a, "peer": b, "ratio": ratio, "goal": goal,
                        "turns": [[side[key] if isinstance(side, dict) else side for side in sides] for sides in rounds]})
        print(f"{name:<46} {a:>12,.0f} {b:>12,.0f} {ratio:>6.2f}x {goal:>5.1f}x", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"threads": args.threads, "results": results}, indent=2) + "\n")
        print(f"written to {args.json}")


if __name__ == "__main__":
    main()
