"""A command line of click's, whose loop reads the loss in every step and computes: nothing to find on a CPU."""

import click
import torch
from torch.utils.data import DataLoader, TensorDataset


@click.command()
@click.option("--width", default=1024)
@click.option("--rate", default=0.01)
def main(width, rate):
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(128 * 60, width), torch.randint(0, 10, (128 * 60,)))
    model = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.ReLU(), torch.nn.Linear(4 * width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    seen = 0.0
    for inputs, labels in DataLoader(data, batch_size=128):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        seen += loss.item()
    click.echo(f"trained {seen > 0}")


if __name__ == "__main__":
    main()
