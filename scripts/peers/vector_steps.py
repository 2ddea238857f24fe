"""Steps per second of CartPole in a vector through Gymnasium's interface, by random actions, in one thread.

usage: vector_steps.py cumind|gymnasium|sync [--envs 1024] [--seconds 3]
cumind: gym.make_vec("cumind/CartPole-v1"); gymnasium: Gymnasium's own vector of CartPole-v1, written in NumPy; sync: one
environment after the other. Prints one line of JSON; steps_per_second is that of the fastest 64 steps, in which a shared machine did
nothing else; steps_per_second_of_clock is that of all.
"""
import argparse
import json
import time

import gymnasium as gym
import numpy as np

SIDES = {
    "cumind": lambda n: gym.make_vec("cumind:cumind/CartPole-v1", num_envs=n),
    "gymnasium": lambda n: gym.make_vec("CartPole-v1", num_envs=n, vectorization_mode="vector_entry_point"),
    "sync": lambda n: gym.make_vec("CartPole-v1", num_envs=n, vectorization_mode="sync"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=3.0)
    args = parser.parse_args()

    vector = SIDES[args.side](args.envs)
    vector.action_space.seed(1)
    actions = [vector.action_space.sample() for _ in range(64)]
    vector.reset(seed=1)
    for action in actions:  # until episodes end at different times
        vector.step(action)
    begun, rounds, ended, took = time.perf_counter(), 0, 0, []
    while time.perf_counter() - begun < args.seconds:
        start = time.perf_counter()
        for action in actions:
            _, _, terminated, _, _ = vector.step(action)
        took.append(time.perf_counter() - start)
        ended += int(np.count_nonzero(terminated))
        rounds += 1
    steps = len(actions) * args.envs
    print(json.dumps({"steps_per_second": steps / min(took), "steps_per_second_of_clock": steps * rounds / sum(took),
                      "ended_share": ended / (rounds * args.envs), "gymnasium": gym.__version__}))


if __name__ == "__main__":
    main()
