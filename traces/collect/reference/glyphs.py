"""Drawn digits: a stand-in for MNIST that needs no network.

Each image is a digit of PIL's built-in font, in one of a few sizes and weights, moved by a random
affine map. A pool of large glyphs is drawn once, so an image costs one 28x28 resampling (20 us).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

SIDE = 28
CLASSES = 10
_GLYPH_SIDE = 56
_FONT_SIZES = (38, 44, 50)
_STROKES = (0, 1, 2)
_REPORT_EVERY = 500

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.uint8]


def draw_digits(count: int, seed: int, drawn: Callable[[int], None] = lambda _: None) -> tuple[Images, Labels]:
    """Draw `count` white-on-black digits.

    Args:
        count: how many images.
        seed: the same seed gives the same images on one version of PIL and numpy.
        drawn: told now and then how many are done.

    Returns:
        Images (count, 28, 28) and labels (count,), both bytes; classes are equally likely.
    """
    random = np.random.default_rng(seed)
    pool = [_draw_styles(str(digit)) for digit in range(CLASSES)]
    labels = random.integers(0, CLASSES, count, dtype=np.uint8)
    styles = random.integers(0, len(pool[0]), count)
    images = np.empty((count, SIDE, SIDE), dtype=np.uint8)
    for index in range(count):
        glyph = pool[labels[index]][styles[index]]
        images[index] = np.asarray(
            glyph.transform((SIDE, SIDE), Image.Transform.AFFINE, _random_affine(random), Image.Resampling.BILINEAR)
        )
        if (index + 1) % _REPORT_EVERY == 0:
            drawn(index + 1)
    noise = random.integers(0, 24, images.shape, dtype=np.uint8)
    return np.maximum(images, noise), labels


def _draw_styles(digit: str) -> list[Image.Image]:
    return [_draw_glyph(digit, size, stroke) for size in _FONT_SIZES for stroke in _STROKES]


def _draw_glyph(digit: str, size: int, stroke: int) -> Image.Image:
    image = Image.new("L", (_GLYPH_SIDE, _GLYPH_SIDE))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    left, top, right, bottom = draw.textbbox((0, 0), digit, font=font, stroke_width=stroke)
    corner = ((_GLYPH_SIDE - left - right) / 2, (_GLYPH_SIDE - top - bottom) / 2)
    draw.text(corner, digit, fill=255, font=font, stroke_width=stroke)
    return image


def _random_affine(random: np.random.Generator) -> tuple[float, float, float, float, float, float]:
    """A map from image to glyph coordinates: turned, sheared, scaled and shifted about the centre."""
    angle = math.radians(random.uniform(-20, 20))
    shear = random.uniform(-0.25, 0.25)
    scale_x, scale_y = random.uniform(0.85, 1.25, 2) * _GLYPH_SIDE / SIDE
    shift_x, shift_y = random.uniform(-2.5, 2.5, 2)
    a, b = scale_x * math.cos(angle), scale_x * (shear - math.sin(angle))
    d, e = scale_y * math.sin(angle), scale_y * math.cos(angle)
    centre_x, centre_y = SIDE / 2 + shift_x, SIDE / 2 + shift_y
    middle = _GLYPH_SIDE / 2
    return a, b, middle - a * centre_x - b * centre_y, d, e, middle - d * centre_x - e * centre_y
