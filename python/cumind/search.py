"""The tree search over a model of one's own, with the names and the meaning of DeepMind's mctx.

The model is a Python function that is called once per simulation for all roots. What it is given are arrays of the kind that the
root's embedding is of: NumPy, PyTorch (on their device) or JAX. Embeddings may be nests of tuples, lists and dictionaries.

    root = cumind.search.RootFnOutput(prior_logits, value, embedding)
    out = cumind.search.gumbel_muzero_policy(root, recurrent_fn, num_simulations=50)
    out.action, out.action_weights, out.search_tree.summary()

recurrent_fn(params, rng_key, action, embedding) gives (RecurrentFnOutput(reward, discount, prior_logits, value), embedding).
"""

from __future__ import annotations

import ctypes
import operator
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native as lib
from .errors import InputError

MUZERO, GUMBEL_MUZERO, STOCHASTIC_MUZERO = range(3)
_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class QTransform:
    """How Q-values of a node are scaled before they meet the prior; made by the functions below, named as mctx's."""

    kind: int
    parameters: dict[str, Any]


def qtransform_by_min_max(*, min_value: float = -1.0, max_value: float = 1.0) -> QTransform:
    """(q - min_value) / (max_value - min_value)."""
    return QTransform(0, {"min_value": min_value, "max_value": max_value})


def qtransform_by_parent_and_siblings(*, epsilon: float = 1e-8) -> QTransform:
    """To [0, 1] by the values of the node and of its visited children."""
    return QTransform(1, {"epsilon": epsilon})


def qtransform_completed_by_mix_value(
    *,
    value_scale: float = 0.1,
    maxvisit_init: float = 50.0,
    rescale_values: bool = True,
    use_mixed_value: bool = True,
    epsilon: float = 1e-8,
) -> QTransform:
    """Completed Q-values: unvisited actions get the mixed value."""
    return QTransform(
        2,
        {
            "value_scale": value_scale,
            "maxvisit_init": maxvisit_init,
            "rescale_values": rescale_values,
            "use_mixed_value": use_mixed_value,
            "epsilon": epsilon,
        },
    )


class RootFnOutput(NamedTuple):
    """prior_logits [B, A], value [B], embedding of B rows."""

    prior_logits: Any
    value: Any
    embedding: Any


class RecurrentFnOutput(NamedTuple):
    """reward, discount, value [B]; prior_logits [B, A]."""

    reward: Any
    discount: Any
    prior_logits: Any
    value: Any


class DecisionRecurrentFnOutput(NamedTuple):
    """Of Stochastic MuZero's afterstates: chance_logits [B, C], afterstate_value [B]."""

    chance_logits: Any
    afterstate_value: Any


class ChanceRecurrentFnOutput(NamedTuple):
    """Of its outcomes: action_logits [B, A]; value, reward, discount [B]."""

    action_logits: Any
    value: Any
    reward: Any
    discount: Any


class SearchSummary(NamedTuple):
    """Of the roots: visit_counts int32 [B, A], visit_probs, qvalues [B, A], value [B]."""

    visit_counts: NDArray[np.int32]
    visit_probs: NDArray[np.float32]
    value: NDArray[np.float32]
    qvalues: NDArray[np.float32]


class Tree:
    """The finished trees: node n of root b, n = 0 the root. parents, action_from_parent, node_visits int32 [B, N+1] (-1, -1, 0
    where there is no node; an outcome of chance by its number); node_values [B, N+1]; children_index int32 [B, N+1, columns]
    (-1: none). They are fetched when one of them is asked for first."""

    parents: NDArray[np.int32]
    action_from_parent: NDArray[np.int32]
    node_visits: NDArray[np.int32]
    node_values: NDArray[np.float32]
    children_index: NDArray[np.int32]

    def __init__(self, handle: lib.Handle, shape: tuple[int, int], columns: int, summary: SearchSummary) -> None:
        self._handle, self._shape, self._columns, self._summary = handle, shape, columns, summary

    def __getattr__(self, name: str) -> Any:
        if name not in Tree.__annotations__:
            raise AttributeError(name)
        made = [np.empty(self._shape, np.int32) for _ in range(3)]
        arrays = dict(zip(Tree.__annotations__, made))
        arrays["node_values"] = np.empty(self._shape, np.float32)
        arrays["children_index"] = np.empty((*self._shape, self._columns), np.int32)
        rows = lib.Trees(*(array.ctypes.data for array in arrays.values()))
        lib.check(lib.native.cumind_search_get_trees(self._handle.pointer, ctypes.byref(rows)))
        self._handle.close()
        self.__dict__.update(arrays)
        return arrays[name]

    def summary(self) -> SearchSummary:
        """mctx's Tree.summary()."""
        return self._summary


