"""Lightning starts the second of its two ranks itself, as a process with this script."""

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(20, 2)

    def training_step(self, batch, _):
        inputs, targets = batch
        return torch.nn.functional.cross_entropy(self.net(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(2400, 20), torch.randint(0, 2, (2400,)))
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", devices=2, strategy="ddp", **options)
    trainer.fit(Net(), DataLoader(data, batch_size=16))
