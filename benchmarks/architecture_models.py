"""The architectures that are checked: a small model a family of timm, torchvision's, and tiny ones of transformers."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import timm
import torch
import torchvision
import transformers
from torch import Tensor, nn

Inputs: TypeAlias = tuple[tuple[Tensor, ...], dict[str, Tensor]]
Maker: TypeAlias = Callable[[], tuple[nn.Module, Inputs]]

SIZES = (64, 96, 128, 192, 224, 240, 256, 384)  # the first that a model takes is used
BATCH, CLASSES, WORDS = 3, 7, 50

TIMM = """
beit_base_patch16_224 beitv2_base_patch16_224 botnet26t_256 eca_botnext26ts_256 halonet26t haloregnetz_b
lambda_resnet26t lamhalobotnet50ts_256 sebotnet33ts_256 sehalonet33ts bat_resnext26ts eca_resnext26ts gcresnext26ts
gernet_s mobileone_s0 regnetz_b16 repvgg_a0 resnet32ts resnext26ts seresnext26ts test_byobnet cait_xxs24_224
coat_lite_tiny convit_tiny convmixer_768_32 convnext_atto convnextv2_atto convnext_atto_rms cpubone_b0_bfrobust
crossvit_tiny_240 csatv2 cs3darknet_focus_s cspdarknet53 cspresnet50 cspresnext50 darknet17 sedarknet21 davit_tiny
deit_tiny_patch16_224 deit_tiny_distilled_patch16_224 densenet121 densenetblur121d dla34 dla46x_c dpn48b
edgenext_xx_small efficientformer_l1 efficientformerv2_s0 efficientnet_b0 efficientnet_b0_g8_gn efficientnetv2_rw_t
fbnetc_100 gc_efficientnetv2_rw_t mixnet_s mnasnet_050 mobilenet_edgetpu_100 mobilenetv1_100 mobilenetv2_050
semnasnet_050 spnasnet_100 tf_efficientnet_lite0 tf_mixnet_s tinynet_e efficientvim_m1 efficientvit_b0 efficientvit_m0
eva02_tiny_patch14_224 vit_small_patch16_dinov3 fasternet_t0 fastvit_t8 focalnet_tiny_srf gcvit_xxtiny ghostnet_050
ghostnetv2_100 hardcorenas_a hgnet_tiny hgnetv2_b0 hiera_tiny_224 hieradet_small hrnet_w18_small iformer_t
inception_next_atto inception_resnet_v2 inception_v3 inception_v4 lcnetv2_small levit_128s levit_conv_128s
lowformer_b0 mambaout_femto test_mambaout coatnet_nano_rw_224 coatnext_nano_rw_224 maxvit_nano_rw_256
maxxvit_rmlp_nano_rw_256 maxxvitv2_nano_rw_256 caformer_s18 convformer_s18 poolformer_s12 poolformerv2_s12
gmixer_12_224 gmlp_ti16_224 mixer_s32_224 resmlp_12_224 fbnetv3_b lcnet_035 mobilenetv3_small_050
mobilenetv4_conv_small_050 tf_mobilenetv3_small_075 mobilevit_xxs mobilevitv2_050 mvitv2_tiny
naflexvit_base_patch16_gap nasnetalarge nest_tiny nextvit_small eca_nfnet_l0 nf_regnet_b0 nf_resnet26 test_nfnet
pit_ti_224 pnasnet5large pvt_v2_b0 rdnet_tiny regnetv_040 regnetx_002 regnety_002 regnetz_005 repghostnet_050
repvit_m0_9 res2net50_14w_8s res2next50 resnest14d ecaresnet26t ecaresnext26t_32x4d resnet10t resnetaa34d resnetblur18
resnetrs50 resnext50_32x4d seresnet18 seresnext26d_32x4d resnetv2_18 resnetv2_50x1_bit rexnet_100 rexnetr_100
selecsls42 legacy_seresnet18 legacy_seresnext26_32x4d sequencer2d_s shvit_s1 skresnet18 skresnext50_32x4d starnet_s050
swiftformer_xs swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 swinv2_cr_tiny_224 tiny_vit_5m_224
tnt_s_patch16_224 tresnet_m twins_svt_small vgg11 vgg11_bn visformer_tiny flexivit_small test_vit vit_tiny_patch16_224
vit_tiny_r_s16_p8_224 vit_relpos_small_patch16_224 samvit_base_patch16_224 vitamin_small_224 volo_d1_224
ese_vovnet19b_slim_dw eca_vovnet39b legacy_xception xception41 xcit_nano_12_p16_224 qwen3_vit_306m gemma4_vit_167m
deepseek_vit_412m mobilenetv5_base
""".split()  # noqa: SIM905 (as a list it would be ten times as long)

# large ones, made small
SMALLER: dict[str, dict[str, Any]] = {
    "beit_base_patch16_224": {"depth": 3},
    "beitv2_base_patch16_224": {"depth": 3},
    "naflexvit_base_patch16_gap": {"depth": 3},
    "samvit_base_patch16_224": {"depth": 3},
    "qwen3_vit_306m": {"depth": 2},
    "gemma4_vit_167m": {"depth": 2},
    "deepseek_vit_412m": {"depth": 2},
}

TORCHVISION = """
alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5
mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet50 resnext50_32x4d
shufflenet_v2_x0_5 squeezenet1_1 swin_t swin_v2_t vgg11 vgg11_bn vit_b_32 wide_resnet50_2 deeplabv3_mobilenet_v3_large
deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large r3d_18 mc3_18 mvit_v2_s
""".split()  # noqa: SIM905 (as a list it would be ten times as long)
VIDEOS = {"r3d_18", "mc3_18", "mvit_v2_s"}

LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
TEXT: dict[str, Any] = {**LAYERS, "vocab_size": WORDS, "num_labels": CLASSES, "pad_token_id": 0}
STAGES = {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "num_labels": CLASSES}
PATCHES = {**LAYERS, "image_size": 64, "patch_size": 16, "num_labels": CLASSES}
SMALL_T5 = {"vocab_size": WORDS, "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
WAVES = {**LAYERS, "num_labels": CLASSES, "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2)}
WAVES |= {"num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2}
FEW_KEYS = {**TEXT, "num_key_value_heads": 1, "head_dim": 16}

# a class of transformers -> its configuration's class, what makes it tiny, and its inputs
TRANSFORMERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "BertForSequenceClassification": ("BertConfig", TEXT, "words"),
    "BertForTokenClassification": ("BertConfig", TEXT, "words"),
    "BertForMaskedLM": ("BertConfig", TEXT, "words"),
    "RobertaForSequenceClassification": ("RobertaConfig", TEXT, "words"),
    "ElectraForSequenceClassification": ("ElectraConfig", {**TEXT, "embedding_size": 32}, "words"),
    "DistilBertForSequenceClassification": (
        "DistilBertConfig",
        {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, "num_labels": CLASSES},
        "words",
    ),
    "AlbertForSequenceClassification": ("AlbertConfig", {**TEXT, "embedding_size": 16}, "words"),
    "DebertaV2ForSequenceClassification": ("DebertaV2Config", TEXT, "words"),
    "MPNetForSequenceClassification": ("MPNetConfig", TEXT, "words"),
    "ModernBertForSequenceClassification": ("ModernBertConfig", TEXT, "words"),
    "ConvBertForSequenceClassification": ("ConvBertConfig", {**TEXT, "embedding_size": 32}, "words"),
    "SqueezeBertForSequenceClassification": ("SqueezeBertConfig", {**TEXT, "embedding_size": 32}, "words"),
    "RoFormerForSequenceClassification": ("RoFormerConfig", {**TEXT, "embedding_size": 32}, "words"),
    "LlamaForSequenceClassification": ("LlamaConfig", TEXT, "words"),
    "LlamaForCausalLM": ("LlamaConfig", TEXT, "words"),
    "MistralForSequenceClassification": ("MistralConfig", FEW_KEYS, "words"),
    "Qwen2ForSequenceClassification": ("Qwen2Config", FEW_KEYS, "words"),
    "Qwen3ForSequenceClassification": ("Qwen3Config", FEW_KEYS, "words"),
    "Gemma2ForSequenceClassification": ("Gemma2Config", FEW_KEYS, "words"),
    "PhiForSequenceClassification": ("PhiConfig", TEXT, "words"),
    "GPT2LMHeadModel": ("GPT2Config", {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 2}, "words"),
    "GPTNeoXForSequenceClassification": ("GPTNeoXConfig", TEXT, "words"),
    "OPTForSequenceClassification": (
        "OPTConfig",
        {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32, "max_position_embeddings": 64},
        "words",
    ),
    "BloomForSequenceClassification": ("BloomConfig", {**TEXT, "n_layer": 2, "n_head": 2}, "words"),
    "MambaForCausalLM": ("MambaConfig", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2}, "ids"),
    "T5ForConditionalGeneration": ("T5Config", SMALL_T5, "two texts"),
    "ViTForImageClassification": ("ViTConfig", PATCHES, "images"),
    "BeitForImageClassification": ("BeitConfig", PATCHES, "images"),
    "Dinov2ForImageClassification": ("Dinov2Config", PATCHES, "images"),
    "SwinForImageClassification": (
        "SwinConfig",
        {"image_size": 64, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "num_labels": CLASSES},
        "images",
    ),
    "ConvNextForImageClassification": ("ConvNextConfig", STAGES, "images"),
    "ConvNextV2ForImageClassification": ("ConvNextV2Config", STAGES, "images"),
    "ResNetForImageClassification": ("ResNetConfig", {**STAGES, "embedding_size": 16}, "images"),
    "RegNetForImageClassification": ("RegNetConfig", {**STAGES, "embedding_size": 16, "groups_width": 16}, "images"),
    "SegformerForSemanticSegmentation": ("SegformerConfig", {**STAGES, "decoder_hidden_size": 32}, "images"),
    "Wav2Vec2ForSequenceClassification": ("Wav2Vec2Config", WAVES, "waves"),
}


def make_timm(name: str) -> tuple[nn.Module, Inputs]:
    """Return a model of timm, for the smallest images that it takes."""
    options, problem = {"num_classes": CLASSES, **SMALLER.get(name, {})}, ""
    for size in SIZES:
        try:
            model = timm.create_model(name, img_size=size, **options)
        except (TypeError, ValueError, AssertionError, RuntimeError):
            model = timm.create_model(name, **options)
        inputs = torch.randn(BATCH, 3, size, size, dtype=torch.float64)
        try:
            with torch.no_grad():
                model.double().eval()(inputs)
        except (RuntimeError, AssertionError, ValueError) as error:
            problem = str(error)
            continue
        return model, ((inputs,), {})
    raise RuntimeError(f"no size of {SIZES} fits: {problem}")


def make_torchvision(name: str) -> tuple[nn.Module, Inputs]:
    """Return a model of torchvision, and images or a film for it."""
    own = torchvision.models.get_model_builder(name).__module__
    more: dict[str, Any] = {"weights_backbone": None} if "segmentation" in own else {}
    more |= {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **more).double().eval()
    size = {"inception_v3": 96, "vit_b_32": 224, "maxvit_t": 224, "mvit_v2_s": 224}.get(name, 64)
    shape = (2, 3, 16 if name == "mvit_v2_s" else 4, size, size) if name in VIDEOS else (BATCH, 3, size, size)
    return model, ((torch.randn(shape, dtype=torch.float64),), {})


def make_transformers(name: str) -> tuple[nn.Module, Inputs]:
    """Return a tiny model of transformers, and inputs of its kind."""
    config, options, kind = TRANSFORMERS[name]
    model = getattr(transformers, name)(getattr(transformers, config)(**options)).double().eval()
    ids = torch.randint(1, WORDS, (BATCH, 8))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    inputs: dict[str, dict[str, Tensor]] = {
        "words": {"input_ids": ids * mask, "attention_mask": mask},
        "ids": {"input_ids": ids},
        "two texts": {"input_ids": ids, "decoder_input_ids": torch.randint(1, WORDS, (BATCH, 5))},
        "images": {"pixel_values": torch.randn(BATCH, 3, 64, 64, dtype=torch.float64)},
        "waves": {"input_values": torch.randn(BATCH, 800, dtype=torch.float64)},
    }
    return model, ((), inputs[kind])


MODELS: dict[str, Maker] = {
    **{f"timm {name}": partial(make_timm, name) for name in TIMM},
    **{f"torchvision {name}": partial(make_torchvision, name) for name in TORCHVISION},
    **{f"transformers {name}": partial(make_transformers, name) for name in TRANSFORMERS},
}
