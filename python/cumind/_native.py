"""The shared library: where it is, its functions, and arrays as it wants them."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import re
import shutil
import sys
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_uint8, c_uint64, c_void_p
from typing import Any, Iterable

import numpy as np
from numpy.typing import NDArray

from .errors import BY_STATUS, InputError, StateError

INTERFACE = 2  # CUMIND_INTERFACE of the header that this package was written for


class _Row(ctypes.Structure):
    """A struct that shows its members."""

    def __repr__(self) -> str:
        members = ", ".join(f"{field[0]}={_shown(getattr(self, field[0]))}" for field in self._fields_)
        return f"{type(self).__name__}({members})"


def _shown(value: Any) -> str:
    return repr(value if not isinstance(value, ctypes.Array) else tuple(value))


class Spec(_Row):
    """cumind_spec: what an environment is (include/cumind.h). `name` is bytes, str(spec) the name as a text."""

    name: bytes
    observation_rank: int
    observation_size: int
    actions: int
    action_size: int
    action_low: float
    action_high: float
    has_mask: bool
    players: int
    max_steps: int
    reward_low: float
    reward_high: float
    reward_threshold: float
    discount: float

    _fields_ = [
        ("name", c_char * 32),
        ("observation_rank", c_int),
        ("observation_shape", c_int * 3),
        ("observation_size", c_int),
        ("actions", c_int),
        ("action_size", c_int),
        ("action_low", c_float),
        ("action_high", c_float),
        ("has_mask", c_bool),
        ("players", c_int),
        ("max_steps", c_int),
        ("reward_low", c_double),
        ("reward_high", c_double),
        ("reward_threshold", c_double),
        ("discount", c_double),
    ]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an observation: (O,) or (H, W, channels)."""
        return tuple(self.observation_shape[: self.observation_rank])

    def __str__(self) -> str:
        return self.name.decode()


class EnvArrays(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("observation", "legal", "to_play", "reward", "terminated", "truncated")]


class EnvCopies(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("observation", "legal", "to_play", "reward", "terminated", "truncated")]


class Facts(_Row):
    """cumind_agent_facts: what an agent is."""

    updates: int
    env_steps: int
    episodes: int
    simulations: int
    hidden_size: int
    chance_codes: int
    needs_states: bool

    _fields_ = [
        ("updates", c_int64),
        ("env_steps", c_int64),
        ("episodes", c_int64),
        ("simulations", c_int),
        ("hidden_size", c_int),
        ("chance_codes", c_int),
        ("needs_states", c_bool),
    ]


class Analysis(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("action", "visits", "policy", "prior", "q", "value", "raw_value")]


class SearchOptions(ctypes.Structure):
    _fields_ = [
        ("policy", c_int),
        ("num_simulations", c_int),
        ("max_depth", c_int),
        ("qtransform", c_int),
        ("min_value", c_float),
        ("max_value", c_float),
        ("epsilon", c_float),
        ("value_scale", c_float),
        ("maxvisit_init", c_float),
        ("rescale_values", c_bool),
        ("use_mixed_value", c_bool),
        ("pb_c_init", c_float),
        ("pb_c_base", c_float),
        ("dirichlet_alpha", c_float),
        ("dirichlet_fraction", c_float),
        ("temperature", c_float),
        ("max_num_considered_actions", c_int),
        ("gumbel_scale", c_float),
    ]


MODEL_FUNCTION = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p)


class Model(ctypes.Structure):
    _fields_ = [
        ("context", c_void_p),
        ("num_actions", c_int),
        ("num_chance", c_int),
        ("recurrent", MODEL_FUNCTION),
        ("afterstate", MODEL_FUNCTION),
    ]


class Roots(ctypes.Structure):
    _fields_ = [
        ("count", c_int),
        ("prior_logits", c_void_p),
        ("value", c_void_p),
        ("invalid", c_void_p),
        ("seed", c_void_p),
        ("noise", c_void_p),
    ]


class SearchResult(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("action", "action_weights", "visits", "qvalues", "value")]


