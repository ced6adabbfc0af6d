"""An adapted model in the place of a plain one, in other people's loops."""

import logging
import warnings

import pytest
import torch
from torch import Tensor, nn
from toys import batches, made

import tent

transformers = pytest.importorskip("transformers")


@pytest.fixture
def vision() -> nn.Module:
    torch.manual_seed(0)
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1], layer_type="basic", num_labels=3
    )
    return transformers.ResNetForImageClassification(config).eval()


def test_a_transformers_pipeline_answers_by_the_adapted_model(vision: nn.Module) -> None:
    from PIL import Image

    adapted, processor = tent.adapt(vision), transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    logging.getLogger("transformers").setLevel(logging.CRITICAL)  # it names the classes that it was written for
    classify = transformers.pipeline("image-classification", model=adapted, image_processor=processor, device="cpu")
    images = [Image.new("RGB", (40, 40), (60 * i, 0, 255 - 60 * i)) for i in range(4)]
    answers = classify(images, batch_size=4, top_k=3)
    assert adapted.updates == 1
    assert {each["label"] for each in answers[0]} == set(vision.config.id2label.values())


def test_a_transformers_trainer_predicts(vision: nn.Module, tmp_path) -> None:
    pytest.importorskip("accelerate")
    adapted = tent.adapt(vision)
    items = [{"pixel_values": x, "labels": i % 3, "unused": 1} for i, x in enumerate(torch.randn(8, 3, 32, 32))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the trainer's own
        options = transformers.TrainingArguments(
            str(tmp_path),
            disable_tqdm=True,
            per_device_eval_batch_size=4,
            report_to=[],
            use_cpu=True,
            label_names=["labels"],
        )
        trainer = transformers.Trainer(model=adapted, args=options)
        found = trainer.predict(items)
    assert found.predictions.shape == (8, 3)
    assert adapted.updates == 2
    other = tent.adapt(vision)
    expected = torch.cat(
        [other(pixel_values=torch.stack([i["pixel_values"] for i in items[k : k + 4]])).logits for k in (0, 4)]
    )
    assert torch.allclose(torch.as_tensor(found.predictions), expected, atol=1e-5)


def test_lightning_tests_an_adapted_model(tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lightning's own, at import and at its first use
        lightning = pytest.importorskip("lightning")

        class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.model, self.seen = tent.adapt(made("conv")), []

            def test_step(self, batch: Tensor) -> None:
                self.seen.append(self.model(batch))

        module, stream = Module(), batches(3)
        loader = torch.utils.data.DataLoader(torch.cat(stream), batch_size=6)
        lightning.Trainer(
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            default_root_dir=tmp_path,
        ).test(module, loader, verbose=False)
    other = tent.adapt(made("conv"))
    assert all(torch.equal(one, other(x)) for one, x in zip(module.seen, stream, strict=True))
    assert module.model.updates == 3
