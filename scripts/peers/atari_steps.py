"""Decisions per CPU-second of a game of Atari's: ale-py's own vector environment and cumind, interleaved (A-B-A-B).

Both hold uniformly random actions for four frames, take the larger of two screens, and resize by areas. What counts is the processor's
time of all threads and processes, as the machine may be shared. ale-py's gives stacks of bytes, cumind its observations in float32.

usage: atari_steps.py [--games pong,breakout,seaquest] [--size 84] [--colour] [--envs 16] [--seconds 3] [--rounds 5]
CUMIND_LIBRARY and PYTHONPATH=python lead to cumind's library and package.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np


def of_package(args):
    from ale_py.vector_env import AtariVectorEnv

    vector = AtariVectorEnv(
        args.games, args.envs, img_height=args.size, img_width=args.size, grayscale=not args.colour,
        use_fire_reset=False, life_loss_info=True, max_num_frames_per_episode=12000,
    )
    vector.reset(seed=1)
    return vector.step, int(vector.single_action_space.n)


def of_cumind(args):
    from cumind.batch import Batch

    batch = Batch("atari:" + args.games, args.envs, picture_size=args.size, picture_gray=not args.colour)
    return batch.step, batch.spec.actions


SIDES = {"ale-py": of_package, "cumind": of_cumind}


def spent():
    """Seconds of processors, of this process and of those that it has started."""
    seconds = time.process_time()
    with open("/proc/self/task/%d/children" % os.getpid()) as children:
        for child in children.read().split():
            with open("/proc/%s/stat" % child) as file:
                user, system = file.read().rpartition(")")[2].split()[11:13]
            seconds += (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return seconds


def measure(args):
    step, count = SIDES[args.side](args)
    actions = np.random.default_rng(1).integers(0, count, (64, args.envs)).astype(np.int32)
    for action in actions:
        step(action)
    before, decisions = spent(), 0
    while spent() - before < args.seconds:
        for action in actions:
            step(action)
        decisions += actions.size
    print(json.dumps(decisions / (spent() - before)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", default="pong,breakout,seaquest")
    parser.add_argument("--size", type=int, default=84)
    parser.add_argument("--colour", action="store_true")
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0, help="of processors, a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", choices=SIDES, help="what this program calls itself with")
    args = parser.parse_args()
    if args.side:
        measure(args)
        return
    for game in args.games.split(","):
        words = ["--games", game, "--size", str(args.size), "--envs", str(args.envs), "--seconds", str(args.seconds)]
        words += ["--colour"] * args.colour
        found = {side: [] for side in SIDES}
        for _ in range(args.rounds):
            for side in SIDES:
                command = [sys.executable, os.path.abspath(__file__), *words, "--side", side]
                found[side].append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        theirs, ours = (statistics.median(found[side]) for side in SIDES)
        text = "%-12s %d x %d %s: ale-py %.0f, cumind %.0f decisions per CPU-second: %.2f"
        print(text % (game, args.size, args.size, "colour" if args.colour else "gray", theirs, ours, ours / theirs), flush=True)


main()
