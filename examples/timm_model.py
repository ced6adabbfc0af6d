"""A timm model, at the setting of the paper's ImageNet experiments: SGD with momentum, 2.5e-4."""

from functools import partial

import timm
import torch

import tent

model = timm.create_model("resnet10t", pretrained=False, num_classes=10).eval()  # pretrained=True, with a network
adapted = tent.adapt(model, optimizer=partial(torch.optim.SGD, momentum=0.9), lr=2.5e-4)
print(adapted)

for _ in range(3):
    x = torch.randn(16, 3, 64, 64)  # stands for a batch of corrupted images
    confidence, answer = adapted(x).softmax(1).max(1)
    print(f"entropy {adapted.loss:.4f}, mean confidence {confidence.mean():.3f}")

vit = timm.create_model("vit_tiny_patch16_224", num_classes=10).eval()  # layer norms: γ and β adapt, no statistics
print(tent.adapt(vit))
