"""Simulations per second of cumind.search over an MLP in PyTorch on a CPU; the counterpart of `mctx_search.py --network mlp`.

--constant: the model gives the same tensors again and again, and what a call costs besides model and tree is told: the time from the
library's call of Python to its return, which a tenth of them do not exceed: the others wait for what else a machine does. Without it
the network's own time for a call is told, too, which no search can take away. Prints one line of JSON.
"""
import argparse
import json
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from cumind import _native, search


class Mlp(nn.Module):
    """State and action to the next state by two layers; logits, value and reward by one layer."""

    def __init__(self, hidden, actions):
        super().__init__()
        self.actions = actions
        self.transition = nn.Sequential(nn.Linear(hidden + actions, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.heads = nn.Linear(hidden, actions + 2)

    def predict(self, state):
        out = self.heads(state)
        return out[:, :-2], out[:, -2], out[:, -1]

    def forward(self, state, action):
        coded = F.one_hot(action.long(), self.actions).to(state.dtype)
        following = self.transition(torch.cat([state, coded], -1))
        return following, *self.predict(following)


def models(args):
    """(root, recurrent_fn) of the network, and of constants where these are wanted."""
    network = Mlp(args.hidden, args.actions)
    state, discount = torch.randn(args.batch, args.hidden), torch.full((args.batch,), 0.997)
    logits, value, reward = network.predict(state)
    constant = search.RecurrentFnOutput(reward, discount, logits, value)

    def same(params, rng_key, action, embedding):
        return constant, state

    forward = torch.compile(network) if args.mode == "compile" else network

    def step(params, rng_key, action, embedding):
        following, logits, value, reward = forward(embedding, action)
        return search.RecurrentFnOutput(reward, discount, logits, value), following

    return search.RootFnOutput(logits, value, state), same if args.constant else step


def median_of(call, seconds):
    """The median of what a call takes on the clock, the least that it takes of the processors, and how many there were."""
    for _ in range(3):
        call()
    clock, processors = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter(), time.process_time()
        call()
        clock.append(time.perf_counter() - start[0])
        processors.append(time.process_time() - start[1])
    return float(np.median(clock)), min(processors), len(clock)


def round_trip(kind):
    """Seconds from C to a function in Python that does nothing, and back."""
    nothing = kind(lambda *words: 0)
    words = [word(0) for word in kind._argtypes_]
    return median_of(lambda: [nothing(*words) for _ in range(1000)], 0.2)[0] / 1000


def besides_model(call, seconds):
    """Seconds of each call of Python from the library, where the model takes next to none."""
    kind, took = _native.MODEL_FUNCTION, []

    def watched(*function):
        if not function:
            return kind()

        def inner(*words):
            start = time.perf_counter()
            status = function[0](*words)
            took.append(time.perf_counter() - start)
            return status

        return kind(inner)

    _native.MODEL_FUNCTION = watched
    try:
        median_of(call, seconds)
    finally:
        _native.MODEL_FUNCTION = kind
    return float(np.percentile(took, 10)) + round_trip(kind)


def network_alone(root, model, args, seconds):
    """Seconds of the processor for a call of the model."""
    action = torch.zeros(args.batch, dtype=torch.int32)
    return median_of(lambda: model(None, None, action, root.embedding), seconds)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=["muzero", "gumbel_muzero"], default="gumbel_muzero")
    parser.add_argument("--mode", choices=["eager", "compile"], default="compile", help="of the network; JAX compiles its own")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--simulations", type=int, default=50)
    parser.add_argument("--actions", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--constant", action="store_true")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    policy = {"muzero": search.muzero_policy, "gumbel_muzero": search.gumbel_muzero_policy}[args.policy]
    with torch.inference_mode():
        root, model = models(args)
        call = lambda: policy(root, model, args.simulations, rng_key=1)
        clock, processors, runs = median_of(call, args.seconds)
        told = {"simulations_per_second": args.batch * args.simulations / clock, "processor_s": processors, "runs": runs,
                "simulations_per_processor_second": args.batch * args.simulations / processors,
                "torch": torch.__version__, "policy": args.policy}
        if args.constant:
            told["us_besides_model"] = 1e6 * besides_model(call, args.seconds)
        else:
            told["us_of_model"] = 1e6 * network_alone(root, model, args, 0.5)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
