"""Samples per second of a MuZero training step in PyTorch, eager or torch.compile, with the network "plain".

The counterpart of `cumind benchmark train`: unroll K steps, cross-entropies of value, reward and policy, backward pass,
AdamW (fused). bfloat16 is torch.autocast. On a GPU the batch lies there, no loss is read back, and a compiled update is
captured once as a CUDA graph and replayed; times are by events. Prints one line of JSON.
"""
import argparse
import json

import torch
from torch import nn
from torch.nn import functional as F

from torch_losses import Support, cross_entropy, halve_gradient, two_hot
from torch_update import MODES, capture, device_name, is_captured, median, time_calls

HEAD, SUPPORT = 64, Support(-10.0, 10.0, 21, True)


def two_layers(inputs, hidden, outputs):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class Network(nn.Module):
    def __init__(self, observation, hidden, actions):
        super().__init__()
        self.actions = actions
        self.representation = two_layers(observation, hidden, hidden)
        self.transition = two_layers(hidden + actions, hidden, hidden)
        self.policy = two_layers(hidden, HEAD, actions)
        self.value = two_layers(hidden, HEAD, SUPPORT.size)
        self.reward = two_layers(hidden, HEAD, SUPPORT.size)

    def forward(self, batch, unroll):
        """The loss of one batch: mean over the rows, unroll terms divided by K, hidden gradient halved at each step."""
        state = self.representation(batch["observation"])
        total = cross_entropy(self.value(state), two_hot(batch["value"][:, 0], SUPPORT))
        total = total + cross_entropy(self.policy(state), batch["policy"][:, 0])
        for k in range(unroll):
            coded = torch.cat([state, F.one_hot(batch["actions"][:, k], self.actions).to(state.dtype)], dim=-1)
            state = self.transition(coded)
            state = halve_gradient(state)
            step = cross_entropy(self.value(state), two_hot(batch["value"][:, k + 1], SUPPORT))
            step = step + cross_entropy(self.policy(state), batch["policy"][:, k + 1])
            step = step + cross_entropy(self.reward(state), two_hot(batch["reward"][:, k], SUPPORT))
            total = total + step / unroll
        return (batch["weights"] * total).mean()


def random_batch(args):
    b, k, a = args.batch, args.unroll, args.actions
    return {
        "observation": torch.randn(b, args.observation),
        "actions": torch.randint(0, a, (b, k)),
        "value": torch.randn(b, k + 1) * 5,
        "reward": torch.randn(b, k),
        "policy": torch.softmax(torch.randn(b, k + 1, a), dim=-1),
        "weights": torch.rand(b),
    }


def measure(args):
    captured = is_captured(args)
    network = Network(args.observation, args.hidden, args.actions).to(args.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused=True, capturable=captured)
    mode = MODES[args.mode]
    forward = torch.compile(network, mode=mode, dynamic=False) if mode else network
    batch = {name: rows.to(args.device) for name, rows in random_batch(args).items()}

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def update():
        half = args.dtype == "bfloat16"
        with torch.autocast(args.device, torch.bfloat16, enabled=half, cache_enabled=not captured):
            loss = forward(batch, args.unroll)
        loss.backward()
        optimizer.step()

    def update_cleared():
        clear()
        update()

    ms = time_calls(capture(update, clear) if captured else update_cleared, args)
    return {
        "samples_per_second": 1e3 * args.batch / median(ms), "us_per_update": 1e3 * median(ms), "runs": len(ms),
        "parameters": sum(p.numel() for p in network.parameters()), "torch": torch.__version__, "mode": args.mode,
        "cuda_graph": captured, "dtype": args.dtype, "device": device_name(args),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=list(MODES), default="eager")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--unroll", type=int, default=5)
    parser.add_argument("--actions", type=int, default=2)
    parser.add_argument("--observation", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=10, help="updates before those that are timed")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    print(json.dumps(measure(args)))


if __name__ == "__main__":
    main()
