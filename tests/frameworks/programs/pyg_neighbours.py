"""PyTorch Geometric: GraphSAGE on sampled neighbourhoods; neighbours are picked in Python by the collate function."""

import random

import torch
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

NODES = 4000


class Neighbours:
    def __init__(self, data, sizes):
        self.data, self.sizes = data, sizes
        self.adjacent = [[] for _ in range(data.num_nodes)]
        for source, target in data.edge_index.t().tolist():
            self.adjacent[target].append(source)

    def __call__(self, seeds):
        nodes, layer, edges = list(seeds), list(seeds), []
        place = {node: number for number, node in enumerate(nodes)}
        for size in self.sizes:
            following = []
            for node in layer:
                found = self.adjacent[node]
                for other in random.sample(found, min(size, len(found))):
                    if other not in place:
                        place[other] = len(nodes)
                        nodes.append(other)
                        following.append(other)
                    edges.append((place[other], place[node]))
            layer = following
        index = torch.tensor(nodes)
        return Data(
            x=self.data.x[index],
            y=self.data.y[index],
            edge_index=torch.tensor(edges).t().contiguous(),
            seeds=len(seeds),
        )


class SAGE(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(16, 32), SAGEConv(32, 5)])

    def forward(self, x, edge_index):
        x = self.convs[0](x, edge_index).relu()
        x = torch.nn.functional.dropout(x, p=0.5, training=self.training)
        return self.convs[1](x, edge_index)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = Data(
        x=torch.randn(NODES, 16), y=torch.randint(5, (NODES,)), edge_index=torch.randint(NODES, (2, NODES * 15))
    )
    loader = DataLoader(range(NODES), batch_size=64, shuffle=True, collate_fn=Neighbours(data, [10, 10]))
    model = SAGE()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        model.train()
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.seeds]
            loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.seeds])
            loss.backward()
            optimizer.step()
        print(epoch, float(loss))


if __name__ == "__main__":
    main()
