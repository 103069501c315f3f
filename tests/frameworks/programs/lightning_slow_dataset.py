"""Lightning, as its quickstart has it; the dataset does slow work in Python for every sample."""

import lightning
import torch
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, index):
        signal = [((index * 31 + position) % 97) / 97 for position in range(256)]
        smooth = [sum(signal[max(0, place - 8) : place + 8]) / 16 for place in range(256)]
        return torch.tensor(smooth), index % 4


class SignalsModule(lightning.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(Signals(), batch_size=16, shuffle=True, num_workers=0)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))

    def training_step(self, batch, index):
        inputs, labels = batch
        return torch.nn.functional.cross_entropy(self.layers(inputs), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    torch.set_num_threads(1)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    trainer.fit(Classifier(), SignalsModule())
