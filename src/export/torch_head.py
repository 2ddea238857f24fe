"""A network of cumind in PyTorch, as `cumind export` wrote it. It needs torch and nothing else.

    from network import Network
    network = Network.load(".")                                   # reads model.safetensors of that folder
    state, policy_logits, value, *rest = network.initial_inference(observation)

Arrays have the names that cumind gives them. What the functions of Network take and return stands in their first lines,
and in config.json.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from typing import Self


def one_hot(index: Tensor, size: int) -> Tensor:
    """Zeros [..., size] with a 1 at each index; none where that is not below size."""
    return (index.unsqueeze(-1) == torch.arange(size, device=index.device)).float()


def expand(x: Tensor, shape: Sequence[int]) -> Tensor:
    """[B, E, 1, 1] in every cell of planes, whose sizes are the last two of `shape`."""
    return x.expand(-1, -1, *shape[2:])


def read_safetensors(path: str | pathlib.Path) -> dict[str, Tensor]:
    """The float32 arrays of a file: the length of a JSON header, the header, the numbers."""
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    arrays = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        numbers = bytearray(data[start + first : start + last])
        arrays[name] = torch.frombuffer(numbers, dtype=torch.float32).reshape(entry["shape"])
    return arrays


class Arrays(torch.nn.Module):
    """Parameters and buffers by their names, "prediction.policy_head.hidden.weight"."""

    SHAPES: ClassVar[dict[str, tuple[int, ...]]] = {}
    BUFFERS: ClassVar[frozenset[str]] = frozenset()  # statistics and constants, which are not trained

    def __init__(self) -> None:
        super().__init__()
        for name, shape in self.SHAPES.items():
            *path, last = name.split(".")
            module: torch.nn.Module = self
            for part in path:  # not add_module: a layer may be called "half", as a method of modules is
                found = module._modules.get(part) or torch.nn.Module()
                module._modules[part] = found
                module = found
            if name in self.BUFFERS:
                module.register_buffer(last, torch.zeros(shape))
            else:
                module.register_parameter(last, torch.nn.Parameter(torch.zeros(shape)))

    def arrays(self) -> dict[str, Tensor]:
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}

    @classmethod
    def load(cls, folder: str | pathlib.Path) -> Self:
        """The network with the weights of a folder."""
        network = cls()
        network.load_state_dict(read_safetensors(pathlib.Path(folder, "model.safetensors")))
        return network.eval()
