"""Writes random training steps as reference cases: networks and losses in JAX, float64, from the definitions alone.

Families, widths, norms, supports, encodings, masks and options are drawn; the gradient is JAX's own. `cumind test-cases
DIR` then has to find the same losses, predictions, gradients, running statistics and parameters after one update.
"""
import argparse
import functools
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
EPSILON, MOMENTUM = 1e-5, 0.1  # of norms
FLOOR = 1e-5  # of the norms of vectors in the consistency loss


class Weights:
    """Parameters and running statistics by name; `before` is left as it is but for what is drawn."""

    def __init__(self, rng, values, before):
        self.rng, self.values, self.before = rng, values, before
        self.state = dict(before)  # as the step leaves it

    def get(self, name, shape, low=-1.0, high=1.0):
        if name not in self.values:
            self.values[name] = np.float32(self.rng.uniform(low, high, shape)).astype(np.float64)
        return self.values[name]

    def running(self, name, channels, low, high):
        if name not in self.state:
            self.before[name] = self.state[name] = np.float32(self.rng.uniform(low, high, channels)).astype(np.float64)
        return self.state[name]


# ---- layers (networks 0 and 12) ----


def linear(w, name, x, outputs):
    spread = 1.5 / np.sqrt(x.shape[-1])
    return x @ w.get(f"{name}.weight", (outputs, x.shape[-1]), -spread, spread).T + w.get(f"{name}.bias", (outputs,))


