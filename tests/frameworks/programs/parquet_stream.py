"""Rows of a parquet file, streamed by an IterableDataset; a click model over them."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, IterableDataset

COLUMNS = 24


def write(path, rows=24_000):
    numbers = np.random.default_rng(0)
    table = {f"c{place}": numbers.random(rows, dtype=np.float32) for place in range(COLUMNS)}
    table["click"] = numbers.integers(0, 2, rows)
    pq.write_table(pa.table(table), path, row_group_size=4096)


class Clicks(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        for batch in pq.ParquetFile(self.path).iter_batches(batch_size=1024):
            for row in batch.to_pylist():
                label = row.pop("click")
                yield torch.tensor(list(row.values())), torch.tensor(float(label))


def main(path):
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(COLUMNS, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters())
    loss_of = torch.nn.BCEWithLogitsLoss()
    for inputs, labels in DataLoader(Clicks(path), batch_size=256):
        optimizer.zero_grad()
        loss = loss_of(model(inputs).squeeze(1), labels)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "clicks.parquet")
        main(Path(folder) / "clicks.parquet")