@dataclass(frozen=True)
class PolicyOutput:
    """action [B] and action_weights [B, A], of the kind of the root's arrays; search_tree in NumPy."""

    action: Any
    action_weights: Any
    search_tree: Tree


# ---- arrays of three libraries ----


class _OnHost:
    """Of a library whose arrays NumPy reads where they are: NumPy itself, JAX and PyTorch on a CPU. States are kept in NumPy."""

    def __init__(
        self, origin: str, make: Callable[[Any], Any], read: Callable[[Any], NDArray[Any]], read_plain: Callable[[Any], Any]
    ) -> None:
        """read_plain: quick, and as read for most arrays of this library; for others it raises, or gives no array of NumPy's."""
        self.origin, self.make, self.read, self.read_plain = origin, make, read, read_plain

    def pool(self, like: Any, rows: int) -> Any:
        like = self.read(like)
        return np.empty((rows, *like.shape[1:]), like.dtype)

    def fits(self, pool: Any, rows: Any) -> bool:
        return rows.dtype is pool.dtype or np.can_cast(rows.dtype, pool.dtype, "same_kind")

    def put(self, pool: Any, where: slice | NDArray[np.int64], rows: Any) -> None:
        pool[where] = rows

    def get(self, pool: Any, where: NDArray[np.int64]) -> Any:
        return self.make(pool.take(where, 0))

    def numbers(self, name: str, value: Any) -> NDArray[Any]:
        """lib.host, without its detours where `value` is what it should be."""
        try:
            array = self.read_plain(value)
        except (TypeError, RuntimeError):
            return lib.host(name, value)
        return array if type(array) is np.ndarray and array.dtype is _FLOAT32 else lib.host(name, value)

    def address(self, array: NDArray[Any]) -> int:
        """Of an array of `numbers`; a tensor that it shows tells its own sooner."""
        tell = getattr(array.base, "data_ptr", None)
        return int(array.ctypes.data if tell is None else tell())


class _Torch:
    """Of PyTorch where its tensors stay: on a device, or of a type that NumPy has not."""

    origin = "torch"

    def __init__(self, torch: Any, like: Any) -> None:
        self.torch, self.device = torch, like.device

    def make(self, array: NDArray[Any]) -> Any:
        made = self.torch.from_numpy(np.ascontiguousarray(array))
        return made if self.device.type == "cpu" else made.to(self.device)

    def read(self, rows: Any) -> Any:
        return rows.detach()

    def pool(self, like: Any, rows: int) -> Any:
        return self.torch.empty((rows, *like.shape[1:]), dtype=like.dtype, device=self.device)

    def fits(self, pool: Any, rows: Any) -> bool:
        return bool(rows.dtype == pool.dtype and rows.device == pool.device)

    def put(self, pool: Any, where: slice | NDArray[np.int64], rows: Any) -> None:
        pool[where if isinstance(where, slice) else self.make(where)] = rows

    def get(self, pool: Any, where: NDArray[np.int64]) -> Any:
        return pool.index_select(0, self.make(where))

    def numbers(self, name: str, value: Any) -> NDArray[Any]:
        return lib.host(name, value)

    def address(self, array: NDArray[Any]) -> int:
        return int(array.ctypes.data)