def conv(w, name, x, outputs, taps=3, stride=1, bias=False):
    inputs = x.shape[-1]
    spread = 1.5 / np.sqrt(taps * taps * inputs)
    kernel = jnp.transpose(jnp.asarray(w.get(f"{name}.weight", (outputs, taps, taps, inputs), -spread, spread)),
                           (1, 2, 3, 0))
    edge = (taps // 2, taps // 2)
    y = jax.lax.conv_general_dilated(x, kernel, (stride, stride), (edge, edge),
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + w.get(f"{name}.bias", (outputs,)) if bias else y


def norm(w, name, x, kind):
    """Norm behind the layer `name`: none, layer, batch, or affine (batch norm of the statistics 0 and 1)."""
    if kind == "none":
        return x
    channels = x.shape[-1]
    scale, shift = w.get(f"{name}.norm.scale", (channels,), 0.5, 1.5), w.get(f"{name}.norm.shift", (channels,))
    if kind == "affine":
        return scale * x / np.sqrt(1 + EPSILON) + shift
    axes = (x.ndim - 1,) if kind == "layer" else tuple(range(x.ndim - 1))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    if kind == "batch":
        n = x.size // channels
        for part, low, high, new in (("mean", -1, 1, mean), ("var", 0.5, 2, variance * n / (n - 1))):
            old = w.running(f"{name}.norm.running_{part}", channels, low, high)
            w.state[f"{name}.norm.running_{part}"] = (1 - MOMENTUM) * old + MOMENTUM * new.reshape(channels)
    return scale * (x - mean) / jnp.sqrt(variance + EPSILON) + shift


def dense(w, name, x, outputs, kind, act=jax.nn.relu):
    return act(norm(w, name, linear(w, name, x, outputs), kind))


def block(w, name, x, kind, bias=False):
    y = jax.nn.relu(norm(w, f"{name}.conv1", conv(w, f"{name}.conv1", x, x.shape[-1], bias=bias), kind))
    return jax.nn.relu(x + norm(w, f"{name}.conv2", conv(w, f"{name}.conv2", y, x.shape[-1], bias=bias), kind))


def minmax(s):
    flat = s.reshape(len(s), -1)
    rows = jnp.arange(len(s))
    least, most = flat[rows, flat.argmin(1)], flat[rows, flat.argmax(1)]  # ties: the first place has the gradient
    scale = most - least
    scale = jnp.where(scale < 1e-5, scale + 1e-5, scale)
    return ((flat - least[:, None]) / scale[:, None]).reshape(s.shape)


def encode(net, s, action):
    """The state with the action's encoding behind its last axis."""
    n = net["actions"]
    if net["action_encoding"] == "board":
        height, width = s.shape[1:3]
        planes = (jnp.arange(height * width)[None] == action[:, None]).astype(s.dtype).reshape(-1, height, width, 1)
    else:
        code = jax.nn.one_hot(action, n, dtype=s.dtype)
        if net["action_encoding"] == "scaled":
            code = (action / n)[:, None]
        planes = code if s.ndim == 2 else jnp.broadcast_to(code[:, None, None], s.shape[:3] + code.shape[-1:])
    return jnp.concatenate([s, planes], axis=-1)


# ---- families (networks 1, 2, 3) ----


def atoms_of(net, which):
    support = net[f"{which}_support"]
    return support["size"] if support else 1


def head_input(w, net, name, x):
    if net["family"] != "resnet":
        return x
    x = conv(w, f"{name}.conv", x, net["head_channels"], taps=1, bias=True)
    return jax.nn.relu(norm(w, f"{name}.conv", x, "batch")).reshape(len(x), -1)


def head_output(w, net, name, x, outputs):
    return linear(w, f"{name}.output", dense(w, f"{name}.hidden", x, net["head_hidden"], net["norm"]), outputs)


def head(w, net, name, x, outputs):
    return head_output(w, net, name, head_input(w, net, name, x), outputs)


def lstm_step(w, name, x, h, c):
    """The states h and c behind x, gates in the order i f g o."""
    units = h.shape[-1]
    gates = linear(w, f"{name}.input", x, 4 * units) + linear(w, f"{name}.hidden", h, 4 * units)
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


class Rewards:
    """Logits of the rewards of successive steps, or of value prefixes: what they are made of states."""

    def __init__(self, w, net, rows):
        self.w, self.net, self.rows, self.steps = w, net, rows, 0

    def __call__(self, y):
        w, net, name, atoms = self.w, self.net, "dynamics.reward_head", atoms_of(self.net, "reward")
        if net["family"] == "cumind":
            return linear(w, "dynamics.reward", y, atoms)
        if not net["value_prefix"]:
            return head(w, net, name, y, atoms)
        if self.steps % net["value_prefix"]["horizon"] == 0:
            self.h = self.c = jnp.zeros((self.rows, net["value_prefix"]["lstm"]))
        self.steps += 1
        self.h, self.c = lstm_step(w, "dynamics.lstm", head_input(w, net, name, y), self.h, self.c)
        y = jax.nn.relu(norm(w, "dynamics.lstm", self.h, "batch")) if net["family"] == "resnet" else self.h
        return head_output(w, net, name, y, atoms)


def cumind_representation(w, net, x):
    if x.ndim == 2:
        for i in range(net["blocks"]):
            x = linear(w, f"representation.layers.{i}", x if i == 0 else jax.nn.relu(x), net["hidden"])
        return x
    x = jax.nn.relu(conv(w, "representation.stem", x, net["channels"], stride=2, bias=True))
    for i in range(net["blocks"]):
        x = block(w, f"representation.blocks.{i}", x, "affine", bias=True)
    return linear(w, "representation.output", x.mean((1, 2)), net["hidden"])


def cumind_dynamics(w, net, s, action, mark):
    spread = 1 / np.sqrt(net["hidden"])
    x = s + jnp.asarray(w.get("dynamics.embedding.table", (net["actions"], net["hidden"]), -spread, spread))[action]
    for i in range(net["blocks"]):
        x = x + jax.nn.relu(linear(w, f"dynamics.layers.{i}", x, net["hidden"]))
    x = mark(x)
    return x, x


def cumind_prediction(w, net, s):
    return linear(w, "prediction.policy", s, net["actions"]), linear(w, "prediction.value", s, atoms_of(net, "value"))


def mlp_representation(w, net, x):
    if net.get("body") == "plain":
        return linear(w, "representation.1", dense(w, "representation.0", x, net["hidden"], net["norm"]), net["hidden"])
    gelu = functools.partial(jax.nn.gelu, approximate=True)
    x = dense(w, "representation.input", x, net["hidden"], net["norm"], gelu)
    return norm(w, "representation.output", linear(w, "representation.output", x, net["hidden"]), "layer")


def mlp_dynamics(w, net, s, action, mark):
    x = dense(w, "dynamics.transition.0", encode(net, s, action), net["hidden"], net["norm"])
    if net.get("body") == "plain":
        x = linear(w, "dynamics.transition.1", x, net["hidden"])
    else:
        x = dense(w, "dynamics.transition.1", x, net["hidden"], net["norm"])
    x = y = mark(x + s if net["residual_dynamics"] else x)
    if net["residual_dynamics"]:
        for i in range(2):
            y = dense(w, f"dynamics.reward_trunk.{i}", y, net["hidden"], net["norm"])
    return x, y


def average_pool(x):
    """Of 3 x 3, zeros at the edges counted."""
    sums = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    return sums / 9.0


def downsampled(w, net, x):
    large, name = max(x.shape[1:3]) > 64, "representation.widen"
    stem = conv(w, "representation.stem", x, net["channels"] // 2, stride=2)
    x = block(w, "representation.half", jax.nn.relu(norm(w, "representation.stem", stem, "batch")), "batch")
    y = jax.nn.relu(norm(w, f"{name}.conv1", conv(w, f"{name}.conv1", x, net["channels"], stride=2), "batch"))
    y = norm(w, f"{name}.conv2", conv(w, f"{name}.conv2", y, net["channels"]), "batch")
    x = jax.nn.relu(y + conv(w, f"{name}.shortcut", x, net["channels"], stride=2))
    x = average_pool(block(w, "representation.quarter", x, "batch"))
    x = block(w, "representation.eighth", x, "batch")
    return average_pool(x) if large else x


def resnet_representation(w, net, x):
    if net.get("downsample"):
        x = downsampled(w, net, x)
    else:
        x = jax.nn.relu(norm(w, "representation.stem", conv(w, "representation.stem", x, net["channels"]), "batch"))
    for i in range(net["blocks"]):
        x = block(w, f"representation.blocks.{i}", x, "batch")
    return x


def resnet_dynamics(w, net, s, action, mark):
    x = conv(w, "dynamics.stem", encode(net, s, action), net["channels"])
    x = jax.nn.relu(norm(w, "dynamics.stem", x, "batch") + s)
    for i in range(net["blocks"]):
        x = block(w, f"dynamics.blocks.{i}", x, "batch")
    x = mark(x)
    return x, x


def heads_prediction(w, net, s):
    if net["family"] == "resnet":
        for i in range(net["blocks"]):
            s = block(w, f"prediction.blocks.{i}", s, "batch")
    else:
        for i in range(net.get("trunk_layers", 2)):
            s = dense(w, f"prediction.trunk.{i}", s, net["hidden"], net["norm"])
    policy = head(w, net, "prediction.policy_head", s, net["actions"])
    return policy, head(w, net, "prediction.value_head", s, atoms_of(net, "value"))


FAMILIES = {"cumind": (cumind_representation, cumind_dynamics, cumind_prediction),
            "mlp": (mlp_representation, mlp_dynamics, heads_prediction),
            "resnet": (resnet_representation, resnet_dynamics, heads_prediction)}


def projection(w, net, s):
    sizes, x = net["consistency"], s.reshape(len(s), -1)
    for i in range(2):
        x = dense(w, f"consistency.projection.{i}", x, sizes["hidden"], net["norm"])
    return norm(w, "consistency.projection.2", linear(w, "consistency.projection.2", x, sizes["output"]), net["norm"])


def predictor(w, net, x):
    sizes = net["consistency"]
    x = dense(w, "consistency.predictor.hidden", x, sizes["predictor"], net["norm"])
    return linear(w, "consistency.predictor.output", x, sizes["output"])


# ---- losses (learning 2 and 3) ----


def transform(x):
    return jnp.sign(x) * (jnp.sqrt(jnp.abs(x) + 1) - 1) + 0.001 * x


def inverse(y):
    root = (jnp.sqrt(1 + 0.004 * (jnp.abs(y) + 1.001)) - 1) / 0.002
    return jnp.sign(y) * (root * root - 1)


def scalar_loss(support, logits, target):
    """(loss [B], decoded [B]) of a value or reward."""
    if not support:
        return (logits[:, 0] - target) ** 2, logits[:, 0]
    atoms = jnp.linspace(support["min"], support["max"], support["size"])
    step = (support["max"] - support["min"]) / (support["size"] - 1)
    place = (jnp.clip(transform(target), support["min"], support["max"]) - support["min"]) / step
    weight = jnp.maximum(0, 1 - jnp.abs(place[:, None] - jnp.arange(support["size"])))
    return -(weight * jax.nn.log_softmax(logits)).sum(1), inverse(jax.nn.softmax(logits) @ atoms)


def policy_loss(logits, target):
    log = jax.nn.log_softmax(logits)
    return -(target * log).sum(1), -(jnp.exp(log) * log).sum(1)


def cosine_loss(x, y):
    length = lambda v: jnp.maximum(jnp.sqrt((v * v).sum(1)), FLOOR)
    return -(x * y).sum(1) / (length(x) * length(y))


def unroll_scales(kind, unroll):
    """(value and policy at k = 0, those at k >= 1, reward and consistency)"""
    each = 1 / unroll if unroll else 1.0
    return {"paper": (1.0, each, each), "whole": (each,) * 3, "none": (1.0,) * 3,
            "cumind": (1 / (unroll + 1), 1 / (unroll + 1), each)}[kind]


def damped(s, factor):
    """s, whose gradient is scaled."""
    return factor * s + (1 - factor) * jax.lax.stop_gradient(s)


def step_loss(values, state, net, options, batch, rng=None):
    """The total loss of a batch and all that is reported of it. With `rng` parameters are drawn."""
    w = Weights(rng, values, state)
    represent, dynamics, predict = FAMILIES[net["family"]]
    same = lambda s: s
    tame = minmax if net["state_norm"] == "minmax" else same
    unroll, by = options["unroll"], options["loss_weights"]
    first, later, rest = unroll_scales(options["unroll_scale"], unroll)
    mean = lambda loss, mask: (batch["weights"] * mask * loss).mean()
    report = {key: [] for key in ("value_loss", "policy_loss", "entropy", "reward_loss", "consistency_loss", "value",
                                  "reward", "policy_logits")}
    total = 0.0

    def say(s, k):
        policy, value = predict(w, net, s)
        loss, decoded = scalar_loss(net["value_support"], value, batch["target_value"][:, k])
        report["value_loss"].append(mean(loss, batch["value_mask"][:, k]))
        report["value"].append(decoded)
        loss, entropy = policy_loss(policy, batch["target_policy"][:, k])
        report["policy_loss"].append(mean(loss, batch["policy_mask"][:, k]))
        report["entropy"].append(mean(entropy, batch["policy_mask"][:, k]))
        report["policy_logits"].append(policy)
        term = by["value"] * report["value_loss"][k] + by["policy"] * report["policy_loss"][k]
        return (later if k else first) * (term - by["entropy"] * report["entropy"][k])

    damp = lambda s: damped(s, options["hidden_gradient_scale"])
    paper = damp if options["hidden_gradient_form"] == "paper" else same
    hook = damp if options["hidden_gradient_form"] == "hook" else same
    is_raw = net["state_norm"] == "none"  # then the reward head, too, reads the state that the hook is on
    s = tame(represent(w, net, batch["observation"]))
    rewards = Rewards(w, net, len(s))
    total += say(s, 0)
    for k in range(unroll):
        after, y = dynamics(w, net, paper(s) if k else s, batch["actions"][:, k], hook if is_raw else same)
        loss, decoded = scalar_loss(net["reward_support"], rewards(y), batch["target_reward"][:, k])
        report["reward_loss"].append(mean(loss, batch["reward_mask"][:, k]))
        report["reward"].append(decoded)
        total += rest * by["reward"] * report["reward_loss"][k]
        s = after if is_raw else hook(minmax(after))
        total += say(s, k + 1)
        if net["consistency"]:
            seen = tame(represent(w, net, batch["target_observations"][:, k]))
            online = predictor(w, net, projection(w, net, s))
            loss = cosine_loss(online, jax.lax.stop_gradient(projection(w, net, seen)))
            report["consistency_loss"].append(mean(loss, batch["consistency_mask"][:, k]))
            total += rest * by["consistency"] * report["consistency_loss"][k]
    for key in ("value", "reward", "policy_logits"):
        report[key] = jnp.stack(report[key], axis=1) if report[key] else None
    return total, (report, w.state)


# ---- the update (learning 3.3 and 7) ----


def decays(o, name):
    return o["decay"] == "all" or name.endswith(".weight")


def updated(o, name, value, gradient):
    """A parameter after the first step; moments begin at 0."""
    rate, decay = o["schedule"]["learning_rate"], o["weight_decay"] if decays(o, name) else 0.0
    if o["type"] != "adamw":
        gradient = gradient + decay * value
    if o["type"] == "sgd":
        return value - rate * gradient
    move = gradient / (np.abs(gradient) + o["epsilon"])  # both moments are corrected to the gradient itself
    return value - rate * (move + (decay * value if o["type"] == "adamw" else 0.0))


def sampled(x):
    """At most 48 elements of row-major data."""
    flat = np.ravel(x)
    m = min(flat.size, 48)
    at = [int(np.floor(i * (flat.size - 1) / max(m - 1, 1) + 0.5)) for i in range(m)]
    return flat[at]


# ---- drawing ----


def pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def draw_network(rng, family):
    image = family == "resnet" or (family == "cumind" and rng.random() < 0.4)
    observation = [int(n) for n in (*rng.integers(3, 7, 2), rng.integers(1, 4))] if image else [int(rng.integers(1, 9))]
    support = lambda low, high, size: {"min": low, "max": high, "size": size}
    supports = [None, support(-10, 10, 21), support(-5, 3, 17), support(0, 9, 10)]
    net = {"family": family, "observation": observation, "actions": int(rng.integers(2, 10)), "norm": "none",
           "state_norm": "none", "value_support": None, "reward_support": None, "consistency": None, "value_prefix": None}
    if family == "cumind":
        return net | {"hidden": int(rng.integers(4, 20)), "blocks": int(rng.integers(1, 4))} | (
            {"channels": int(rng.integers(2, 6))} if image else {})
    net |= {"value_support": pick(rng, *supports), "reward_support": pick(rng, *supports),
            "state_norm": pick(rng, "none", "minmax"), "head_hidden": int(rng.integers(2, 9)),
            "consistency": pick(rng, None, {"hidden": 6, "output": 5, "predictor": 4}),
            "value_prefix": pick(rng, None, {"horizon": int(rng.integers(1, 4)), "lstm": int(rng.integers(1, 9))})}
    if family == "resnet":
        net |= {"norm": "batch", "channels": int(rng.integers(2, 6)), "blocks": int(rng.integers(1, 3)),
                "head_channels": int(rng.integers(1, 4)), "action_encoding": pick(rng, "onehot", "scaled", "board")}
        if rng.random() < 0.4:  # pictures, a few of them large
            low, high = pick(rng, (16, 30), (16, 30), (16, 30), (65, 70))
            net |= {"observation": [*(int(n) for n in rng.integers(low, high, 2)), observation[2]], "downsample": True,
                    "channels": 2 * int(rng.integers(2, 5)), "action_encoding": pick(rng, "onehot", "scaled")}
        return net
    net |= {"norm": pick(rng, "none", "layer", "batch"), "hidden": int(rng.integers(4, 20)),
            "residual_dynamics": bool(rng.random() < 0.5), "action_encoding": pick(rng, "onehot", "scaled")}
    if rng.random() < 0.4:
        net |= {"body": "plain", "residual_dynamics": False}
    return net | ({"trunk_layers": int(rng.integers(0, 3))} if rng.random() < 0.5 else {})


def draw_options(rng, net):
    number = lambda *choices: float(pick(rng, *choices))
    kind = pick(rng, "sgd", "adam", "adamw")
    optimizer = {"type": kind, "schedule": {"type": "constant", "learning_rate": number(0.003, 0.05)},
                 "weight_decay": number(0, 0.01, 0.3), "decay": pick(rng, "all", "weights"),
                 "clip_norm": number(0, 0.5, 5)}
    optimizer |= {"momentum": number(0, 0.9)} if kind == "sgd" else {"beta1": 0.9, "beta2": 0.999, "epsilon": 0.01}
    weights = {"value": number(0.25, 1), "policy": number(0.5, 1), "reward": number(0.5, 1),
               "consistency": number(1, 2) if net["consistency"] else 0.0, "entropy": number(0, 0.05)}
    return {"unroll": int(rng.integers(1, 5)), "batch": int(rng.integers(5, 20)), "loss_weights": weights,
            "unroll_scale": pick(rng, "paper", "whole", "cumind", "none"),
            "hidden_gradient_scale": number(0.25, 0.5, 1), "hidden_gradient_form": pick(rng, "paper", "hook", "none"),
            "priority_epsilon": 1e-6, "optimizer": optimizer}


def draw_batch(rng, net, options):
    B, K, A = options["batch"], options["unroll"], net["actions"]
    numbers = lambda *size: np.float32(rng.normal(size=size)).astype(np.float64)
    mask = lambda *size: (rng.random(size) < 0.8).astype(np.float64)
    target = np.float32(rng.dirichlet(np.ones(A), (B, K + 1))).astype(np.float64)
    batch = {"observation": numbers(B, *net["observation"]), "actions": rng.integers(0, A, (B, K)),
             "target_value": 6 * numbers(B, K + 1), "target_reward": 3 * numbers(B, K), "target_policy": target,
             "value_mask": mask(B, K + 1), "reward_mask": mask(B, K), "policy_mask": mask(B, K + 1),
             "consistency_mask": mask(B, K), "weights": np.float32(rng.uniform(0.2, 1, B)).astype(np.float64)}
    batch["target_policy"] *= batch["policy_mask"][..., None]
    if net["consistency"]:
        batch["target_observations"] = numbers(B, K, *net["observation"])
    return batch


# ---- the file ----


def leaf(x):
    x = np.asarray(x)
    return {"shape": list(x.shape), "data": np.ravel(x).tolist()}


def bounds(expected):
    """(path, bound) of each leaf: a share of its largest number, which single precision keeps and a wrong formula does
    not. A gradient that is 0 (of a bias in front of batch norm) is so to a share of the whole gradient."""
    for key, x in expected.items():
        least = 1e-5 * expected["gradient_norm"] if key == "gradients" else 1e-6
        rows = x.items() if isinstance(x, dict) and "data" not in x else [(None, x)]
        for name, row in rows:
            most = np.abs(row["data"] if isinstance(row, dict) else row).max()
            yield f"{key}/{name}" if name else key, [2e-4 * float(most) + least, 2e-4, None]


def make(seed, index):
    rng = np.random.default_rng([seed, index])
    net = draw_network(rng, list(FAMILIES)[index % len(FAMILIES)])
    options = draw_options(rng, net)
    batch = draw_batch(rng, net, options)
    values, state = {}, {}
    step_loss(values, state, net, options, batch, rng)  # draws them
    loss = jax.jit(jax.value_and_grad(lambda v: step_loss(v, state, net, options, batch), has_aux=True))
    (total, (report, after)), gradients = loss(values)
    length = float(np.sqrt(sum((np.asarray(g) ** 2).sum() for g in gradients.values())))
    o = options["optimizer"]
    factor = min(1.0, o["clip_norm"] / (length + 1e-6)) if o["clip_norm"] > 0 else 1.0
    expected = {key: leaf(jnp.stack(x) if isinstance(x, list) else x) for key, x in report.items() if len(x)}
    expected |= {"total_loss": float(total), "gradient_norm": length, "learning_rate": o["schedule"]["learning_rate"],
                 "gradients": {name: leaf(g) for name, g in gradients.items()},
                 "priorities": leaf(np.abs(report["value"][:, 0] - batch["target_value"][:, 0]) + 1e-6),
                 "parameters_after": {name: leaf(sampled(updated(o, name, x, factor * np.asarray(gradients[name]))))
                                      for name, x in values.items()}}
    if state:
        expected["state_after"] = {name: leaf(x) for name, x in after.items()}
    return f"train_{net['family']}_{seed}_{index}", {
        "format": "cumind-learning-case-1", "kind": "train_step", "network": net, "options": options,
        "parameter_count": int(sum(x.size for x in values.values())),
        "inputs": {"parameters": {name: leaf(x) for name, x in values.items()},
                   "state": {name: leaf(x) for name, x in state.items()},
                   "batch": {name: leaf(x) for name, x in batch.items()}},
        "expected": expected, "tolerance": {"float32": dict(bounds(expected))}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=30, help="steps to draw")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for index in range(args.count):
        name, case = make(args.seed, index)
        (args.folder / f"{name}.json").write_text(json.dumps({"name": name, **case}, allow_nan=False))
        jax.clear_caches()
    print(f"{args.folder}: {args.count} training steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
