"""TorchRL: the loop of its PPO tutorial, with a collector, on a slow environment."""

import gymnasium
import numpy
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import GymWrapper
from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE


class Slow(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (8,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return numpy.zeros(8, numpy.float32), {}

    def step(self, action):
        self.time += 1
        total = sum(number % 7 for number in range(20_000))
        return numpy.full(8, total % 3 / 3, numpy.float32), 1.0, self.time >= 100, False, {}


def main():
    torch.set_num_threads(1)
    env = GymWrapper(Slow(), device="cpu")
    actor = ProbabilisticActor(
        TensorDictModule(nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 2)), ["observation"], ["logits"]),
        in_keys=["logits"],
        distribution_class=OneHotCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1)), in_keys=["observation"])
    collector = Collector(env, actor, frames_per_batch=256, total_frames=2048, device="cpu")
    buffer = ReplayBuffer(storage=LazyTensorStorage(256), sampler=SamplerWithoutReplacement())
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    loss_module = ClipPPOLoss(actor, critic)
    optimizer = torch.optim.Adam(loss_module.parameters(), 3e-4)
    for data in collector:
        for _ in range(4):
            advantage(data)
            buffer.extend(data.reshape(-1))
            for _ in range(4):
                losses = loss_module(buffer.sample(64))
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


if __name__ == "__main__":
    main()
