"""Writes random operations, losses, targets, priorities, schedules and optimizer runs as reference cases: in JAX, float64,
from the definitions alone; gradients are JAX's own.

Shapes, options and masks are drawn. `cumind test-cases DIR` then has to find the same numbers.
"""
import argparse
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from training_cases import cosine_loss, inverse, leaf, minmax, pick, transform

LARGE = -1e30  # a logit that is masked


def numbers(rng, *size, by=1.0):
    return np.float32(by * rng.normal(size=size)).astype(np.float64)


def sizes(rng, *most):
    return [int(rng.integers(1, m + 1)) for m in most]


def forward_and_back(rng, inputs, function, fixed=(), outputs="y"):
    """The case of y = function(**inputs) and the gradient of sum dy y to all inputs but the fixed ones."""
    free = {name: jnp.asarray(x) for name, x in inputs.items() if name not in fixed}
    rest = {name: inputs[name] for name in fixed}
    y, back = jax.vjp(lambda free: function(**free, **rest), free)
    dy = numbers(rng, *y.shape)
    gradients = back(jnp.asarray(dy))[0]
    expected = {outputs: y} | {f"d{name}": g for name, g in gradients.items()}
    return {**inputs, "dy": dy}, expected


# ---- operations ----

ACTIVATIONS = {"none": lambda x: x, "relu": jax.nn.relu, "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
               "elu": jax.nn.elu, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus}


def activation(rng):
    name = pick(rng, *ACTIVATIONS)
    x = numbers(rng, *sizes(rng, 40, 3), by=4)
    return {"activation": name}, *forward_and_back(rng, {"x": x}, lambda x: ACTIVATIONS[name](x))


def dense(rng):
    rows, inner, outer = sizes(rng, 70, 70, 70)
    name = pick(rng, *ACTIVATIONS)
    inputs = {"x": numbers(rng, rows, inner), "weight": numbers(rng, outer, inner)}
    inputs |= {"bias": numbers(rng, outer)} if rng.random() < 0.7 else {}
    return {"activation": name}, *forward_and_back(
        rng, inputs, lambda x, weight, bias=0.0: ACTIVATIONS[name](x @ weight.T + bias))


