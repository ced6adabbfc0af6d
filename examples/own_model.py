"""Your own model in ten lines: ask the doctor, then adapt."""

import torch
from torch import nn

import tent

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 10),
).eval()
stream = [torch.randn(64, 3, 32, 32) + 1 for _ in range(5)]  # stands for your shifted data

print(tent.doctor(model, stream[0]))
adapted = tent.adapt(model)
for x in stream:
    answers = adapted(x).argmax(1)
    print(f"entropy {adapted.loss:.4f}, most answered class {answers.mode().values.item()}")
