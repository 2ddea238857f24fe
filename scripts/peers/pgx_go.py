"""Moves per second of self-play of Go 9x9 in JAX: pgx's environments, mctx's Gumbel MuZero search, residual networks.

The counterpart of `cumind benchmark act` with go9 and family=resnet (docs/spec/networks.md 3 and 12): representation,
dynamics and prediction of --blocks residual blocks each, heads of a 1x1 convolution and two dense layers. An action is one plane
(action_encoding board). pgx shows 17 planes.

Searches, steps of the environments and their resets are one jitted loop of --moves moves, so the host does nothing in
between. Convolutions compute in bfloat16. Norms are in inference mode, hence an affine map that is already part of the
weights and biases, which lets XLA fuse convolution, bias, residual and ReLU. Weights are random and fresh.

Model "learnt" is MuZero; model "rules" is AlphaZero, whose search steps pgx's environments and evaluates what they show
with representation and prediction. Prints one line of JSON; the figures are medians over calls of the loop.
"""
import argparse
import functools
import importlib.metadata
import json
import math
import time

import jax
import jax.numpy as jnp
import mctx
import pgx
from pgx.experimental.wrappers import auto_reset

BOARD, ATOMS = 9, (-1.0, 0.0, 1.0)


# ---- network ----


def layer(key, *shape):
    """The last two dimensions are inputs and outputs."""
    deviation = math.sqrt(2.0 / math.prod(shape[:-1]))
    return {"w": (deviation * jax.random.normal(key, shape)).astype(jnp.bfloat16), "b": jnp.zeros(shape[-1], jnp.bfloat16)}


def tower(key, count, channels):
    return [[layer(k, 3, 3, channels, channels) for k in jax.random.split(pair)] for pair in jax.random.split(key, count)]


def head(key, args, outputs):
    keys, (planes, hidden) = jax.random.split(key, 3), args.head
    return [layer(keys[0], 1, 1, args.channels, planes), layer(keys[1], planes * BOARD * BOARD, hidden),
            layer(keys[2], hidden, outputs)]


def filled(planes):
    """Channels up to a multiple of eight, which tensor cores want."""
    return -(-planes // 8) * 8


def parameters(key, args, planes, actions):
    keys, c = jax.random.split(key, 8), args.channels
    return {
        "representation": [layer(keys[0], 3, 3, filled(planes), c), tower(keys[1], args.blocks, c)],
        "dynamics": [layer(keys[2], 3, 3, filled(c + 1), c), tower(keys[3], args.blocks, c)],
        "reward": head(keys[4], args, len(ATOMS)),
        "trunk": tower(keys[5], args.blocks, c),
        "policy": head(keys[6], args, actions),
        "value": head(keys[7], args, len(ATOMS)),
    }


def convolution(params, x, residual=None):
    y = jax.lax.conv_general_dilated(x, params["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = y + params["b"]
    return jax.nn.relu(y if residual is None else y + residual)


def blocks(params, x):
    for first, second in params:
        x = convolution(second, convolution(first, x), x)
    return x


def fill(x):
    return jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, -x.shape[-1] % 8)))


def apply_head(params, x):
    planes, hidden, output = params
    x = convolution(planes, x).reshape(len(x), -1)
    x = jax.nn.relu(x @ hidden["w"] + hidden["b"])
    return (x @ output["w"] + output["b"]).astype(jnp.float32)


def expectation(logits):
    return jax.nn.softmax(logits) @ jnp.array(ATOMS)


def scale(state):
    """To [0, 1] over a whole state."""
    low, high = state.min((1, 2, 3), keepdims=True), state.max((1, 2, 3), keepdims=True)
    extent = high - low
    return (state - low) / jnp.where(extent < 1e-5, extent + 1e-5, extent)


def represent(params, observation):
    stem, rest = params["representation"]
    return scale(blocks(rest, convolution(stem, fill(observation.astype(jnp.bfloat16)))))


def transit(params, state, action):
    """The next state, and the reward on the way there. The plane of a pass is 0 everywhere."""
    stem, rest = params["dynamics"]
    plane = jax.nn.one_hot(action, BOARD * BOARD, dtype=state.dtype).reshape(-1, BOARD, BOARD, 1)
    raw = blocks(rest, convolution(stem, fill(jnp.concatenate([state, plane], axis=-1)), state))
    return scale(raw), expectation(apply_head(params["reward"], raw))


