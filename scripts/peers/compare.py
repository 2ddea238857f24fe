"""Measures cumind against its peers on this machine, in turns (A-B-A-B), and prints the ratios of the medians.

usage: compare.py --cumind build/cumind [--rounds 3] [--seconds 3] [--json FILE] [--only search|train]
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


def rows():
    """(name, key of the figure, what cumind runs, what the peer runs, ratio to reach) of every comparison."""
    for policy in ("gumbel_muzero", "muzero"):
        for dtype, goal in (("float32", 2.5), ("bfloat16", 3.5)):
            yield (f"search {policy} {dtype} / mctx float32", "simulations_per_second",
                   ["search", *SEARCH, "--policy", policy, "--dtype", dtype],
                   ["mctx_search.py", *SEARCH, "--policy", policy], goal)
    for dtype in ("float32", "bfloat16"):
        for mode, goal in (("eager", 3.0), ("compile", 2.0)):
            yield (f"train {dtype} / torch {mode}", "samples_per_second",
                   ["train", *TRAIN, "--dtype", dtype],
                   ["torch_train.py", *TRAIN, "--dtype", dtype, "--mode", mode], goal)


def measure(command, key):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cumind", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", default="3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])

    results = []
    print(f"{'comparison':<46} {'cumind':>12} {'peer':>12} {'ratio':>7} {'goal':>6}")
    for name, key, own, peer, goal in rows():
        if not name.startswith(args.only):
            continue
        own = [args.cumind, "benchmark", *own, "--network", "plain", "--threads", str(args.threads), "--json"]
        peer = [sys.executable, str(HERE / peer[0]), *peer[1:], "--seconds", args.seconds]
        turns = [(measure(own, key), measure(peer, key)) for _ in range(args.rounds)]
        a, b = (statistics.median(column) for column in zip(*turns))
        results.append({"comparison": name, "key": key, "cumind": a, "peer": b, "ratio": a / b, "goal": goal,
                        "turns": turns})
        print(f"{name:<46} {a:>12,.0f} {b:>12,.0f} {a / b:>6.2f}x {goal:>5.1f}x", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"threads": args.threads, "results": results}, indent=2) + "\n")
        print(f"written to {args.json}")


if __name__ == "__main__":
    main()
