"""PyTorch Lightning that keeps a checkpoint of every step, as examples for short runs do."""

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3, fused=True)


if __name__ == "__main__":
    data = TensorDataset(torch.randn(128 * 240, 128), torch.randint(0, 10, (128 * 240,)))
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        callbacks=[ModelCheckpoint(dirpath="checkpoints", every_n_train_steps=1, save_last=True)],
    )
    trainer.fit(Classifier(), DataLoader(data, batch_size=128, shuffle=True))
