"""A GAN's shape: two steps of the critic to one of the generator, which takes far longer."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
critic, generator = torch.nn.Linear(4, 1), torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(20)))
critic_optimizer = torch.optim.Adam(critic.parameters())
generator_optimizer = torch.optim.Adam(generator.parameters())
for (real,) in DataLoader(TensorDataset(torch.randn(800, 4)), batch_size=4):
    for _ in range(2):
        critic_optimizer.zero_grad()
        (critic(generator(real).detach()) - critic(real)).mean().backward()
        critic_optimizer.step()
    generator_optimizer.zero_grad()
    critic(generator(real)).mean().neg().backward()
    generator_optimizer.step()
