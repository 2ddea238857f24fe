"""What the library refuses, as exceptions; each is also the Python exception that fits it."""

from __future__ import annotations


class Error(Exception):
    """Of every error of the library; its text is the library's one line."""


class InputError(Error, ValueError):
    """A bad value: argument, setting, content of a file."""


class FileError(Error, OSError):
    """The operating system refused: open, read, write."""


class OutOfMemoryError(Error, MemoryError):
    """More memory than there is."""


class DeviceError(Error, RuntimeError):
    """A device or its library reported an error."""


class ModelError(Error, RuntimeError):
    """The model of a search reported an error."""


class StateError(Error, RuntimeError):
    """A call in the wrong order, or a handle that is closed or in use by another thread."""


class NotFiniteError(Error, ArithmeticError):
    """NaN or Inf where a finite number must be."""


class AbsentError(Error, RuntimeError):
    """Not in this build or on this machine."""


class InterruptedRunError(Error, RuntimeError):
    """Asked to stop."""


# By the numbers of cumind_status.
BY_STATUS: tuple[type[Error], ...] = (
    Error,
    InputError,
    FileError,
    OutOfMemoryError,
    DeviceError,
    ModelError,
    StateError,
    NotFiniteError,
    AbsentError,
    InterruptedRunError,
)