def _kind_of(array: Any) -> Any:
    origin = lib.origin_of(array)
    if origin == "torch":
        import torch

        if array.device.type != "cpu" or array.dtype == torch.bfloat16:
            return _Torch(torch, array)
        read = torch.Tensor.numpy
        return _OnHost(origin, torch.from_numpy, lambda rows: read(rows.detach() if rows.requires_grad else rows), read)
    if origin == "jax":
        import jax.numpy as jnp

        return _OnHost(origin, jnp.asarray, np.asarray, lambda array: array)
    return _OnHost(origin, lambda array: array, np.asarray, lambda array: array)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree, key=repr) for leaf in _leaves(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in _leaves(part)]
    return [tree]


def _like(tree: Any, leaves: Any) -> Any:
    """A nest of the same form, with leaves from an iterator."""
    if isinstance(tree, dict):
        made = {key: _like(tree[key], leaves) for key in sorted(tree, key=repr)}
        return {key: made[key] for key in tree}
    if isinstance(tree, (tuple, list)):
        parts = [_like(part, leaves) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(leaves)


# ---- a search ----


class _States:
    """The embeddings of all nodes: those of one number of all roots stand together. Slot b * nodes + i has row i * batch + b.

    is_even: the roots make their nodes in step, each call of the model the next one of every root."""

    def __init__(self, kind: Any, embedding: Any, batch: int, nodes: int, is_even: bool) -> None:
        self.kind, self.form, self.is_even = kind, embedding, is_even
        leaves = _leaves(embedding)
        for leaf in leaves:
            if getattr(leaf, "ndim", 0) < 1 or leaf.shape[0] != batch:
                raise InputError(f"root.embedding: an array of shape {tuple(getattr(leaf, 'shape', ()))} where {batch} rows are wanted")
            if lib.origin_of(leaf) != kind.origin:
                raise InputError(f"root.embedding: arrays of {kind.origin} and of {lib.origin_of(leaf)}, but those of one library are wanted")
        self.is_single = leaves[0] is embedding
        self.batch = batch
        self.rows = np.arange(nodes * batch).reshape(nodes, batch).T.ravel()
        self.pools = [kind.pool(leaf, batch * nodes) for leaf in leaves]
        self.shapes = [(batch, *pool.shape[1:]) for pool in self.pools]
        self.put(np.arange(batch, dtype=np.int32) * nodes, embedding)

    def get(self, slots: NDArray[np.int32]) -> Any:
        where = self.rows.take(slots)
        if self.is_single:
            return self.kind.get(self.pools[0], where)
        return _like(self.form, iter([self.kind.get(pool, where) for pool in self.pools]))

    def put(self, slots: NDArray[np.int32], embedding: Any) -> None:
        """The first rows of an embedding of a whole batch."""
        leaves = [embedding] if self.is_single else _leaves(embedding)
        first = slots.item(0) * self.batch  # that of root 0 is the number of its node
        where: Any = slice(first, first + self.batch) if self.is_even else self.rows.take(slots)
        if len(leaves) != len(self.pools):
            raise InputError(f"embedding: {len(leaves)} arrays, but the root's has {len(self.pools)}")
        for pool, shape, leaf in zip(self.pools, self.shapes, leaves):
            rows = self._read(leaf)
            if rows.shape != shape:
                raise InputError(f"embedding: shape {tuple(rows.shape)}, but {shape} is wanted")
            if not self.kind.fits(pool, rows):
                raise InputError(f"embedding: numbers of type {rows.dtype}, but the root's are {pool.dtype}")
            self.kind.put(pool, where, rows if len(slots) == len(rows) else rows[: len(slots)])

    def _read(self, leaf: Any) -> Any:
        try:
            return self.kind.read(leaf)
        except (AttributeError, TypeError, ValueError, RuntimeError):
            raise InputError(f"embedding: {type(leaf).__name__}, but arrays of {self.kind.origin} as the root's are wanted") from None


_WHOLE = {"num_simulations": 2**16, "max_depth": 2**16, "max_num_considered_actions": 2**16}
_FLAGS = ("rescale_values", "use_mixed_value")
_MAY_BE_NONE = ("max_depth", "qtransform")  # no limit; that of the policy


def _set(options: lib.SearchOptions, name: str, value: Any) -> None:
    if name in _WHOLE:
        value = lib.integer(name, value, 0, _WHOLE[name])
    elif name in _FLAGS:
        value = lib.flag(name, value)
    try:
        setattr(options, name, value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise InputError(f"{name}: {lib.brief(value)} is no number here: {error}") from None


# Arguments of a policy that are members of cumind_search_options.
_COMMON = ("num_simulations", "max_depth", "qtransform")
_PUCT = (*_COMMON, "dirichlet_alpha", "dirichlet_fraction", "pb_c_init", "pb_c_base", "temperature")


def _pick(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: arguments[name] for name in names}


def _options(policy: int, given: dict[str, Any]) -> lib.SearchOptions:
    options = lib.native.cumind_search_defaults(policy)
    for name, value in given.items():
        if value is None and name in _MAY_BE_NONE:
            continue
        if name == "qtransform":
            if not isinstance(value, QTransform):
                raise InputError(f"qtransform: {lib.brief(value)} is none of cumind.search's, as qtransform_by_min_max()")
            options.qtransform = value.kind
            for key, number in value.parameters.items():
                _set(options, key, number)
        else:
            _set(options, name, value)
    return options  # type: ignore[no-any-return]


def _seeds(rng_key: Any, batch: int) -> NDArray[np.uint64] | None:
    """A seed for each root and one for the calls of the model, from an integer or from a key of JAX; None: no noise, and nothing
    is drawn."""
    if rng_key is None:
        return None
    try:
        entropy: Any = [operator.index(rng_key)]
    except TypeError:
        entropy = lib.host("rng_key", _key_data(rng_key)).ravel().tolist()
    try:
        return np.random.SeedSequence(entropy).generate_state(batch + 1, np.uint64).astype(np.uint64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rng_key: {lib.brief(rng_key)} is no key: {error}") from None


def _key_data(key: Any) -> Any:
    if lib.origin_of(key) == "jax":
        import jax

        if str(key.dtype).startswith("key<"):
            return jax.random.key_data(key)
    return key


class _Keys:
    """A key for each call of the model, as mctx splits its own; None stays None."""

    def __init__(self, rng_key: Any, seeds: NDArray[np.uint64] | None) -> None:
        self.key = rng_key if seeds is None or lib.origin_of(rng_key) == "jax" else int(seeds[-1])
        self.drawn: list[int] = []  # the last one first

    def next(self) -> Any:
        if self.key is None:
            return None
        if type(self.key) is not int:
            import jax

            self.key, given = jax.random.split(self.key)
            return given
        if not self.drawn:
            self._draw(_BLOCK)
        return self.drawn.pop()

    def _draw(self, count: int) -> None:
        """SplitMix64 (Steele, Lea, Flood 2014), many at once."""
        step = np.uint64(0x9E3779B97F4A7C15)
        mixed = np.arange(count, 0, -1, dtype=np.uint64) * step + np.uint64(self.key)
        self.key = int(mixed[0])
        mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        self.drawn = (mixed ^ mixed >> np.uint64(31)).tolist()


_BLOCK = 256  # keys

# What a function of the model gives: the member of cumind_model_out, its name as an argument, and of how many columns its
# array is (0: one number for each row).
_Column = tuple[int, str, int]
_REWARD, _DISCOUNT, _LOGITS, _VALUE, _LOGITS_AT, _LOGITS_STRIDE = range(6)
_Out: Any = ctypes.c_void_p * 6  # cumind_model_out: numbers of one size
_LARGE = 1 << 13  # logits, from which on to tell where they are takes less than to copy them


class _Rows(NamedTuple):
    """The search's own arrays in a call of the model for n roots: they stay where they are."""

    parent: NDArray[np.int32]
    action: NDArray[np.int32]
    child: NDArray[np.int32]
    # Of each column its name, its array, the shape of a whole batch's, and whether the library may read the model's own array.
    out: list[tuple[str, NDArray[Any], tuple[int, ...], bool]]


def _can_stay(array: NDArray[Any]) -> bool:
    """Whether the library can read an array of two dimensions where it is."""
    down, across = array.strides
    return array.dtype is _FLOAT32 and across == 4 and down >= 4 * array.shape[1] and array.flags.aligned


class _Search:
    def __init__(self, policy: int, root: Any, chance: int, options: dict[str, Any]) -> None:
        if not all(hasattr(root, field) for field in RootFnOutput._fields):
            raise InputError(f"root: {lib.brief(root)} is no RootFnOutput(prior_logits, value, embedding)")
        leaves = _leaves(root.embedding)
        if not leaves:
            raise InputError("root.embedding: it has no array")
        self.kind = _kind_of(leaves[0])
        logits = lib.host("root.prior_logits", root.prior_logits)
        if logits.ndim != 2 or logits.size == 0:
            raise InputError(f"root.prior_logits: shape {logits.shape}, but [B, A] is wanted, each at least 1")
        self.batch, self.actions = logits.shape
        self.chance = chance
        self.prior = lib.as_array("root.prior_logits", logits, np.float32, logits.shape)
        self.value = lib.as_array("root.value", root.value, np.float32, (self.batch,))
        self.options = _options(policy, options)
        self.nodes = self.options.num_simulations + 1
        pointer = ctypes.c_void_p()
        lib.check(
            lib.native.cumind_search_open(
                ctypes.byref(self.options), self.batch, self.actions, chance, ctypes.byref(pointer)
            )
        )
        self.handle = lib.Handle("search", pointer)
        is_even = chance == 0 and self.options.max_depth == 0  # none stops at a node that is there already
        self.states = _States(self.kind, root.embedding, self.batch, self.nodes, is_even)
        self.error: BaseException | None = None

    def _look(self, n: int, slots: tuple[int, int, int], out: Any, columns: tuple[_Column, ...]) -> _Rows:
        parent, action, child = (lib.view(self.handle, address, ctypes.c_int32, (n,)) for address in slots)
        made = []
        for member, name, width in columns:
            row = (width,) if width else ()
            may_stay = member == _LOGITS and n * width >= _LARGE and self.chance == 0
            made.append((name, lib.view(self.handle, out[member], ctypes.c_float, (n, *row)), (self.batch, *row), may_stay))
        return _Rows(parent, action, child, made)

    def _whole(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """The model has always whole batches: the first row stands for those that are not wanted."""
        return np.concatenate([rows, np.full(self.batch - len(rows), rows[0], np.int32)])

    def callback(self, play: Callable[[Any, Any], tuple[tuple[Any, ...], Any]], columns: tuple[_Column, ...]) -> Any:
        """The C side of a function of actions and embeddings that gives an array for each column, and the next embeddings."""
        seen: dict[tuple[int, int], _Rows] = {}
        numbers, make, address = self.kind.numbers, self.kind.make, self.kind.address
        get, put = self.states.get, self.states.put
        held: Any = None  # the logits that the library reads after this call

        def call(_: Any, n: int, parent: int, action: int, child: int, out: int) -> int:
            nonlocal held
            try:
                rows = seen.get((n, parent))
                if rows is None:
                    rows = seen[n, parent] = self._look(n, (parent, action, child), _Out.from_address(out), columns)
                if n == self.batch:
                    slots, actions = rows.parent, rows.action.copy()
                else:
                    slots, actions = self._whole(rows.parent), self._whole(rows.action)
                values, embedding = play(make(actions), get(slots))
                put(rows.child, embedding)
                for (name, view, shape, may_stay), value in zip(rows.out, values):
                    array = numbers(name, value)
                    if array.shape != shape:
                        raise InputError(f"{name}: shape {array.shape}, but {shape} is wanted")
                    if may_stay and _can_stay(array):
                        told, held = _Out.from_address(out), array
                        told[_LOGITS_AT], told[_LOGITS_STRIDE] = address(array), array.strides[0] // 4
                    else:
                        view[...] = array if n == shape[0] else array[:n]
                return 0
            except BaseException as error:  # of any kind: it may not pass through the library
                self.error = error
                return int(lib.native.cumind_fail(5, b"its Python raised an exception"))

        return lib.MODEL_FUNCTION(call)

    def run(
        self, recurrent: Any, afterstate: Any, invalid: Any, seeds: NDArray[np.uint64] | None, noise: Any
    ) -> PolicyOutput:
        shape = (self.batch, self.actions)
        mask = None if invalid is None else lib.as_array("invalid_actions", lib.host("invalid_actions", invalid) != 0, np.uint8, shape)
        drawn = None if noise is None else lib.as_array("noise", noise, np.float32, shape)
        model = lib.Model(None, self.actions, self.chance, recurrent, afterstate or lib.MODEL_FUNCTION())
        roots = lib.Roots(self.batch, *map(lib.address, (self.prior, self.value, mask, seeds, drawn)))
        action, value = np.empty(self.batch, np.int32), np.empty(self.batch, np.float32)
        weights, q = np.empty(shape, np.float32), np.empty(shape, np.float32)
        visits = np.empty(shape, np.int32)
        result = lib.SearchResult(*(array.ctypes.data for array in (action, weights, visits, q, value)))
        try:
            status = lib.native.cumind_search_run(
                self.handle.pointer, ctypes.byref(model), ctypes.byref(roots), ctypes.byref(result)
            )
            if self.error is not None:
                raise self.error
            lib.check(status)
            summary = SearchSummary(visits, visits / np.maximum(visits.sum(1, keepdims=True), 1, dtype=np.float32), value, q)
            tree = Tree(self.handle, (self.batch, self.nodes), max(self.actions, self.chance), summary)
            return PolicyOutput(self.kind.make(action), self.kind.make(weights), tree)
        except BaseException:
            self.error = None
            self.handle.close()
            raise


def _told(name: str, told: Any, kind: Any) -> tuple[Any, Any]:
    """What a function of the model has given: (kind, embedding)."""
    if type(told) is tuple and len(told) == 2 and type(told[0]) is kind:
        return told
    try:
        out, embedding = told
        if all(hasattr(out, field) for field in kind._fields):
            return out, embedding
    except (TypeError, ValueError, RuntimeError):
        pass
    raise InputError(f"{name}: it gives {lib.brief(told)}, but ({kind.__name__}({', '.join(kind._fields)}), embedding) is wanted")


def _one_function(
    policy: int, root: RootFnOutput, recurrent_fn: Any, params: Any, rng_key: Any, invalid: Any, noise: Any, options: dict[str, Any]
) -> PolicyOutput:
    lib.function("recurrent_fn", recurrent_fn)
    search = _Search(policy, root, 0, options)
    seeds = _seeds(rng_key, search.batch)
    keys = _Keys(rng_key, seeds)

    def play(action: Any, embedding: Any) -> tuple[tuple[Any, ...], Any]:
        out, following = _told("recurrent_fn", recurrent_fn(params, keys.next(), action, embedding), RecurrentFnOutput)
        return (out.reward, out.discount, out.prior_logits, out.value), following

    columns = (_REWARD, "reward", 0), (_DISCOUNT, "discount", 0), (_LOGITS, "prior_logits", search.actions), (_VALUE, "value", 0)
    return search.run(search.callback(play, columns), None, invalid, seeds, noise)


def muzero_policy(
    root: RootFnOutput,
    recurrent_fn: Callable[..., tuple[RecurrentFnOutput, Any]],
    num_simulations: int,
    invalid_actions: Any = None,
    max_depth: int | None = None,
    *,
    params: Any = None,
    rng_key: Any = None,
    qtransform: QTransform | None = None,
    dirichlet_fraction: float = 0.25,
    dirichlet_alpha: float = 0.3,
    pb_c_init: float = 1.25,
    pb_c_base: float = 19652.0,
    temperature: float = 1.0,
    noise: Any = None,
) -> PolicyOutput:
    """MuZero's search: PUCT with Dirichlet noise (Schrittwieser et al. 2020; mctx.muzero_policy).

    invalid_actions: 1 where an action may not be played [B, A]. rng_key: an integer, or a key of JAX; None: no noise, and the
    most visited action is played. noise: Dirichlet noise [B, A] in place of what the key gives. max_depth None: no limit.
    """
    options = _pick(locals(), *_PUCT)
    return _one_function(MUZERO, root, recurrent_fn, params, rng_key, invalid_actions, noise, options)


def gumbel_muzero_policy(
    root: RootFnOutput,
    recurrent_fn: Callable[..., tuple[RecurrentFnOutput, Any]],
    num_simulations: int,
    invalid_actions: Any = None,
    max_depth: int | None = None,
    *,
    params: Any = None,
    rng_key: Any = None,
    qtransform: QTransform | None = None,
    max_num_considered_actions: int = 16,
    gumbel_scale: float = 1.0,
    noise: Any = None,
) -> PolicyOutput:
    """Gumbel MuZero: sequential halving at the root, completed Q-values (Danihelka et al. 2022; mctx.gumbel_muzero_policy).

    Arguments as of `muzero_policy`; noise: standard Gumbel noise [B, A]. action_weights are the improved policy.
    """
    options = _pick(locals(), *_COMMON, "gumbel_scale", "max_num_considered_actions")
    return _one_function(GUMBEL_MUZERO, root, recurrent_fn, params, rng_key, invalid_actions, noise, options)


def stochastic_muzero_policy(
    root: RootFnOutput,
    decision_recurrent_fn: Callable[..., tuple[DecisionRecurrentFnOutput, Any]],
    chance_recurrent_fn: Callable[..., tuple[ChanceRecurrentFnOutput, Any]],
    num_simulations: int,
    num_chance_outcomes: int,
    invalid_actions: Any = None,
    max_depth: int | None = None,
    *,
    params: Any = None,
    rng_key: Any = None,
    qtransform: QTransform | None = None,
    dirichlet_fraction: float = 0.25,
    dirichlet_alpha: float = 0.3,
    pb_c_init: float = 1.25,
    pb_c_base: float = 19652.0,
    temperature: float = 1.0,
    noise: Any = None,
) -> PolicyOutput:
    """Stochastic MuZero: decision and chance nodes in turn (Antonoglou et al. 2022; mctx.stochastic_muzero_policy).

    decision_recurrent_fn takes actions and states to (DecisionRecurrentFnOutput, afterstates), chance_recurrent_fn outcomes
    0 .. num_chance_outcomes-1 and afterstates to (ChanceRecurrentFnOutput, states); both embeddings have the form of the root's.
    """
    options = _pick(locals(), *_PUCT)
    lib.function("decision_recurrent_fn", decision_recurrent_fn)
    lib.function("chance_recurrent_fn", chance_recurrent_fn)
    outcomes = lib.integer("num_chance_outcomes", num_chance_outcomes, 1, 2**16)
    search = _Search(STOCHASTIC_MUZERO, root, outcomes, options)
    seeds = _seeds(rng_key, search.batch)
    keys = _Keys(rng_key, seeds)

    def decide(action: Any, embedding: Any) -> tuple[tuple[Any, ...], Any]:
        told = decision_recurrent_fn(params, keys.next(), action, embedding)
        out, after = _told("decision_recurrent_fn", told, DecisionRecurrentFnOutput)
        return (out.chance_logits, out.afterstate_value), after

    def happen(outcome: Any, embedding: Any) -> tuple[tuple[Any, ...], Any]:
        told = chance_recurrent_fn(params, keys.next(), outcome, embedding)
        out, state = _told("chance_recurrent_fn", told, ChanceRecurrentFnOutput)
        return (out.reward, out.discount, out.action_logits, out.value), state

    decided = (_LOGITS, "chance_logits", outcomes), (_VALUE, "afterstate_value", 0)
    happened = (_REWARD, "reward", 0), (_DISCOUNT, "discount", 0), (_LOGITS, "action_logits", search.actions), (_VALUE, "value", 0)
    callbacks = search.callback(happen, happened), search.callback(decide, decided)
    return search.run(*callbacks, invalid_actions, seeds, noise)
