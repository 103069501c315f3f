"""A small GAN as in tutorials: two networks, two optimizers, one loader."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def block(inputs, outputs):
    return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 4, 2, 1), nn.BatchNorm2d(outputs), nn.ReLU(True))


generator = nn.Sequential(
    nn.ConvTranspose2d(64, 64, 4, 1, 0),
    nn.ReLU(True),
    block(64, 48),
    block(48, 32),
    nn.ConvTranspose2d(32, 1, 4, 2, 1),
    nn.Tanh(),
)
critic = nn.Sequential(
    nn.Conv2d(1, 32, 4, 2, 1),
    nn.LeakyReLU(0.2, True),
    nn.Conv2d(32, 48, 4, 2, 1),
    nn.BatchNorm2d(48),
    nn.LeakyReLU(0.2, True),
    nn.Flatten(),
    nn.Linear(48 * 64, 1),
)
loader = DataLoader(TensorDataset(torch.rand(2000, 1, 32, 32) * 2 - 1), batch_size=32, shuffle=True, drop_last=True)
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
for epoch in range(2):
    for i, (real,) in enumerate(loader):
        noise = torch.randn(len(real), 64, 1, 1)
        fake = generator(noise)
        of_critic.zero_grad()
        loss_real = criterion(critic(real), torch.ones(len(real), 1))
        loss_fake = criterion(critic(fake.detach()), torch.zeros(len(real), 1))
        (loss_real + loss_fake).backward()
        of_critic.step()
        of_generator.zero_grad()
        loss = criterion(critic(fake), torch.ones(len(real), 1))
        loss.backward()
        of_generator.step()
        if i % 20 == 0:
            print(epoch, i, loss_real.item() + loss_fake.item(), loss.item())
