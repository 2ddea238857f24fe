"""Simulations per second of DeepMind's mctx under jax.jit, float32. Prints one line of JSON.

With the network "plain" it is the counterpart of `cumind benchmark search`: representation and root prediction of a batch of
observations, then one search with the given number of simulations. With "mlp", that of torch_search.py: one search of states.
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp
import mctx

POLICIES = {"muzero": mctx.muzero_policy, "gumbel_muzero": mctx.gumbel_muzero_policy}
ATOMS, HEAD, LOW, HIGH = 21, 64, -10.0, 10.0


def linear(key, inputs, outputs):
    scale = inputs**-0.5
    return {"w": scale * jax.random.normal(key, (inputs, outputs)), "b": jnp.zeros(outputs)}


def two_layers(key, inputs, hidden, outputs):
    first, second = jax.random.split(key)
    return [linear(first, inputs, hidden), linear(second, hidden, outputs)]


def apply(layers, x):
    first, second = layers
    return jax.nn.relu(x @ first["w"] + first["b"]) @ second["w"] + second["b"]


def scalar(logits):
    """Expectation over the atoms, then the inverse of h(x) = sign(x)(sqrt(|x| + 1) - 1) + 0.001 x."""
    eps = 0.001
    y = jax.nn.softmax(logits) @ jnp.linspace(LOW, HIGH, ATOMS)
    root = (jnp.sqrt(1 + 4 * eps * (jnp.abs(y) + 1 + eps)) - 1) / (2 * eps)
    return jnp.sign(y) * (root * root - 1)


def parameters(key, observation, hidden, actions):
    keys = jax.random.split(key, 5)
    return {
        "representation": two_layers(keys[0], observation, hidden, hidden),
        "transition": two_layers(keys[1], hidden + actions, hidden, hidden),
        "policy": two_layers(keys[2], hidden, HEAD, actions),
        "value": two_layers(keys[3], hidden, HEAD, ATOMS),
        "reward": two_layers(keys[4], hidden, HEAD, ATOMS),
    }


def mlp_parameters(key, hidden, actions):
    keys = jax.random.split(key, 2)
    return {"transition": two_layers(keys[0], hidden + actions, hidden, hidden), "heads": linear(keys[1], hidden, actions + 2)}


def mlp_heads(params, state):
    out = state @ params["heads"]["w"] + params["heads"]["b"]
    return out[:, :-2], out[:, -2], out[:, -1]


def mlp_searcher(args):
    def recurrent(params, _, action, state):
        coded = jnp.concatenate([state, jax.nn.one_hot(action, args.actions)], axis=-1)
        state = jax.nn.relu(apply(params["transition"], coded))
        logits, value, reward = mlp_heads(params, state)
        out = mctx.RecurrentFnOutput(reward=reward, discount=jnp.full(action.shape, 0.997), prior_logits=logits, value=value)
        return out, state

    @jax.jit
    def search(params, key, state):
        logits, value, _ = mlp_heads(params, state)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        out = POLICIES[args.policy](params, key, root, recurrent, num_simulations=args.simulations)
        return out.action, out.action_weights

    return search


def plain_searcher(args):
    def recurrent(params, _, action, state):
        coded = jnp.concatenate([state, jax.nn.one_hot(action, args.actions)], axis=-1)
        state = apply(params["transition"], coded)
        out = mctx.RecurrentFnOutput(
            reward=scalar(apply(params["reward"], state)),
            discount=jnp.full(action.shape, 0.997),
            prior_logits=apply(params["policy"], state),
            value=scalar(apply(params["value"], state)),
        )
        return out, state

    @jax.jit
    def search(params, key, observation):
        state = apply(params["representation"], observation)
        root = mctx.RootFnOutput(
            prior_logits=apply(params["policy"], state), value=scalar(apply(params["value"], state)), embedding=state
        )
        out = POLICIES[args.policy](params, key, root, recurrent, num_simulations=args.simulations)
        return out.action, out.action_weights

    return search


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=["plain", "mlp"], default="plain")
    parser.add_argument("--policy", choices=list(POLICIES), default="gumbel_muzero")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--simulations", type=int, default=50)
    parser.add_argument("--actions", type=int, default=2)
    parser.add_argument("--observation", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()
    jax.config.update("jax_platforms", args.device)

    key = jax.random.PRNGKey(0)
    if args.network == "plain":
        params, search = parameters(key, args.observation, args.hidden, args.actions), plain_searcher(args)
        observation = jax.random.normal(key, (args.batch, args.observation))
    else:
        params, search = mlp_parameters(key, args.hidden, args.actions), mlp_searcher(args)
        observation = jax.random.normal(key, (args.batch, args.hidden))
    for _ in range(3):
        jax.block_until_ready(search(params, key, observation))
    times, processors = [], []
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end:
        start = time.perf_counter(), time.process_time()
        key, use = jax.random.split(key)
        jax.block_until_ready(search(params, use, observation))
        times.append(time.perf_counter() - start[0])
        processors.append(time.process_time() - start[1])
    median = sorted(times)[len(times) // 2]
    rate = args.batch * args.simulations / median
    print(json.dumps({"simulations_per_second": rate, "processor_s": min(processors), "runs": len(times), "jax": jax.__version__,
                      "simulations_per_processor_second": args.batch * args.simulations / min(processors), "policy": args.policy}))


if __name__ == "__main__":
    main()
