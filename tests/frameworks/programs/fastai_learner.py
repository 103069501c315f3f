"""fastai: a Learner over its own DataLoaders; each item is made in slow Python."""

import torch
from fastai.callback.progress import ProgressCallback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner


class Items:
    def __len__(self):
        return 960

    def __getitem__(self, index):
        values = [((index + 1) * place % 101) / 101 for place in range(3000)]
        return torch.tensor(values[:64]), torch.tensor(values[0] > 0.5).float()


def loss(predicted, wanted):
    return torch.nn.functional.mse_loss(predicted.squeeze(-1), wanted)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train = DataLoader(Items(), bs=16, shuffle=True, num_workers=0)
    valid = DataLoader(Items(), bs=480, num_workers=0)
    learner = Learner(DataLoaders(train, valid, device="cpu"), torch.nn.Linear(64, 1), loss_func=loss)
    learner.remove_cb(ProgressCallback)
    learner.fit(1, 1e-3)
