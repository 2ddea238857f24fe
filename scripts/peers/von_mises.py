"""Draws angles with cumind.von_mises, has SciPy judge them, and measures the rate against NumPy's Generator.vonmises on one core.

usage: von_mises.py [--draws 10000000] [--rounds 5] [--seed 1] [--json FILE]
For each of 12 concentrations from 0 to 10^6 and both types: the p-value of the Kolmogorov-Smirnov test against
scipy.stats.vonmises.cdf, how many standard errors the means of cosine and sine are away from I1/I0 and 0, and nanoseconds of a draw
of both sides, interleaved (A-B-A-B), by the smaller time of processors. Ends with an error if a p-value is below 1e-5 (one of 24 by
chance once in 4,000 seeds), if a mean is more than 5 standard errors away, or if both have not the same thread.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np
from scipy import special, stats

import cumind

CONCENTRATIONS = (0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 4.0, 10.0, 50.0, 1e3, 1e5, 1e6)
BATCH = 1 << 20


def standard_errors(draws, kappa):
    """Of the means of 1 - cos and sin, in standard errors of these draws. 1 - A keeps its digits by A = I1e / I0e only below 100."""
    versine, sine = 2 * np.sin(0.5 * draws) ** 2, np.sin(draws)
    exact = 1 - special.i1e(kappa) / special.i0e(kappa) if kappa < 100 else 1 / (2 * kappa) + 1 / (8 * kappa**2) + 1 / (8 * kappa**3)
    error = np.sqrt(len(draws))
    return (versine.mean() - exact) / versine.std() * error, sine.mean() / sine.std() * error


def judge(kappa, dtype, args):
    draws = cumind.von_mises(0.0, kappa, args.draws, seed=args.seed, stream=CONCENTRATIONS.index(kappa), dtype=dtype)
    draws = draws.astype(np.float64)
    cdf = (lambda x: (x + np.pi) / (2 * np.pi)) if kappa == 0 else (lambda x: stats.vonmises.cdf(x, kappa))
    ks = stats.ks_1samp(draws, cdf, method="asymp")
    return ks.statistic, ks.pvalue, *standard_errors(draws, kappa)


def seconds(draw):
    begun = time.thread_time()
    draw()
    return time.thread_time() - begun


def rates(kappa, args):
    """Nanoseconds of a draw: cumind in float64 and float32, NumPy."""
    generator = np.random.default_rng(args.seed)
    sides = (
        lambda: cumind.von_mises(0.0, kappa, BATCH, seed=args.seed),
        lambda: cumind.von_mises(0.0, kappa, BATCH, seed=args.seed, dtype=np.float32),
        lambda: generator.vonmises(0.0, kappa, BATCH),
    )
    rounds = [[seconds(side) for side in sides] for _ in range(args.rounds)]
    return [min(times) / BATCH * 1e9 for times in zip(*rounds)]


def row(kappa, args):
    found = {"kappa": kappa}
    for dtype in ("float64", "float32"):
        statistic, p, versine, sine = judge(kappa, dtype, args)
        found |= {f"ks_{dtype}": statistic, f"p_{dtype}": p, f"versine_{dtype}": versine, f"sine_{dtype}": sine}
    found["ns_float64"], found["ns_float32"], found["ns_numpy"] = rates(kappa, args)
    print(f"{kappa:>8g} {found['p_float64']:>8.4f} {found['versine_float64']:>6.2f} {found['sine_float64']:>6.2f} {found['p_float32']:>8.4f} "
          f"{found['versine_float32']:>6.2f} {found['sine_float32']:>6.2f} {found['ns_float64']:>7.2f} {found['ns_float32']:>7.2f} "
          f"{found['ns_numpy']:>7.2f} {found['ns_numpy'] / found['ns_float64']:>6.1f}x {found['ns_numpy'] / found['ns_float32']:>6.1f}x", flush=True)
    return found


def is_right(found):
    means = [found[f"{mean}_{dtype}"] for mean in ("versine", "sine") for dtype in ("float64", "float32")]
    return min(found["p_float64"], found["p_float32"]) > 1e-5 and max(map(abs, means)) < 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    print(f"{'':>8} {'float64':>22} {'float32':>22} {'ns a draw':>23} {'NumPy over':>15}")
    print(f"{'kappa':>8} {'p':>8} {'1-cos':>6} {'sin':>6} {'p':>8} {'1-cos':>6} {'sin':>6} {'float64':>7} {'float32':>7} {'NumPy':>7} {'float64':>7} {'float32':>7}")
    table = [row(kappa, args) for kappa in CONCENTRATIONS]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"draws": args.draws, "numpy": np.__version__, "rows": table}, indent=2) + "\n")
    wrong = [found["kappa"] for found in table if not is_right(found)]
    if wrong:
        sys.exit(f"von_mises.py: the draws of kappa {', '.join(f'{kappa:g}' for kappa in wrong)} are not of their distribution")


if __name__ == "__main__":
    main()