def conv2d(rng):
    height, width, inner, outer = (*sizes(rng, 9, 9), *(int(c) for c in rng.choice([1, 3, 4, 8, 16, 17, 32, 33], 2)))
    taps, stride = pick(rng, (1, 1), (3, 1), (3, 2))
    name = pick(rng, "none", "relu")
    inputs = {"x": numbers(rng, int(rng.integers(1, 5)), height, width, inner),
              "weight": numbers(rng, outer, taps, taps, inner)}
    inputs |= {"bias": numbers(rng, outer)} if rng.random() < 0.5 else {}

    def run(x, weight, bias=0.0):
        y = jax.lax.conv_general_dilated(x, weight, (stride, stride), [(taps // 2, taps // 2)] * 2,
                                         dimension_numbers=("NHWC", "OHWI", "NHWC"))
        return ACTIVATIONS[name](y + bias)

    options = {"stride": stride, "padding": taps // 2, "activation": name, "layout": "x NHWC, weight OHWI"}
    return options, *forward_and_back(rng, inputs, run)


def layer_norm(rng):
    axes = pick(rng, 1, 3)
    shape = sizes(rng, 6, 6, 6, 9) if axes == 3 else [*sizes(rng, 12), int(rng.integers(2, 70))]

    def run(x, scale, shift):
        over = tuple(range(x.ndim - axes, x.ndim))
        return scale * (x - x.mean(over, keepdims=True)) / jnp.sqrt(x.var(over, keepdims=True) + 1e-5) + shift

    inputs = {"x": numbers(rng, *shape), "scale": numbers(rng, *shape[-axes:]), "shift": numbers(rng, *shape[-axes:])}
    return {"epsilon": 1e-5, "axes": axes}, *forward_and_back(rng, inputs, run)


def batch_norm(rng):
    channels = int(rng.integers(1, 9))
    shape = [*sizes(rng, 4, 5, 5), channels] if rng.random() < 0.5 else [int(rng.integers(3, 40)), channels]
    shape[0] += 1
    x, training, momentum = numbers(rng, *shape), bool(rng.random() < 0.7), float(pick(rng, 0.1, 0.01, 0.5))
    mean, variance = numbers(rng, channels), np.float32(rng.uniform(0.5, 2, channels)).astype(np.float64)
    over, n = tuple(range(x.ndim - 1)), x.size // channels

    def run(x, scale, shift, running_mean, running_var):
        at, spread = (x.mean(over), x.var(over)) if training else (running_mean, running_var)
        return scale * (x - at) / jnp.sqrt(spread + 1e-5) + shift

    inputs = {"x": x, "scale": numbers(rng, channels), "shift": numbers(rng, channels), "running_mean": mean,
              "running_var": variance}
    inputs, expected = forward_and_back(rng, inputs, run, fixed=("running_mean", "running_var"))
    kept = 1 - momentum if training else 1.0
    expected |= {"running_mean_after": kept * mean + (1 - kept) * x.mean(over),
                 "running_var_after": kept * variance + (1 - kept) * x.var(over) * n / (n - 1)}
    return {"training": training, "momentum": momentum, "epsilon": 1e-5}, inputs, expected


def avg_pool(rng):
    def run(x):
        edges = [(0, 0), (1, 1), (1, 1), (0, 0)]
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 2, 2, 1), edges) / 9

    inputs = {"x": numbers(rng, *sizes(rng, 4, 9, 9, 6))}
    return {"kernel": 3, "stride": 2, "padding": 1}, *forward_and_back(rng, inputs, run)


def global_mean(rng):
    return {}, *forward_and_back(rng, {"x": numbers(rng, *sizes(rng, 4, 9, 9, 6))}, lambda x: x.mean((1, 2)))


def minmax_scaling(rng):
    over = pick(rng, "sample", "channel")
    shape = sizes(rng, 4, 7, 7, 5) if over == "channel" else [*sizes(rng, 9), int(rng.integers(2, 70))]
    x = numbers(rng, *shape, by=pick(rng, 1.0, 1e-6))

    def run(x):
        if over == "sample":
            return minmax(x)
        planes = jnp.moveaxis(x, 3, 1).reshape(-1, x.shape[1] * x.shape[2])
        return jnp.moveaxis(minmax(planes).reshape(x.shape[0], x.shape[3], *x.shape[1:3]), 1, 3)

    return {"over": over}, *forward_and_back(rng, {"x": x}, run)


def action_encoding(rng):
    is_plane = rng.random() < 0.6
    encoding = pick(rng, "onehot", "scaled", "board") if is_plane else pick(rng, "onehot", "scaled")
    shape = sizes(rng, 4, 6, 6, 4) if is_plane else sizes(rng, 6, 9)
    actions = shape[1] * shape[2] + 1 if encoding == "board" else int(rng.integers(1, 9))
    action = rng.integers(0, actions, shape[0])

    def run(state, action):
        if encoding == "board":
            code = jax.nn.one_hot(action, actions - 1).reshape(*state.shape[:3], 1)
        else:
            code = jax.nn.one_hot(action, actions) if encoding == "onehot" else (action / actions)[:, None]
            code = jnp.broadcast_to(code[:, None, None], state.shape[:3] + code.shape[-1:]) if is_plane else code
        return jnp.concatenate([state, code.astype(state.dtype)], axis=-1)

    inputs = {"state": numbers(rng, *shape), "action": action}
    return {"encoding": encoding, "actions": actions}, *forward_and_back(rng, inputs, run, fixed=("action",))


def embedding_add(rng):
    rows, width, actions = sizes(rng, 20, 40, 6)
    inputs = {"state": numbers(rng, rows, width), "table": numbers(rng, actions, width),
              "action": rng.integers(0, actions, rows)}
    return {}, *forward_and_back(rng, inputs, lambda state, table, action: state + table[action], fixed=("action",))


def simnorm(rng):
    group, groups = int(pick(rng, 1, 2, 4, 8)), int(rng.integers(1, 9))
    run = lambda x: jax.nn.softmax(x.reshape(len(x), groups, group)).reshape(x.shape)
    return {"group": group}, *forward_and_back(rng, {"x": numbers(rng, *sizes(rng, 6), group * groups, by=3)}, run)


def legal_mask(rng, rows, columns):
    legal = (rng.random((rows, columns)) < 0.7).astype(np.int64)
    legal[np.arange(rows), rng.integers(0, columns, rows)] = 1
    return legal


def softmax(rng):
    rows, columns = sizes(rng, 9, 90)
    inputs = {"x": numbers(rng, rows, columns, by=3), "legal": legal_mask(rng, rows, columns)}
    run = lambda x, legal: jax.nn.softmax(jnp.where(legal == 1, x, LARGE))
    return {}, *forward_and_back(rng, inputs, run, fixed=("legal",))


def log_softmax(rng):
    return {}, *forward_and_back(rng, {"x": numbers(rng, *sizes(rng, 9, 90), by=3)}, jax.nn.log_softmax)


def lstm(rng):
    steps, rows, inner, width = sizes(rng, 7, 5, 9, 9)
    horizon = int(rng.integers(0, 6))

    def run(x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh):
        h, c, seen = h0, c0, []
        for k in range(steps):
            i, f, g, o = jnp.split(x[k] @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            seen.append(h)
            if horizon and (k + 1) % horizon == 0:
                h, c = 0 * h, 0 * c
        return jnp.stack(seen)

    inputs = {"x": numbers(rng, steps, rows, inner), "h0": numbers(rng, rows, width), "c0": numbers(rng, rows, width),
              "weight_ih": numbers(rng, 4 * width, inner), "weight_hh": numbers(rng, 4 * width, width),
              "bias_ih": numbers(rng, 4 * width), "bias_hh": numbers(rng, 4 * width)}
    return {"horizon": horizon}, *forward_and_back(rng, inputs, run)


# ---- losses ----


def draw_support(rng):
    low, size = int(rng.integers(-30, 1)), int(rng.integers(2, 70))
    return {"min": low, "max": low + int(rng.integers(1, 60)), "size": size}


def project(support, value, with_transform):
    y = transform(value) if with_transform else value
    step = (support["max"] - support["min"]) / (support["size"] - 1)
    place = (jnp.clip(y, support["min"], support["max"]) - support["min"]) / step
    return jnp.maximum(0, 1 - jnp.abs(place[:, None] - jnp.arange(support["size"])))


def decode(support, probability, with_transform):
    y = probability @ jnp.linspace(support["min"], support["max"], support["size"])
    return inverse(y) if with_transform else y


def value_transform(rng):
    x = numbers(rng, 30, by=pick(rng, 0.1, 10, 1000))
    clamp = float(pick(rng, 20, 600))
    return {"epsilon": 0.001, "inverse_clamp": clamp}, {"x": x}, {"h": transform(x),
                                                                  "h_inverse": inverse(np.clip(x, -clamp, clamp))}


def two_hot(rng):
    support, with_transform = draw_support(rng), bool(rng.random() < 0.6)
    value = numbers(rng, 15, by=pick(rng, 1, 30))
    weight = project(support, value, with_transform)
    return {"support": support, "transform": with_transform}, {"value": value}, {
        "two_hot": weight, "decoded": decode(support, weight, with_transform)}


def categorical_loss(rng):
    support, with_transform, rows = draw_support(rng), bool(rng.random() < 0.6), int(rng.integers(1, 20))
    inputs = {"logits": numbers(rng, rows, support["size"], by=2), "target": numbers(rng, rows, by=pick(rng, 1, 30))}
    run = lambda logits, target: -(project(support, target, with_transform) * jax.nn.log_softmax(logits)).sum(1)
    inputs, expected = forward_and_back(rng, inputs, run, fixed=("target",), outputs="loss")
    expected["decoded"] = decode(support, jax.nn.softmax(inputs["logits"]), with_transform)
    return {"support": support, "transform": with_transform}, inputs, expected


def policy_loss(rng):
    rows, actions = sizes(rng, 20, 40)
    form, masked, bonus = pick(rng, "ce", "kl"), bool(rng.random() < 0.5), float(pick(rng, 0, 0.05, 1))
    legal = legal_mask(rng, rows, actions)
    target = np.float32(rng.dirichlet(np.ones(actions), rows) * legal)
    target = np.float32(target / np.maximum(target.sum(1, keepdims=True), 1e-9)).astype(np.float64)
    target[rng.random(rows) < 0.2] = 0
    logits, dy = numbers(rng, rows, actions, by=3), numbers(rng, rows)

    def parts(logits):
        log = jax.nn.log_softmax(jnp.where(legal == 1, logits, LARGE) if masked else logits)
        own = jnp.where(target > 0, jnp.log(jnp.maximum(target, 1e-300)), 0.0) if form == "kl" else 0.0
        log = jnp.maximum(log, LARGE / 2)  # 0 times it is 0
        return (target * (own - log)).sum(1), -(jnp.exp(log) * log).sum(1)

    def total(logits):
        loss, entropy = parts(logits)
        return (dy * (loss - bonus * entropy)).sum()

    loss, entropy = parts(logits)
    return {"form": form, "mask_illegal": masked, "entropy_weight": bonus}, {
        "logits": logits, "target": target, "legal": legal, "dy": dy}, {
        "loss": loss, "entropy": entropy, "dlogits": jax.grad(total)(logits)}


def scalar_loss(rng):
    rows = int(rng.integers(1, 40))
    inputs = {"prediction": numbers(rng, rows), "target": numbers(rng, rows)}
    return {}, *forward_and_back(rng, inputs, lambda prediction, target: (prediction - target) ** 2, fixed=("target",))


def consistency_loss(rng):
    rows, width = sizes(rng, 12, 60)
    inputs = {"x": numbers(rng, rows, width), "target": numbers(rng, rows, width),
              "mask": (rng.random(rows) < 0.8).astype(np.float64)}
    run = lambda x, target, mask: mask * cosine_loss(x, target)
    return {}, *forward_and_back(rng, inputs, run, fixed=("target", "mask"))


# ---- targets, priorities, schedules, optimizers ----


def targets(rng):
    T, K, A, n = (*sizes(rng, 12, 7, 5), int(rng.integers(1, 9)))
    ended, players = pick(rng, "terminated", "truncated"), int(rng.integers(1, 3))
    discount = float(pick(rng, 0.9, 1, 0.997))
    horizon, smoothing = int(pick(rng, 0, 0, 3, 5)), float(pick(rng, 0, 0.1))
    stored = T + (ended == "truncated")
    rewards, values = numbers(rng, T), numbers(rng, stored)
    to_play = rng.integers(0, 2, stored) if players == 2 else np.zeros(stored, dtype=np.int64)
    counts = rng.integers(0, 20, (T, A))
    counts[:, 0] += 1
    positions = np.unique(rng.integers(0, T, 6))

    def value_at(t):
        if t >= T:
            return 0.0
        sign = lambda j: 1.0 if to_play[j] == to_play[t] else -1.0
        steps = min(n, T - t)
        z = sum(discount ** i * sign(t + i) * rewards[t + i] for i in range(steps))
        return z + discount ** steps * sign(t + steps) * values[t + steps] if t + steps < stored else z

    def reward_at(t, k):
        if not horizon:
            return rewards[t + k] if t + k < T else 0.0
        return sum(rewards[j] for j in range(t + k // horizon * horizon, t + k + 1) if j < T)

    share = counts / counts.sum(1, keepdims=True)
    policy = share * (1 - smoothing) + smoothing / A
    inside = lambda t: float(t < T)
    known = lambda t: 1.0 if ended == "terminated" else inside(t)
    each = lambda f, first, last: np.array([[f(t, k) for k in range(first, last)] for t in positions], dtype=np.float64)
    expected = {"value": each(lambda t, k: value_at(t + k), 0, K + 1), "reward": each(reward_at, 0, K),
                "policy": each(lambda t, k: policy[t + k] if t + k < T else np.zeros(A), 0, K + 1),
                "value_mask": each(lambda t, k: known(t + k), 0, K + 1),
                "reward_mask": each(lambda t, k: known(t + k), 0, K),
                "policy_mask": each(lambda t, k: inside(t + k), 0, K + 1),
                "consistency_mask": each(lambda t, k: float(t + k <= T), 1, K + 1)}
    options = {"td_steps": n, "discount": discount, "unroll": K, "end": ended, "players": players,
               "value_prefix_horizon": horizon, "policy_smoothing": smoothing}
    return options, {"rewards": rewards, "root_values": values, "to_play": to_play, "visit_counts": counts,
                     "positions": positions}, expected


def dynamic_td_steps(rng):
    n, collected, interval = (int(x) for x in (rng.integers(1, 10), rng.integers(1, 10000), rng.integers(1, 3000)))
    index = rng.integers(0, collected, 20)
    return {"td_steps": n, "collected": collected, "interval": interval}, {"index": index}, {
        "td_steps": np.clip(n - (collected - index) // interval, 1, n)}


def priorities(rng):
    n = int(rng.integers(1, 30))
    alpha, beta = (float(pick(rng, 0, 0.4, 0.6, 1)) for _ in range(2))
    priority, is_nan = np.float32(rng.exponential(size=n)).astype(np.float64), (rng.random(n) < 0.1).astype(np.int64)
    priority[is_nan == 1] = 0
    held = np.where(is_nan == 1, priority[is_nan == 0].max() if (is_nan == 0).any() else 1.0, priority)
    chance = held ** alpha / (held ** alpha).sum()
    sample = rng.integers(0, n, int(rng.integers(1, 9)))
    weight = (n * chance[sample]) ** -beta
    root, target = numbers(rng, 6), numbers(rng, 6)
    return {"alpha": alpha, "beta": beta, "epsilon": 1e-6}, {
        "priority": priority, "is_nan": is_nan, "sample": sample, "root_value": root, "value_target": target}, {
        "probability": chance, "weight": weight / weight.max(), "initial_priority": np.abs(root - target) + 1e-6}


def draw_schedule(rng):
    kind = pick(rng, "constant", "step", "exponential", "piecewise", "cosine")
    schedule = {"type": kind, "learning_rate": float(pick(rng, 0.1, 0.003))}
    schedule |= {"warmup_steps": int(rng.integers(1, 20))} if rng.random() < 0.5 else {}
    if kind in ("step", "exponential"):
        schedule |= {"decay_rate": float(pick(rng, 0.1, 0.8)), "decay_steps": int(rng.integers(1, 40))}
    if kind in ("piecewise", "cosine"):
        schedule["total_steps"] = int(rng.integers(2, 90))
    return schedule | ({"final_learning_rate": 1e-4} if kind == "cosine" and rng.random() < 0.5 else {})


def rate_at(schedule, step):
    rate, warm = schedule["learning_rate"], schedule.get("warmup_steps", 0)
    if step < warm:
        return rate * step / warm
    s, kind = step - warm, schedule["type"]
    if kind == "step":
        return rate * schedule["decay_rate"] ** (s // schedule["decay_steps"])
    if kind == "exponential":
        return rate * schedule["decay_rate"] ** (s / schedule["decay_steps"])
    if kind == "piecewise":
        return rate * (1 if 2 * s < schedule["total_steps"] else 0.1 if s < schedule["total_steps"] else 0.01)
    if kind == "cosine":
        last, total = schedule.get("final_learning_rate", 0.0), schedule["total_steps"]
        return last + (rate - last) * 0.5 * (1 + np.cos(np.pi * min(s, total) / total))
    return rate


def schedule(rng):
    drawn = draw_schedule(rng)
    step = np.unique(rng.integers(0, 130, 20))
    return {"schedule": drawn}, {"step": step}, {"learning_rate": np.array([rate_at(drawn, int(s)) for s in step])}


def muon(rng, o):
    """Steps of PyTorch's Muon, which multiplies in bfloat16, on matrices, with a learning rate that fits AdamW's."""
    import torch

    o |= {"momentum": float(pick(rng, 0.95, 0.5)), "compute": "bfloat16"}
    values = {"layer.%d.weight" % i: numbers(rng, *sizes(rng, 20, 20)) for i in range(3)}
    gradients = [{name: numbers(rng, *value.shape) for name, value in values.items()} for _ in range(5)]
    matrices = {name: torch.nn.Parameter(torch.tensor(value, dtype=torch.float32)) for name, value in values.items()}
    optimizer, steps = torch.optim.Muon(matrices.values(), momentum=o["momentum"], weight_decay=o["weight_decay"],
                                        adjust_lr_fn="match_rms_adamw"), []
    for t, gradient in enumerate(gradients):
        rate, length = rate_at(o["schedule"], t), float(np.sqrt(sum((g ** 2).sum() for g in gradient.values())))
        factor = min(1.0, o["clip_norm"] / (length + 1e-6)) if o["clip_norm"] > 0 else 1.0
        optimizer.param_groups[0]["lr"] = rate
        for name, matrix in matrices.items():
            matrix.grad = torch.tensor(factor * gradient[name], dtype=torch.float32)
        optimizer.step()
        steps.append({"learning_rate": rate, "gradient_norm": length,
                      "parameters": {name: matrix.detach().double().numpy().copy() for name, matrix in matrices.items()},
                      "first_moment": {name: optimizer.state[matrix]["momentum_buffer"].double().numpy().copy()
                                       for name, matrix in matrices.items()}})
    return {"optimizer": o}, {"parameters": values, "gradients": gradients}, {"steps": steps}


def optimizer(rng):
    kind, number = pick(rng, "sgd", "adam", "adamw", "muon"), lambda *choices: float(pick(rng, *choices))
    o = {"type": kind, "schedule": draw_schedule(rng), "weight_decay": number(0, 0.01, 0.3),
         "decay": pick(rng, "all", "weights"), "clip_norm": number(0, 0.5, 5)}
    if kind == "muon":
        return muon(rng, o)
    o |= {"momentum": number(0, 0.9)} if kind == "sgd" else {"beta1": number(0.9, 0.5), "beta2": number(0.999, 0.9),
                                                             "epsilon": number(1e-8, 1e-3)}
    outer, inner = sizes(rng, 9, 9)
    shapes = {"layer.weight": (outer, inner), "layer.bias": (outer,), "layer.norm.scale": (outer,),
              "embedding.table": (inner, 2)}
    values = {name: numbers(rng, *shape) for name, shape in shapes.items()}
    gradients = [{name: numbers(rng, *shape) for name, shape in shapes.items()} for _ in range(5)]
    start, steps = dict(values), []
    first, second = ({name: np.zeros(shape) for name, shape in shapes.items()} for _ in range(2))
    for t, gradient in enumerate(gradients):
        rate, length = rate_at(o["schedule"], t), float(np.sqrt(sum((g ** 2).sum() for g in gradient.values())))
        factor = min(1.0, o["clip_norm"] / (length + 1e-6)) if o["clip_norm"] > 0 else 1.0
        for name, g in gradient.items():
            decay = o["weight_decay"] if o["decay"] == "all" or name.endswith(".weight") else 0.0
            g = factor * g + (0.0 if kind == "adamw" else decay * values[name])
            if kind == "sgd":
                first[name] = o["momentum"] * first[name] + g
                values[name] = values[name] - rate * first[name]
                continue
            first[name] = o["beta1"] * first[name] + (1 - o["beta1"]) * g
            second[name] = o["beta2"] * second[name] + (1 - o["beta2"]) * g * g
            move = first[name] / (1 - o["beta1"] ** (t + 1)) / (
                np.sqrt(second[name] / (1 - o["beta2"] ** (t + 1))) + o["epsilon"])
            values[name] = values[name] - rate * (move + (decay * values[name] if kind == "adamw" else 0.0))
        step = {"learning_rate": rate, "gradient_norm": length, "parameters": dict(values), "first_moment": dict(first)}
        steps.append(step if kind == "sgd" else step | {"second_moment": dict(second)})
    return {"optimizer": o}, {"parameters": start, "gradients": gradients}, {"steps": steps}


KINDS = {"activation": activation, "dense": dense, "conv2d": conv2d, "layer_norm": layer_norm, "batch_norm": batch_norm,
         "avg_pool": avg_pool, "global_mean": global_mean, "minmax": minmax_scaling, "action_encoding": action_encoding,
         "embedding_add": embedding_add, "simnorm": simnorm, "softmax": softmax, "log_softmax": log_softmax,
         "lstm": lstm, "value_transform": value_transform, "two_hot": two_hot, "categorical_loss": categorical_loss,
         "policy_loss": policy_loss, "scalar_loss": scalar_loss, "consistency_loss": consistency_loss,
         "targets": targets, "dynamic_td_steps": dynamic_td_steps, "priorities": priorities, "schedule": schedule,
         "optimizer": optimizer}


def written(x):
    if isinstance(x, dict):
        return {key: written(part) for key, part in x.items()}
    if isinstance(x, list):
        return [written(part) for part in x]
    return float(x) if np.ndim(x) == 0 else leaf(x)


def bounds(x, path=""):
    """(path, bound) of each leaf: what single precision keeps of its largest number."""
    if isinstance(x, dict) or isinstance(x, list):
        for key, part in x.items() if isinstance(x, dict) else enumerate(x):
            yield from bounds(part, f"{path}/{key}" if path else str(key))
        return
    yield path, [5e-5 * float(np.abs(x).max()) + 1e-6, 5e-5, None]


def allow_bfloat16(expected, tolerance):
    """Of Muon, whose updates are products in bfloat16: a sum that another order rounds the other way moves a parameter by the learning
    rates so far, times the size that an update has (0.2 sqrt of the longer side), times what bfloat16 keeps."""
    rates = 0.0
    for t, step in enumerate(expected["steps"]):
        rates += step["learning_rate"]
        for name, matrix in step["parameters"].items():
            tolerance[f"steps/{t}/parameters/{name}"][0] += rates * 0.2 * float(np.sqrt(max(matrix.shape))) * 2.0**-7


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=10, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for at, (kind, draw) in enumerate(KINDS.items()):
        for index in range(args.count):
            options, inputs, expected = draw(np.random.default_rng([args.seed, at, index]))
            name, tolerance = f"{kind}_{args.seed}_{index}", dict(bounds(expected))
            if options.get("optimizer", {}).get("type") == "muon":
                allow_bfloat16(expected, tolerance)
            case = {"format": "cumind-learning-case-1", "kind": kind, "name": name, "options": options,
                    "inputs": written(inputs), "expected": written(expected),
                    "tolerance": {"float32": tolerance}}
            (args.folder / f"{name}.json").write_text(json.dumps(case, allow_nan=False))
        jax.clear_caches()
    print(f"{args.folder}: {args.count * len(KINDS)} operations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
