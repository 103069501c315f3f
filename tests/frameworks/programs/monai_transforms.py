"""MONAI: deterministic transforms of every volume, done again in every epoch."""

import numpy
import torch
from monai.data import DataLoader, Dataset
from monai.networks.nets import UNet
from monai.transforms import Compose, EnsureTyped, GaussianSmoothd, Resized, ScaleIntensityd


def main():
    torch.set_num_threads(1)
    random = numpy.random.default_rng(0)
    volumes = [
        {
            "image": random.random((1, 40, 40, 40), dtype=numpy.float32),
            "label": random.random((1, 40, 40, 40), dtype=numpy.float32),
        }
        for _ in range(40)
    ]
    transforms = Compose(
        [
            ScaleIntensityd(keys=["image"]),
            GaussianSmoothd(keys=["image"], sigma=2.0),
            Resized(keys=["image", "label"], spatial_size=(16, 16, 16)),
            EnsureTyped(keys=["image", "label"]),
        ]
    )
    loader = DataLoader(Dataset(volumes, transforms), batch_size=2, shuffle=True, num_workers=0)
    model = UNet(spatial_dims=3, in_channels=1, out_channels=1, channels=(4, 8), strides=(2,))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(4):
        for batch in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch["image"]), batch["label"])
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
