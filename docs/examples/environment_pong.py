"""Pong as agents are usually shown it: every fourth frame, grey, 84 x 84, the last four of them, no life at stake.

pip install "gymnasium[atari,other]"
cumind train --set env_name=docs/examples/environment_pong.py --set family=resnet
"""
import ale_py
import gymnasium
from gymnasium.wrappers import AtariPreprocessing, ClipReward, FrameStackObservation

gymnasium.register_envs(ale_py)


def make():
    frames = gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.0)
    return ClipReward(FrameStackObservation(AtariPreprocessing(frames), 4), -1.0, 1.0)
