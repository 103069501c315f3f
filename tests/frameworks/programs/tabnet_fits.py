"""pytorch-tabnet: fits a table held in memory, with an evaluation set after each epoch."""

import warnings

import numpy
import torch
from pytorch_tabnet.tab_model import TabNetClassifier

warnings.simplefilter("ignore")


def main():
    torch.set_num_threads(1)
    random = numpy.random.default_rng(0)
    rows = random.normal(size=(4096, 12)).astype(numpy.float32)
    labels = (rows[:, 0] > 0).astype(int)
    model = TabNetClassifier(n_steps=2, verbose=0)
    model.fit(
        rows[:3200],
        labels[:3200],
        eval_set=[(rows[3200:], labels[3200:])],
        max_epochs=3,
        batch_size=32,
        virtual_batch_size=32,
        drop_last=True,
    )


if __name__ == "__main__":
    main()
