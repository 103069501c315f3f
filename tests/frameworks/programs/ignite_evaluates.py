"""Ignite: a supervised trainer that evaluates every 20 iterations on a large validation set."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.set_num_threads(1)
    inputs, labels = torch.randn(6400, 64), torch.randint(10, (6400,))
    train = DataLoader(TensorDataset(inputs, labels), batch_size=32, shuffle=True)
    validate = DataLoader(TensorDataset(inputs[:3200], labels[:3200]), batch_size=32)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})

    @trainer.on(Events.ITERATION_COMPLETED(every=20))
    def validate_now(engine):
        evaluator.run(validate)

    trainer.run(train, max_epochs=2)


if __name__ == "__main__":
    main()
