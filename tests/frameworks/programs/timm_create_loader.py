"""timm's own loader with its augmentation, in the training process and without its prefetcher, as on a machine without a GPU."""

import io

import numpy as np
import timm
import torch
from PIL import Image
from timm.data import create_loader

torch.set_num_threads(1)


class Jpegs(torch.utils.data.Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.files = []
        self.transform = None
        for _ in range(20):
            file = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (256, 256, 3), dtype=np.uint8)).save(file, "JPEG")
            self.files.append(file.getvalue())

    def __len__(self):
        return 640

    def __getitem__(self, index):
        image = Image.open(io.BytesIO(self.files[index % 20])).convert("RGB")
        return self.transform(image), index % 10


def main():
    model = timm.create_model("test_resnet", num_classes=10)
    loader = create_loader(
        Jpegs(), input_size=(3, 64, 64), batch_size=16, is_training=True, use_prefetcher=False, num_workers=0,
        auto_augment="rand-m7-inc1", re_prob=0.25, persistent_workers=False,
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = torch.nn.CrossEntropyLoss()
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