class Angles(ctypes.Structure):
    _fields_ = [
        ("seed", c_uint64),
        ("stream", c_uint64),
        ("first", c_uint64),
        ("n", ctypes.c_size_t),
        ("mu_count", ctypes.c_size_t),
        ("kappa_count", ctypes.c_size_t),
        ("threads", c_int),
    ]


class Trees(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("parent", "action_from_parent", "visits", "value", "children")]


class IterationTold(ctypes.Structure):
    _fields_ = [
        ("iteration", c_int64),
        ("env_steps", c_int64),
        ("updates", c_int64),
        ("episodes", c_int64),
        ("share", c_double),
        ("seconds", c_double),
        ("env_steps_per_second", c_double),
        ("updates_per_second", c_double),
        ("mean_return", c_double),
        ("mean_length", c_double),
        ("total_loss", c_double),
        ("eval_return", c_double),
        ("metrics", c_char_p),
    ]


ITERATION_FUNCTION = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(IterationTold))


class Training(ctypes.Structure):
    iteration: Any

    _fields_ = [
        ("configuration", c_char_p),
        ("run", c_char_p),
        ("init_from", c_char_p),
        ("replay_from", c_char_p),
        ("resume", c_char_p),
        ("checkpoint", c_int64),
        ("overwrite", c_bool),
        ("drop_damaged", c_bool),
        ("iteration", ITERATION_FUNCTION),
        ("context", c_void_p),
    ]


class TrainResult(ctypes.Structure):
    run: bytes
    end: int

    _fields_ = [
        ("end", c_int),
        ("run", c_char * 4096),
        ("iterations", c_int64),
        ("env_steps", c_int64),
        ("updates", c_int64),
        ("episodes", c_int64),
        ("seconds", c_double),
        ("evaluation_episodes", c_int),
        ("evaluation_mean", c_double),
        ("evaluation_low", c_double),
        ("evaluation_high", c_double),
    ]


def _candidates() -> Iterable[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    if "CUMIND_LIBRARY" in os.environ:
        yield os.environ["CUMIND_LIBRARY"]
        return
    file = f"libcumind.so.{INTERFACE}"
    yield os.path.join(here, "lib", file)
    yield os.path.join(here, "../../build", file)
    yield file


def _open() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
            continue
        if library.cumind_interface() != INTERFACE:
            raise ImportError(f"{path} has interface {library.cumind_interface()}, this package wants {INTERFACE}")
        return library
    raise ImportError("the library of cumind is not found: build it with `make`, or name it by CUMIND_LIBRARY: " + "; ".join(tried))


native = _open()

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "cumind_version": (c_char_p, []),
    "cumind_error_message": (c_char_p, []),
    "cumind_fail": (c_int, [c_int, c_char_p]),
    "cumind_env_name": (c_char_p, [c_int]),
    "cumind_env_open": (c_int, [c_char_p, c_int, c_uint64, POINTER(c_char_p), c_int, POINTER(c_void_p)]),
    "cumind_env_close": (None, [c_void_p]),
    "cumind_env_get_spec": (None, [c_void_p, POINTER(Spec)]),
    "cumind_env_get_arrays": (EnvArrays, [c_void_p]),
    "cumind_env_reset": (c_int, [c_void_p, c_void_p, c_void_p]),
    "cumind_env_step_int64": (c_int, [c_void_p, c_void_p, c_void_p]),
    "cumind_env_step_values": (c_int, [c_void_p, c_void_p]),
    "cumind_env_copy_arrays": (c_int, [c_void_p, c_void_p]),
    "cumind_env_picture": (c_int, [c_void_p, c_int, c_char_p, ctypes.c_size_t]),
    "cumind_env_action_name": (c_int, [c_void_p, c_int, c_char_p, ctypes.c_size_t]),
    "cumind_env_copy": (c_int, [c_void_p, c_int, c_int]),
    "cumind_agent_open": (c_int, [c_char_p, c_int64, POINTER(c_char_p), c_int, POINTER(c_void_p)]),
    "cumind_agent_close": (None, [c_void_p]),
    "cumind_agent_get_facts": (None, [c_void_p, POINTER(Facts)]),
    "cumind_agent_get_spec": (None, [c_void_p, POINTER(Spec)]),
    "cumind_agent_open_env": (c_int, [c_void_p, c_int, c_uint64, POINTER(c_void_p)]),
    "cumind_agent_analyse": (c_int, [c_void_p, c_int, c_void_p, c_void_p, POINTER(Analysis)]),
    "cumind_agent_analyse_env": (c_int, [c_void_p, c_void_p, c_int, c_int, POINTER(Analysis)]),
    "cumind_agent_values": (c_int, [c_void_p, c_int32, c_void_p]),
    "cumind_agent_initial_inference": (c_int, [c_void_p, c_int] + 4 * [c_void_p]),
    "cumind_agent_recurrent_inference": (c_int, [c_void_p, c_int] + 6 * [c_void_p]),
    "cumind_agent_evaluate": (c_int, [c_void_p, c_int, c_uint64, c_void_p]),
    "cumind_train": (c_int, [POINTER(Training), POINTER(c_char_p), c_int, POINTER(TrainResult)]),
    "cumind_train_stop": (None, []),
    "cumind_search_defaults": (SearchOptions, [c_int]),
    "cumind_search_open": (c_int, [POINTER(SearchOptions), c_int, c_int, c_int, POINTER(c_void_p)]),
    "cumind_search_close": (None, [c_void_p]),
    "cumind_search_run": (c_int, [c_void_p, POINTER(Model), POINTER(Roots), POINTER(SearchResult)]),
    "cumind_search_get_trees": (c_int, [c_void_p, POINTER(Trees)]),
    "cumind_von_mises": (c_int, [POINTER(Angles), c_void_p, c_void_p, c_void_p]),
    "cumind_von_mises_float": (c_int, [POINTER(Angles), c_void_p, c_void_p, c_void_p]),
}
for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(native, _name)
    _function.restype, _function.argtypes = _result, _arguments


