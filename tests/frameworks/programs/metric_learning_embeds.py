"""pytorch-metric-learning: a miner and a triplet loss; every sample is read and parsed from a text of numbers."""

import torch
from pytorch_metric_learning import losses, miners
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self):
        self.lines = [",".join(str((row * place) % 13 / 13) for place in range(900)) for row in range(64)]

    def __len__(self):
        return 1024

    def __getitem__(self, index):
        values = [float(value) for value in self.lines[index % 64].split(",")]
        return torch.tensor(values[:128]), index % 8


def main():
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))
    optimizer = torch.optim.Adam(model.parameters())
    mine, loss_of = miners.MultiSimilarityMiner(), losses.TripletMarginLoss()
    for rows, labels in DataLoader(Rows(), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        embeddings = model(rows)
        loss = loss_of(embeddings, labels, mine(embeddings, labels))
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
