#!/usr/bin/env python3
"""The model of docs/SCALING.md: what N ranks take, from what one and two take and from the speed of a link.

usage: cumind benchmark scaling --json | scripts/scaling_model.py [--processors P]     measured against the model
       scripts/scaling_model.py                                                        tables of GPUs and nodes alone
"""
import argparse
import json
import sys


def sum_seconds(ranks, size, bandwidth, message):
    """A sum of `size` bytes over ranks: each sends (N-1)/N of it twice, in N-1 messages each time."""
    if ranks == 1:
        return 0.0
    return 2 * (ranks - 1) / ranks * size / bandwidth + 2 * (ranks - 1) * message


def exposed_seconds(ranks, size, bandwidth, message, bucket, backward):
    """What of the sum of a gradient comes behind a backward pass of `backward` seconds: the last bucket at least."""
    buckets = max(1, round(size / bucket)) if bucket else 1
    whole = buckets * sum_seconds(ranks, size / buckets, bandwidth, message)
    return max(whole - backward * (1 - 1 / buckets), whole / buckets)


def fit(rows):
    """c0 + c1 b seconds for b rows of one rank, by the measurements of 1 and 2 ranks; bandwidth and message time."""
    one, two = rows[0], rows[1]
    b1, b2 = one["batch"], two["batch"] / 2
    c1 = (one["compute_seconds"] - two["compute_seconds"]) / (b1 - b2)
    c0 = one["compute_seconds"] - c1 * b1
    sums = two["all_reduce"]
    message = sums[0]["seconds"] / 2
    gradient = sums[-1]
    bandwidth = gradient["bytes"] / max(gradient["seconds"] - 2 * message, 1e-9)
    return c0, c1, bandwidth, message


def compare(rows, processors):
    """Measured against the model, which knows the compute times of 1 and 2 ranks, the sums of 2, the training of 1."""
    c0, c1, bandwidth, message = fit(rows)
    one = rows[0]
    size = 4 * one["parameters"]
    acting = one["train_seconds"] - one["updates"] * one["update_seconds"]
    print(f"compute {1e3 * c0:.3f} ms + {1e6 * c1:.2f} us per row, link {bandwidth / 1e9:.2f} GB/s, "
          f"message {1e6 * message:.1f} us, acting {acting:.2f} s\n")
    print("| ranks | update, measured | model | training, measured | model |\n|---|---|---|---|---|")
    for row in rows:
        ranks = row["ranks"]
        share = max(1.0, ranks * row["threads"] / processors)  # ranks that take turns on a processor
        compute = share * (c0 + c1 * row["batch"] / ranks)
        update = compute + exposed_seconds(ranks, size, bandwidth, message, 256 * 1024, compute / 2)
        train = row["updates"] * update + acting * share / ranks
        print(f"| {ranks} | {1e3 * row['update_seconds']:.2f} ms | {1e3 * update:.2f} ms "
              f"| {row['train_seconds']:.2f} s | {train:.2f} s |")


def table(title, ranks, bandwidth, message, bucket):
    """Efficiency of N ranks with a batch that grows with them, by parameters and by compute time of an update."""
    computes = [1e-3, 3e-3, 10e-3, 30e-3]
    print(f"\n{title}: {ranks} ranks, {bandwidth / 1e9:g} GB/s, {1e6 * message:g} us per message, "
          f"buckets of {bucket / 2**20:g} MiB\n")
    print("| parameters | " + " | ".join(f"{1e3 * c:g} ms" for c in computes) + " |")
    print("|---|" + "---|" * len(computes))
    for parameters in (1e5, 1e6, 1e7, 5e7):
        cells = []
        for compute in computes:
            exposed = exposed_seconds(ranks, 4 * parameters, bandwidth, message, bucket, compute / 2)
            cells.append(f"{100 * compute / (compute + exposed):.0f} %")
        print(f"| {parameters / 1e6:g} M | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processors", type=int, default=2, help="of the machine that was measured")
    arguments = parser.parse_args()
    rows = [] if sys.stdin.isatty() else [json.loads(line) for line in sys.stdin if line.startswith("{")]
    if len(rows) > 1:
        compare(rows, arguments.processors)
    table("8 GPUs of one machine", 8, 200e9, 5e-6, 4 * 2**20)
    table("64 nodes with a GPU each", 64, 10e9, 5e-6, 4 * 2**20)
    table("64 nodes with a GPU each, a faster network", 64, 40e9, 2e-6, 4 * 2**20)


if __name__ == "__main__":
    main()
