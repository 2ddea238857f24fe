"""Losses of MuZero in PyTorch, which the training baselines share."""
from typing import NamedTuple

import torch
from torch.nn import functional as F


class Support(NamedTuple):
    """Atoms of a categorical head, evenly from `low` to `high`; `transform`: of h(x) in place of x."""

    low: float
    high: float
    size: int
    transform: bool


def cross_entropy(logits, target):
    """Of the rows of [B, S], each for itself: [B]."""
    return -(target * F.log_softmax(logits.float(), dim=-1)).sum(dim=-1)


def two_hot(x, support):
    """Projects x [B], or h(x) = sign(x)(sqrt(|x| + 1) - 1) + 0.001 x, on the atoms: [B, S]."""
    if support.transform:
        x = torch.sign(x) * (torch.sqrt(x.abs() + 1) - 1) + 0.001 * x
    spacing = (support.high - support.low) / (support.size - 1)
    place = (x.clamp(support.low, support.high) - support.low) / spacing
    atoms = torch.arange(support.size, dtype=torch.float32, device=x.device)
    return (1 - (place.unsqueeze(-1) - atoms).abs()).clamp(min=0)


def halve_gradient(state):
    return 0.5 * state + 0.5 * state.detach()
