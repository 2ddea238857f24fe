"""Time of a MuZero training update of residual networks in PyTorch.

The counterpart of `cumind benchmark train --network configured` with family=resnet: the same layers (docs/spec/networks.md
0.6, 3 and 12), so the parameters of `cumind inspect`, whose number is printed. An update is K unrolled steps, the
cross-entropies of value, reward and policy, if asked for the value prefix by an LSTM and the consistency loss, the backward
pass, and AdamW or SGD.

The baseline is meant to be a strong one:
- Convolutions and dense layers compute in bfloat16 (autocast), channels last, with the input channels of a convolution
  filled up to a multiple of eight for the tensor cores; cuDNN tries its algorithms. Norms take the statistics of a call's rows.
- The batch lies on the device, observations already in bfloat16. No loss is read back. Gradients are not clipped.
- What torch.compile sees is one representation, one transition, one prediction and so on, each with its losses: K + 1 equal
  calls of a compiled function cost one compilation. Weights are rounded once an update, and the gradients of a call are
  added in a few launches (Copies). --graph whole compiles the unrolled loss as one graph instead, which takes about K times
  as long.
- On a GPU the whole update (forward, backward, optimizer) is captured once as a CUDA graph and replayed, so neither Python
  nor launches count. Mode eager is PyTorch as it comes, without a graph.

Times are medians over updates, by CUDA events on a GPU. Arithmetic is that of convolutions and dense layers counted from
shapes, three times the forward pass, and once the target branch of consistency, which has no gradient. Prints one line of JSON.
"""
import argparse
import itertools
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from torch_losses import Support, cross_entropy, halve_gradient, two_hot
from torch_update import MODES, capture, device_name, is_captured, median, time_calls

BOARD = {"head": [8, 64], "support": [-1, 1, 3], "transform": 0, "state_norm": "minmax", "encoding": "onehot",
         "optimizer": "adamw", "batch": 1024}
PRESETS = {
    "connect4": {"board": [6, 7], "planes": 4, "channels": 128, "blocks": 6, "actions": 7, **BOARD},
    "go": {"board": [9, 9], "planes": 18, "channels": 128, "blocks": 10, "actions": 82, **BOARD},
    "atari": {"board": [96, 96], "planes": 12, "channels": 64, "blocks": 1, "actions": 6, "downsample": 1, "lstm": 512,
              "head": [16, 32], "support": [-25, 25, 51], "transform": 1, "state_norm": "none", "encoding": "scaled",
              "consistency": [1024, 1024, 256], "optimizer": "sgd", "batch": 256},
}


# ---- layers ----


def norm_of(kind, channels):
    """A batch norm that does not count its calls."""
    norm = kind(channels)
    norm.num_batches_tracked = None
    return norm


class Convolution(nn.Module):
    """k x k, then norm, a residual, ReLU."""

    def __init__(self, inputs, outputs, size=3, stride=1, bias=False, normed=True):
        super().__init__()
        self.layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=bias)
        self.norm = norm_of(nn.BatchNorm2d, outputs) if normed else None

    def forward(self, x, residual=None):
        fill = (0, 0, 0, 0, 0, 0 if x.is_meta else -x.shape[1] % 8)  # what is filled up is not counted
        y = F.conv2d(F.pad(x, fill), F.pad(self.layer.weight, fill), self.layer.bias, self.layer.stride, self.layer.padding)
        if self.norm is None:
            return y
        y = self.norm(y)
        return F.relu(y if residual is None else y + residual)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = Convolution(channels, channels), Convolution(channels, channels)

    def forward(self, x):
        return self.conv2(self.conv1(x), x)