# What the library calls by the names of flags and of C, by those of Python.
_WORDS = (
    (re.compile(r"--set "), ""),
    (re.compile(r"--(overwrite|drop-damaged)"), lambda m: m[1].replace("-", "_") + "=True"),
    (re.compile(r"--([a-z]+(?:-[a-z]+)*)(:| (?=[^\s,;:.]))"), lambda m: m[1].replace("-", "_") + ("=" if m[2] == " " else ":")),
    (re.compile(r"--([a-z]+(?:-[a-z]+)*)"), lambda m: m[1].replace("-", "_")),
    (re.compile(r"^settings: (?=\w)"), ""),
    (re.compile(r"\bcumind_agent_(\w+)"), r"Agent.\1"),
    (re.compile(r"\bcumind_env_(\w+)"), r"Batch.\1"),
    (re.compile(r"^configuration\b"), "config"),
    (re.compile(r"\broots\.noise"), "noise"),
    (re.compile(r"\broots\.invalid\b"), "invalid_actions"),
    (re.compile(r"\broots\."), "root."),
    (re.compile(r"^legal\b"), "mask"),
    (re.compile(r"^von Mises: (?=mu|kappa)"), ""),
)


def spoken(message: str) -> str:
    """A line of the library in the words of this package."""
    for pattern, word in _WORDS:
        message = pattern.sub(word, message)
    return message


def check(status: int, message: str | None = None) -> None:
    """Raises the exception of a status that is no CUMIND_OK, with this thread's message if none is given."""
    if status:
        text = native.cumind_error_message().decode() if message is None else message
        raise BY_STATUS[status if status < len(BY_STATUS) else 0](spoken(text))


def prefer_this_python() -> None:
    """Environments in Python are played by the python3 of PATH: that of a virtual environment is this one, activated or not."""
    own, found = os.path.dirname(sys.executable), shutil.which("python3")
    if sys.prefix != sys.base_prefix and (found is None or os.path.dirname(found) != own):
        os.environ["PATH"] = own + os.pathsep + os.environ.get("PATH", os.defpath)


def texts(settings: dict[str, Any]) -> tuple[Any, int]:
    """Configuration keys and values as the library takes settings: an array, and how many there are."""
    words = [encode(key, f"{key}={_text(value)}") for key, value in settings.items()]
    return (c_char_p * max(len(words), 1))(*words), len(words)