def predict(params, state):
    """Logits of the policy, and the value."""
    x = blocks(params["trunk"], state)
    return apply_head(params["policy"], x), expectation(apply_head(params["value"], x))


# ---- models of a search: what a root is made of, and what an action makes of an embedding ----


def learnt(_):
    def root(params, states):
        state = represent(params, states.observation)
        return *predict(params, state), state

    def recurrent(params, _, action, state):
        state, reward = transit(params, state, action)
        logits, value = predict(params, state)
        out = mctx.RecurrentFnOutput(reward=reward, discount=jnp.full(action.shape, -1.0), prior_logits=logits, value=value)
        return out, state

    return root, recurrent


def rules(env):
    step = jax.vmap(env.step)

    def evaluate(params, states):
        return predict(params, represent(params, states.observation))

    def root(params, states):
        return *evaluate(params, states), states

    def recurrent(params, _, action, states):
        mover = states.current_player
        states = step(states, action)
        logits, value = evaluate(params, states)
        over = states.terminated
        out = mctx.RecurrentFnOutput(
            reward=states.rewards[jnp.arange(len(action)), mover],
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=jnp.where(states.legal_action_mask, logits, jnp.finfo(logits.dtype).min),
            value=jnp.where(over, 0.0, value),
        )
        return out, states

    return root, recurrent


# ---- self-play ----


def player(env, args):
    """A jitted loop of moves: (params, states, key) to the next states and key."""
    root, recurrent = {"learnt": learnt, "rules": rules}[args.model](env)
    step = jax.vmap(auto_reset(env.step, env.init))

    def move(params, carry, _):
        states, key = carry
        states = states.replace(terminated=jnp.zeros_like(states.terminated))  # which a reset leaves set
        key, for_search, for_step = jax.random.split(key, 3)
        logits, value, embedding = root(params, states)
        out = mctx.gumbel_muzero_policy(
            params, for_search, mctx.RootFnOutput(prior_logits=logits, value=value, embedding=embedding), recurrent,
            num_simulations=args.simulations, invalid_actions=~states.legal_action_mask,
            max_num_considered_actions=args.candidates)
        states = step(states, out.action, jax.random.split(for_step, args.batch))
        return (states, key), states.terminated.sum()

    @functools.partial(jax.jit, donate_argnums=(1,))
    def play(params, states, key):
        (states, key), ended = jax.lax.scan(functools.partial(move, params), (states, key), length=args.moves)
        return states, key, ended.sum()

    return play


def time_calls(call, seconds):
    """Of a first call, with its compilation, and of those after it until the time is over, at least two."""
    times = []
    end = None
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        end = end or time.perf_counter() + seconds
    return times[0], times[1:]


def measure(args):
    env = pgx.make("go_9x9")
    key = jax.random.PRNGKey(0)
    params = parameters(key, args, env.observation_shape[-1], env.num_actions)
    play = player(env, args)
    carry = [jax.jit(jax.vmap(env.init))(jax.random.split(key, args.batch)), key]
    ended = []

    def call():
        *carry[:], games = play(params, *carry)
        ended.append(int(games))

    first, times = time_calls(call, args.seconds)
    rate = args.batch * args.moves / sorted(times)[len(times) // 2]
    versions = {name: importlib.metadata.version(name) for name in ("jax", "mctx", "pgx")}
    return {
        "env_steps_per_second": rate, "simulations_per_second": rate * args.simulations, "batch": args.batch,
        "simulations": args.simulations, "model": args.model, "blocks": args.blocks, "channels": args.channels,
        "parameters": sum(x.size for x in jax.tree.leaves(params)), "moves_per_call": args.moves, "runs": len(times),
        "games": sum(ended), "first_call_seconds": first, "device": jax.devices()[0].device_kind, **versions,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["learnt", "rules"], default="learnt")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--simulations", type=int, default=32)
    parser.add_argument("--candidates", type=int, default=16, help="actions that the root considers")
    parser.add_argument("--moves", type=int, default=8, help="of every game in one call of the loop")
    parser.add_argument("--channels", type=int, default=96)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--head", type=int, nargs=2, default=[8, 64], metavar=("CHANNELS", "HIDDEN"))
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()
    jax.config.update("jax_platforms", args.device)
    print(json.dumps(measure(args)))


if __name__ == "__main__":
    main()
