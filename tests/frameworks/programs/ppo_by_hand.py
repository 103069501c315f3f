"""PPO in one file, as CleanRL writes it: rollouts take most of the time."""

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (8,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(8, np.float32), {}

    def step(self, action):
        self.time += 1
        total = sum(number % 7 for number in range(4_000))
        return np.full(8, (total + action) % 3 / 3, np.float32), 1.0, self.time >= 200, False, {}


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4))

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def main():
    torch.set_num_threads(1)
    envs = gym.vector.SyncVectorEnv([Walk for _ in range(4)])
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    steps, minibatch = 64, 64
    obs, actions = torch.zeros((steps, 4, 8)), torch.zeros((steps, 4))
    logprobs, rewards, values = torch.zeros((steps, 4)), torch.zeros((steps, 4)), torch.zeros((steps, 4))
    next_obs = torch.Tensor(envs.reset(seed=1)[0])
    for iteration in range(12):
        for step in range(steps):
            obs[step] = next_obs
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            values[step], actions[step], logprobs[step] = value.flatten(), action, logprob
            next_obs, reward, _, _, _ = envs.step(action.numpy())
            rewards[step], next_obs = torch.tensor(reward), torch.Tensor(next_obs)
        returns = rewards.flip(0).cumsum(0).flip(0)
        b_obs, b_logprobs, b_actions = obs.reshape(-1, 8), logprobs.reshape(-1), actions.reshape(-1)
        b_advantages = (returns - values).reshape(-1)
        for epoch in range(4):
            order = np.random.permutation(steps * 4)
            for start in range(0, steps * 4, minibatch):
                picked = order[start : start + minibatch]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[picked], b_actions.long()[picked])
                ratio = (newlogprob - b_logprobs[picked]).exp()
                advantages = b_advantages[picked]
                loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2)).mean()
                loss = (
                    loss
                    + 0.5 * (newvalue.flatten() - returns.reshape(-1)[picked]).square().mean()
                    - 0.01 * entropy.mean()
                )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()


if __name__ == "__main__":
    main()
