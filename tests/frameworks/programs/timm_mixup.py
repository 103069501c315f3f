"""timm with Mixup and label smoothing; the soft loss is summed sample by sample in Python."""

import timm
import torch
from timm.data import Mixup
from timm.optim import create_optimizer_v2
from timm.utils import AverageMeter
from torch.utils.data import DataLoader, TensorDataset


def soft_loss(logits, targets):
    total = torch.zeros(())
    for row in range(logits.shape[0]):
        for label in range(logits.shape[1]):
            total = total - targets[row, label] * torch.log_softmax(logits[row], 0)[label]
    return total / logits.shape[0]


def main():
    torch.set_num_threads(1)
    model = timm.create_model("test_vit", num_classes=10, img_size=160)
    loader = DataLoader(
        TensorDataset(torch.randn(480, 3, 160, 160), torch.arange(480) % 10), batch_size=4, shuffle=True
    )
    mixup = Mixup(mixup_alpha=0.2, num_classes=10, label_smoothing=0.1)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
    losses = AverageMeter()
    for images, labels in loader:
        images, targets = mixup(images, labels)
        loss = soft_loss(model(images), targets.to("cpu"))
        losses.update(loss.item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
