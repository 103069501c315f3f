"""Two ranks started by torchrun, with gloo; both load slowly."""

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Slow(Dataset):
    def __len__(self):
        return 960

    def __getitem__(self, index):
        values = [((index + 1) * place % 101) / 101 for place in range(6000)]
        return torch.tensor(values[:64])


def main():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    data = Slow()
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = DistributedDataParallel(torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs in loader:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
