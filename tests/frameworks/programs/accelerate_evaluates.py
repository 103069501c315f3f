"""accelerate: an evaluation behind each short epoch, in the same function as training, so that no name tells what it is."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.set_num_threads(1)
    inputs, labels = torch.randn(768, 128), torch.randint(10, (768,))
    train = DataLoader(TensorDataset(inputs, labels), batch_size=64, shuffle=True)
    valid = DataLoader(TensorDataset(inputs.repeat(4, 1), labels.repeat(4)), batch_size=64)
    model = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    accelerator = Accelerator(cpu=True)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    for _epoch in range(24):
        for batch, target in train:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.cross_entropy(model(batch), target))
            optimizer.step()
        right = 0
        for batch, target in valid:
            with torch.no_grad():
                logits = model(batch)
            found, target = accelerator.gather_for_metrics((logits.argmax(-1), target))
            right += (found == target).sum().item()


if __name__ == "__main__":
    main()
