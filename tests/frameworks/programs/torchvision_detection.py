"""torchvision: Faster R-CNN on pictures of various sizes; boxes are found from masks in Python loops."""

import numpy
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.rpn import AnchorGenerator
from torchvision.transforms import v2


class Walkers(Dataset):
    def __init__(self, transforms):
        self.transforms = transforms

    def __len__(self):
        return 120

    def __getitem__(self, index):
        random = numpy.random.default_rng(index)
        height, width = 120 + 8 * (index % 4), 150 + 8 * (index % 3)
        image = torch.from_numpy(random.random((3, height, width), dtype=numpy.float32))
        mask = numpy.zeros((height, width), dtype=numpy.uint8)
        for number in range(1 + index % 3):
            top, left = random.integers(0, 60, 2)
            mask[top : top + 40, left : left + 40] = number + 1
        boxes = []
        for number in range(1, mask.max() + 1):
            xs, ys = [], []
            for y in range(height):
                for x in range(width):
                    if mask[y, x] == number:
                        xs.append(x)
                        ys.append(y)
            if xs:
                boxes.append([min(xs), min(ys), max(xs) + 1, max(ys) + 1])
        target = {
            "boxes": torch.tensor(boxes, dtype=torch.float32),
            "labels": torch.ones(len(boxes), dtype=torch.int64),
        }
        return self.transforms(image), target


def collate_fn(batch):
    return tuple(zip(*batch, strict=True))


def main():
    torch.set_num_threads(1)
    backbone = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=4, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, stride=4, padding=1)
    )
    backbone.out_channels = 16
    model = FasterRCNN(
        backbone,
        num_classes=2,
        rpn_anchor_generator=AnchorGenerator(((32,),), ((1.0,),)),
        min_size=96,
        max_size=128,
        box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0"], 3, 2),
        rpn_post_nms_top_n_train=50,
        box_batch_size_per_image=32,
    )
    loader = DataLoader(Walkers(v2.RandomHorizontalFlip()), batch_size=2, shuffle=True, collate_fn=collate_fn)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005, momentum=0.9)
    model.train()
    for images, targets in loader:
        losses = model(list(images), list(targets))
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
