"""PyTorch Geometric: the edges of every graph are searched for in Python when it is loaded."""

import torch
from torch_geometric.data import Data, Dataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool


class Molecules(Dataset):
    def len(self):
        return 640

    def get(self, index):
        places = [((index * 7 + node * 13) % 50, (index * 3 + node * 29) % 50) for node in range(40)]
        edges = [
            (one, other)
            for one, (x, y) in enumerate(places)
            for other, (u, v) in enumerate(places)
            if one != other and (x - u) ** 2 + (y - v) ** 2 < 100
        ]
        edge_index = torch.tensor(edges or [(0, 1)]).t().contiguous()
        return Data(x=torch.tensor(places, dtype=torch.float32), edge_index=edge_index, y=torch.tensor([index % 2]))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(2, 16), GCNConv(16, 16)
        self.head = torch.nn.Linear(16, 2)

    def forward(self, data):
        hidden = self.first(data.x, data.edge_index).relu()
        hidden = self.second(hidden, data.edge_index).relu()
        return self.head(global_mean_pool(hidden, data.batch))


def main():
    torch.set_num_threads(1)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters())
    for data in DataLoader(Molecules(), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), data.y)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