class Widen(nn.Module):
    """Twice the channels, half the size."""

    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = Convolution(channels // 2, channels, stride=2), Convolution(channels, channels)
        self.shortcut = Convolution(channels // 2, channels, stride=2, normed=False)

    def forward(self, x):
        return self.conv2(self.conv1(x), self.shortcut(x))


class Dense(nn.Sequential):
    def __init__(self, inputs, outputs, relu=True):
        super().__init__(nn.Linear(inputs, outputs), norm_of(nn.BatchNorm1d, outputs), *[nn.ReLU()] * relu)


def blocks(args):
    return [Block(args.channels) for _ in range(args.blocks)]


def halvings(args):
    return (4 if max(args.board) > 64 else 3) if args.downsample else 0


def state_size(args):
    size = args.board
    for _ in range(halvings(args)):
        size = [(n + 1) // 2 for n in size]
    return size[0] * size[1]


def representation(args):
    c = args.channels
    if not args.downsample:
        return nn.Sequential(Convolution(args.planes, c), *blocks(args))
    pool = [nn.AvgPool2d(3, 2, 1)]
    last = pool if halvings(args) > 3 else []
    return nn.Sequential(Convolution(args.planes, c // 2, stride=2), Block(c // 2), Widen(c), Block(c), *pool, Block(c), *last,
                         *blocks(args))


def head_planes(args):
    return nn.Sequential(Convolution(args.channels, args.head[0], size=1, bias=True), nn.Flatten())


def head_layers(inputs, args, outputs):
    return nn.Sequential(Dense(inputs, args.head[1]), nn.Linear(args.head[1], outputs))


def head(args, outputs):
    return nn.Sequential(head_planes(args), head_layers(args.head[0] * state_size(args), args, outputs))


# ---- parts of the network: what is compiled; losses are of one row each ----


class Representation(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.layers = args, representation(args)

    def forward(self, observation):
        return scaled(self.layers(observation), self.args)


class Transition(nn.Module):
    """To the next state, and the loss of the reward or what the prefix reads."""

    def __init__(self, args):
        super().__init__()
        c, planes = args.channels, args.actions if args.encoding == "onehot" else 1
        self.args, self.stem, self.blocks = args, Convolution(c + planes, c), nn.Sequential(*blocks(args))
        self.reward = head_planes(args) if args.lstm else head(args, args.support.size)

    def forward(self, state, action, reward):
        x = torch.cat([state, action_planes(action, state, self.args)], dim=1)
        raw = self.blocks(self.stem(x.contiguous(memory_format=torch.channels_last), state))
        out = self.reward(raw)
        if not self.args.lstm:
            out = cross_entropy(out, two_hot(reward, self.args.support))
        return halve_gradient(scaled(raw, self.args)), out


class Prediction(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.blocks = args, nn.Sequential(*blocks(args))
        self.policy, self.value = head(args, args.actions), head(args, args.support.size)

    def forward(self, state, policy, value):
        x = self.blocks(state)
        loss = cross_entropy(self.policy(x), policy)
        return loss + cross_entropy(self.value(x), two_hot(value, self.args.support))


class Prefixes(nn.Module):
    """Value prefixes of K steps, one horizon: an LSTM over the reward head's planes, its products with them in one."""

    def __init__(self, args):
        super().__init__()
        inputs, width = args.head[0] * state_size(args), args.lstm
        self.args, self.input, self.hidden = args, nn.Linear(inputs, 4 * width), nn.Linear(width, 4 * width)
        self.norm = norm_of(nn.BatchNorm1d, width)
        self.layers = head_layers(width, args, args.support.size)

    def forward(self, inputs, rewards):
        gates = self.input(torch.cat(inputs)).chunk(len(inputs))
        h = c = torch.zeros(len(inputs[0]), self.hidden.in_features, device=inputs[0].device)
        loss = 0
        for of_input, prefix in zip(gates, rewards.cumsum(dim=0)):
            i, f, g, o = (of_input + self.hidden(h)).float().chunk(4, dim=-1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            loss = loss + cross_entropy(self.layers(F.relu(self.norm(h))), two_hot(prefix, self.args.support))
        return loss


class Consistency(nn.Module):
    def __init__(self, args):
        super().__init__()
        inner, outputs, predictor = args.consistency
        self.projection = nn.Sequential(nn.Flatten(), Dense(args.channels * state_size(args), inner), Dense(inner, inner),
                                        Dense(inner, outputs, relu=False))
        self.predictor = nn.Sequential(Dense(outputs, predictor), nn.Linear(predictor, outputs))

    def forward(self, state, seen):
        with torch.no_grad():
            target = self.projection(seen)
        return -F.cosine_similarity(self.predictor(self.projection(state)).float(), target.float(), eps=1e-5)


def scaled(state, args):
    """To [0, 1] over a whole state; a range below 1e-5 becomes 1e-5 larger."""
    if args.state_norm == "none":
        return state
    low, high = state.amin((1, 2, 3), keepdim=True), state.amax((1, 2, 3), keepdim=True)
    extent = high - low
    return (state - low) / torch.where(extent < 1e-5, extent + 1e-5, extent)


def action_planes(action, state, args):
    rows, _, h, w = state.shape
    numbers = F.one_hot(action, args.actions) if args.encoding == "onehot" else (action / args.actions).unsqueeze(1)
    return numbers.to(state.dtype)[:, :, None, None].expand(rows, -1, h, w)


class Copies(torch.autograd.Function):
    """Of parameters for `count` calls: weights in the type of the products. Gradients are summed in float32, all of a
    call at once, where autograd would launch a sum for each parameter."""

    @staticmethod
    def forward(ctx, count, dtype, *parameters):
        copies = [torch.empty_like(p, dtype=dtype if p.dim() > 1 else p.dtype) for p in parameters]
        torch._foreach_copy_(copies, parameters)
        ctx.count = count
        return tuple(copy.detach() for _ in range(count) for copy in copies)

    @staticmethod
    def backward(ctx, *gradients):
        n = len(gradients) // ctx.count
        total = None
        for first in range(0, len(gradients), n):
            of_call = [torch.empty_like(g, dtype=torch.float32) for g in gradients[first:first + n]]
            torch._foreach_copy_(of_call, gradients[first:first + n])
            if total is None:
                total = of_call
            else:
                torch._foreach_add_(total, of_call)
        return None, None, *total


class Calls:
    """A part that is compiled and called `count` times in an update, and again where no gradient is wanted."""

    def __init__(self, part, count, mode, dtype):
        self.count, self.dtype = count, dtype
        names, self.parameters = zip(*part.named_parameters())

        def run(parameters, *inputs):
            return torch.func.functional_call(part, dict(zip(names, parameters)), inputs)

        self.run = torch.compile(run, mode=mode, dynamic=False) if mode else run

    def begin(self):
        n, copies = len(self.parameters), Copies.apply(self.count, self.dtype, *self.parameters)
        self.copies = itertools.cycle([copies[first:first + n] for first in range(0, len(copies), n)])

    def __call__(self, *inputs):
        return self.run(next(self.copies), *inputs)


class Network(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.calls = args, None
        self.represent, self.transit, self.predict = Representation(args), Transition(args), Prediction(args)
        self.prefixes = Prefixes(args) if args.lstm else None
        self.agree = Consistency(args) if args.consistency else None

    def split(self, mode, dtype):
        """Makes its parts calls of their own."""
        k = self.args.unroll
        counts = {"represent": 1, "transit": k, "predict": k + 1, "prefixes": 1, "agree": k}
        self.calls = {name: Calls(part, counts[name], mode, dtype) for name, part in self.named_children()}

    def parts(self):
        if not self.calls:
            return dict(self.named_children())
        for call in self.calls.values():
            call.begin()
        return self.calls

    def forward(self, batch):
        """The loss of one batch: mean over the rows, unroll terms divided by K, hidden gradient halved at each step."""
        part = self.parts()
        state = part["represent"](batch["observation"])
        first = part["predict"](state, batch["policy"][0], batch["value"][0])
        later, rewards = 0, []
        for k in range(self.args.unroll):
            state, reward = part["transit"](state, batch["actions"][k], batch["reward"][k])
            rewards.append(reward)
            later = later + part["predict"](state, batch["policy"][k + 1], batch["value"][k + 1])
            if self.args.consistency:
                with torch.no_grad():
                    seen = part["represent"](batch["observations"][k])
                later = later + 5 * part["agree"](state, seen)
        later = later + (part["prefixes"](rewards, batch["reward"]) if self.args.lstm else sum(rewards))
        return (batch["weights"] * (first + later / self.args.unroll)).mean()


# ---- an update ----


def random_batch(args, rows, device):
    """Steps come first, so that what a step reads is contiguous."""
    k, a, planes = args.unroll, args.actions, (rows, args.planes, *args.board)
    dtype = getattr(torch, args.dtype)

    def observation():
        return torch.randn(planes, device=device, dtype=dtype).contiguous(memory_format=torch.channels_last)

    return {
        "observation": observation(),
        "observations": [observation() for _ in range(k if args.consistency else 0)],
        "actions": torch.randint(0, a, (k, rows), device=device),
        "value": torch.randn(k + 1, rows, device=device),
        "reward": torch.randn(k, rows, device=device),
        "policy": torch.softmax(torch.randn(k + 1, rows, a, device=device), dim=-1),
        "weights": torch.rand(rows, device=device),
    }


def forward_flops(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def update_flops(args):
    """From the shapes of two rows that are not computed."""
    rows = 2
    with torch.device("meta"):
        network = Network(args)
        batch = random_batch(argparse.Namespace(**{**vars(args), "dtype": "float32"}), rows, "meta")
        whole = forward_flops(lambda: network(batch))
        once = args.unroll * forward_flops(lambda: network.represent(batch["observation"])) if args.consistency else 0
    return (3 * whole - 2 * once) * args.batch / rows


class Update:
    """One update at each call; on a GPU and compiled the replay of a CUDA graph."""

    def __init__(self, args):
        self.args = args
        self.network = Network(args).to(args.device, memory_format=torch.channels_last)
        self.optimizer = self.optimizer_of(args)
        self.batch = random_batch(args, args.batch, args.device)
        self.loss_of = self.compiled()
        self.captured = is_captured(args)

    def optimizer_of(self, args):
        parameters = self.network.parameters()
        if args.optimizer == "sgd":
            return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=1e-4, fused=True)
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=1e-4, fused=True, capturable=args.device == "cuda")

    def compiled(self):
        mode = MODES[self.args.mode]
        if self.args.graph == "whole":
            return torch.compile(self.network, mode=mode, dynamic=False) if mode else self.network
        self.network.split(mode, getattr(torch, self.args.dtype))
        return self.network

    def run(self):
        half = self.args.dtype == "bfloat16"
        with torch.autocast(self.args.device, torch.bfloat16, enabled=half, cache_enabled=not self.captured):
            loss = self.loss_of(self.batch)
        loss.backward()
        self.optimizer.step()

    def clear(self):
        self.optimizer.zero_grad(set_to_none=True)

    def run_cleared(self):
        self.clear()
        self.run()

    def prepare(self):
        return capture(self.run, self.clear) if self.captured else self.run_cleared


def count_parameters(network):
    return sum(p.numel() for p in network.parameters())


def measure(args):
    update = Update(args)
    if args.parameters not in (None, count_parameters(update.network)):
        sys.exit(f"torch_resnet.py: {count_parameters(update.network)} parameters, not {args.parameters}")
    start = time.perf_counter()
    call = update.prepare()
    call()
    if args.device == "cuda":
        torch.cuda.synchronize()
    prepared = time.perf_counter() - start
    ms = time_calls(call, args)
    tflop = update_flops(args) / 1e12
    return {
        "ms_per_update": median(ms), "samples_per_second": 1e3 * args.batch / median(ms), "runs": len(ms),
        "parameters": count_parameters(update.network), "tflop_per_update": tflop,
        "tflops_per_second": 1e3 * tflop / median(ms), "compile_seconds": prepared, "batch": args.batch,
        "unroll": args.unroll, "mode": args.mode, "graph": args.graph, "cuda_graph": update.captured, "dtype": args.dtype,
        "preset": args.preset, "optimizer": args.optimizer, "device": device_name(args), "torch": torch.__version__,
    }


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=list(PRESETS), default="connect4", help="what other flags leave open")
    parser.add_argument("--board", type=int, nargs=2, metavar=("H", "W"))
    parser.add_argument("--planes", type=int)
    parser.add_argument("--channels", type=int)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--actions", type=int)
    parser.add_argument("--downsample", type=int, choices=[0, 1])
    parser.add_argument("--head", type=int, nargs=2, metavar=("CHANNELS", "HIDDEN"))
    parser.add_argument("--support", type=float, nargs=3, metavar=("LOW", "HIGH", "SIZE"))
    parser.add_argument("--transform", type=int, choices=[0, 1])
    parser.add_argument("--state-norm", choices=["none", "minmax"])
    parser.add_argument("--encoding", choices=["onehot", "scaled"])
    parser.add_argument("--lstm", type=int, help="units of the value prefix; 0: rewards")
    parser.add_argument("--consistency", type=int, nargs="*", metavar="N", help="hidden, output, predictor; no number: off")
    parser.add_argument("--optimizer", choices=["adamw", "sgd"], help="sgd: with momentum")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--unroll", type=int, default=5)
    parser.add_argument("--mode", choices=list(MODES), default="max-autotune")
    parser.add_argument("--graph", choices=["step", "whole"], default="step")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="bfloat16")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parameters", type=int, help="refuse another number of them: that of `cumind inspect`")
    parser.add_argument("--warmup", type=int, default=5, help="updates before those that are timed")
    parser.add_argument("--seconds", type=float, default=3.0)
    return parser


def parse():
    args = options().parse_args()
    for name, value in {"downsample": 0, "lstm": 0, "consistency": [], **PRESETS[args.preset]}.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    low, high, size = args.support
    args.support = Support(low, high, int(size), bool(args.transform))
    return args


def main():
    args = parse()
    torch.set_num_threads(args.threads)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    print(json.dumps(measure(args)))


if __name__ == "__main__":
    main()