def encode(name: str, text: Any) -> bytes:
    """A text in UTF-8, without a NUL and not empty."""
    try:
        word = os.fsencode(text)
    except (TypeError, UnicodeError) as error:
        raise InputError(f"{name}: {error}") from None
    if not word:
        raise InputError(f"{name}: it is empty")
    if b"\0" in word:
        raise InputError(f"{name}: it holds a NUL")
    return word


def _text(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


class _Owner:
    """Closes what it owns when nothing refers to it any more: neither the handle, nor a call, nor an array."""

    def __init__(self, kind: str, pointer: int | None) -> None:
        self._as_parameter_ = self.address = pointer
        self._free = getattr(native, f"cumind_{kind}_close")

    def __del__(self) -> None:
        self._free(self._as_parameter_)


class Handle:
    """A handle of the library. `close` lets go of it, a second call does nothing; the garbage collector does the same."""

    def __init__(self, kind: str, pointer: c_void_p) -> None:
        self._kind = kind
        self._owner: _Owner | None = _Owner(kind, pointer.value)

    @property
    def pointer(self) -> _Owner:
        """For calls, which hold it until they return."""
        if self._owner is None:
            raise StateError(f"this {self._kind} is closed")
        return self._owner

    def close(self) -> None:
        self._owner = None

    def __reduce__(self) -> Any:
        raise TypeError(f"an object of cumind that holds a handle ({self._kind}) cannot be copied or pickled")


def view(owner: object, address: int | None, ctype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of the library's, not copied; it keeps its owner."""
    size = int(np.prod(shape))
    if address is None or size == 0:
        return np.zeros(shape, dtype=np.dtype(ctype))
    block = (ctype * size).from_address(address)
    block.owner = owner
    return np.frombuffer(block, dtype=np.dtype(ctype)).reshape(shape)


def brief(value: Any) -> str:
    """`value` in a few words of one line, for messages."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def integer(name: str, value: Any, low: int, high: int) -> int:
    """A whole number in its range, or an InputError by `name`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name}: {brief(value)} is no whole number") from None
    if not low <= number <= high:
        raise InputError(f"{name}: {number} is not in {low} .. {high}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False, or an InputError by `name`."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name}: {brief(value)} is neither True nor False")
    return bool(value)


def function(name: str, value: Any) -> Any:
    """What can be called, or an InputError by `name`."""
    if not callable(value):
        raise InputError(f"{name}: {brief(value)} is no function")
    return value


@functools.cache
def _origin(kind: Any) -> str:
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(kind.__module__.split(".")[0], "numpy")


def origin_of(array: Any) -> str:
    """"numpy", "torch", "jax": whose array it is."""
    kind: Any = type(array)
    return _origin(kind)


def _numbers(value: Any) -> NDArray[Any]:
    if origin_of(value) == "torch":
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "iufb" and array.dtype.name != "bfloat16":
        raise TypeError(f"{array.dtype} is no type of numbers here")
    return array


def host(name: str, value: Any) -> NDArray[Any]:
    """As an array of NumPy: where it is, if it is on the host; an InputError by `name` if these are no numbers."""
    try:
        return _numbers(value)
    except (TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise InputError(f"{name}: {' '.join(str(error).split())}") from None


def as_array(name: str, value: Any, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """`value` as a contiguous, aligned array of this type and shape; anything that would lose numbers is an InputError by `name`."""
    given, wanted = host(name, value), np.dtype(dtype)
    if not np.can_cast(given.dtype, wanted, casting="same_kind") and not (given.dtype.kind in "iub" and wanted.kind in "iufb"):
        raise InputError(f"{name}: numbers of type {given.dtype} are no {wanted}")
    with np.errstate(over="ignore"):  # whoever wants finite numbers says so
        array = np.asarray(given, dtype=wanted, order="C")
    array = array if array.flags.aligned else array.copy()
    if wanted.kind in "iu" and given.dtype.kind in "iu" and not np.array_equal(given, array):
        raise InputError(f"{name}: numbers out of the range of {wanted}")
    if array.shape != shape:
        raise InputError(f"{name}: shape {array.shape}, but {shape} is wanted")
    return array


def address(array: NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data


__all__ = ["native", "check", "texts", "Handle", "view", "as_array", "integer", "host", "origin_of", "address", "c_uint8"]
