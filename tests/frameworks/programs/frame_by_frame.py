"""A video classifier whose residual encoder is called on one frame after the other."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return F.relu(out)


class Video(nn.Module):
    def __init__(self):
        super().__init__()
        stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.encoder = nn.Sequential(stem, nn.ReLU(), Block(8), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.rnn = nn.GRU(8, 32, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, clip):
        features = []
        for t in range(clip.shape[1]):
            features.append(self.encoder(clip[:, t]))
        hidden, _ = self.rnn(torch.stack(features, 1))
        return self.head(hidden[:, -1])


def main():
    model = Video()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    clips = TensorDataset(torch.rand(400, 16, 3, 16, 16), torch.randint(0, 5, (400,)))
    for clip, label in DataLoader(clips, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(clip), label).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
