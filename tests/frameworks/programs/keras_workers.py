"""Keras on torch: a PyDataset that draws its pictures in Python, with two workers of Keras' own."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy
import torch


class Drawn(keras.utils.PyDataset):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def __len__(self):
        return 150

    def __getitem__(self, index):
        rows = []
        for sample in range(16):
            rows.append([((index + sample) * place % 17) / 17 for place in range(4096)])
        return numpy.array(rows, dtype="float32").reshape(16, 64, 64, 1), numpy.arange(16) % 10


def main():
    torch.set_num_threads(1)
    model = keras.Sequential(
        [
            keras.layers.Input((64, 64, 1)),
            keras.layers.Conv2D(4, 3, strides=4, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(Drawn(workers=2, use_multiprocessing=False), epochs=1, verbose=0)


if __name__ == "__main__":
    main()
