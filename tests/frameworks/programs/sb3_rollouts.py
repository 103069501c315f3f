"""Stable-Baselines3: PPO, whose environment takes far longer than its updates."""

import gymnasium
import numpy
import torch
from stable_baselines3 import PPO


class SlowWorld(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (8,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return numpy.zeros(8, numpy.float32), {}

    def step(self, action):
        self.time += 1
        total = 0
        for number in range(30_000):
            total += number % 7
        observation = numpy.full(8, (total % 3) / 3, numpy.float32)
        return observation, 1.0, self.time >= 100, False, {}


def main():
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", SlowWorld(), n_steps=256, batch_size=64, n_epochs=2, device="cpu", verbose=0)
    model.learn(2560)


if __name__ == "__main__":
    main()
