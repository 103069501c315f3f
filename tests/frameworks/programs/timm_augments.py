"""A timm model on images that are decoded and augmented at random in the training process."""

import io

import numpy
import timm
import torch
from PIL import Image
from timm.data import create_transform
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, transform):
        self.transform = transform
        noise = numpy.random.default_rng(0).integers(0, 255, (400, 400, 3), dtype=numpy.uint8)
        held = io.BytesIO()
        Image.fromarray(noise).save(held, "JPEG")
        self.jpeg = held.getvalue()

    def __len__(self):
        return 560

    def __getitem__(self, index):
        image = Image.open(io.BytesIO(self.jpeg)).convert("RGB")
        return self.transform(image), index % 10


def main():
    torch.set_num_threads(1)
    model = timm.create_model("test_resnet", num_classes=10)
    transform = create_transform(64, is_training=True, auto_augment="rand-m9-mstd0.5")
    loader = DataLoader(Pictures(transform), batch_size=8, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
