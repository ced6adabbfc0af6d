"""A Hugging Face model: keyword arguments in, its own ModelOutput out."""

import torch
from transformers import BertConfig, BertForSequenceClassification

import tent

config = BertConfig(
    vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, num_labels=3
)
model = BertForSequenceClassification(config)  # with a network: .from_pretrained(name)
adapted = tent.adapt(model, lr=1e-3)

for _ in range(3):
    batch = {"input_ids": torch.randint(1, 1000, (8, 20)), "attention_mask": torch.ones(8, 20, dtype=torch.long)}
    output = adapted(**batch)
    print(type(output).__name__, tuple(output.logits.shape), f"entropy {adapted.loss:.4f}")
