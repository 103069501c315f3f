"""Hydra starts it in a folder of its own, with its arguments; the loss is summed sample by sample."""

import hydra
import torch
from hydra.core.config_store import ConfigStore
from torch.utils.data import DataLoader, TensorDataset

ConfigStore.instance().store(name="config", node={"rate": 0.01, "batch": 64, "hydra": {"job": {"chdir": True}}})


def loss_of(predicted, wanted):
    total = torch.zeros(())
    for row in range(len(predicted)):
        total = total + (predicted[row] - wanted[row]).square().sum()
    return total / len(predicted)


@hydra.main(config_name="config", config_path=None, version_base=None)
def main(config):
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(64 * 60, 32), torch.randn(64 * 60, 4))
    model = torch.nn.Linear(32, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=config.rate)
    for inputs, wanted in DataLoader(data, batch_size=config.batch):
        optimizer.zero_grad()
        loss_of(model(inputs), wanted).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
