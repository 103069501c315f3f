"""Ultralytics: its own trainer on drawn pictures, from a description of a model and no weights."""

import os
import pathlib
import tempfile

os.environ.setdefault("YOLO_OFFLINE", "true")
os.environ.setdefault("YOLO_CONFIG_DIR", tempfile.gettempdir())

import numpy
import torch
from PIL import Image
from ultralytics import YOLO


def draw(folder, count):
    images, labels = folder / "images", folder / "labels"
    images.mkdir(parents=True)
    labels.mkdir()
    random = numpy.random.default_rng(0)
    for number in range(count):
        pixels = random.integers(0, 255, (96, 96, 3), dtype=numpy.uint8)
        pixels[30:60, 30:60] = 255
        Image.fromarray(pixels).save(images / f"{number}.jpg")
        (labels / f"{number}.txt").write_text("0 0.47 0.47 0.31 0.31\n")


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as held:
        folder = pathlib.Path(held)
        draw(folder / "train", 160)
        draw(folder / "val", 4)
        (folder / "data.yaml").write_text(
            f"path: {folder}\ntrain: train/images\nval: val/images\nnames: {{0: square}}\n"
        )
        YOLO("yolov8n.yaml").train(
            data=str(folder / "data.yaml"), epochs=1, imgsz=64, batch=2, nbs=2, workers=0, device="cpu", plots=False, val=False,
            save=False, verbose=False, amp=False, project=str(folder), optimizer="SGD",
        )  # fmt: skip


if __name__ == "__main__":
    main()
