"""Loads and closes an agent, environments and a search again and again: memory stays where it was.

usage: loads.py [TIMES]    prints resident memory after a tenth and at the end; status 1 if it has grown by more than 4 MiB
"""

import os
import sys
import time

import numpy as np

import cumind
import runs
from cumind import search

LIMIT = 4 << 20
ROOT = search.RootFnOutput(np.zeros((2, 3), np.float32), np.zeros(2, np.float32), np.zeros((2, 1), np.float32))


def model(params, rng_key, action, embedding):
    zeros = np.zeros(2, np.float32)
    return search.RecurrentFnOutput(zeros, zeros, ROOT.prior_logits, zeros), embedding


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load_and_close(path):
    with cumind.load(path, threads=1) as agent:
        agent.act(np.zeros(4, np.float32))
    cumind.Batch("CartPole-v1", 16).close()
    search.gumbel_muzero_policy(ROOT, model, 4).search_tree.parents.sum()


def main(times):
    path, start, before = runs.path("pole"), time.monotonic(), 0
    for turn in range(times):
        load_and_close(path)
        if turn == times // 10:
            before = resident()
    grown = resident() - before
    print(f"{times} loads and closes in {time.monotonic() - start:.0f} s: {before / 2**20:.1f} MiB after a tenth, {grown / 2**20:+.2f} MiB at the end")
    return grown > LIMIT


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10000))
