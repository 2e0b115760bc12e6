"""Exports networks of torchvision and timm to ONNX without their weights, for the tests in test/exported.

    python scripts/export-graphs.py <folder>      (torch 2.15, torchvision 0.29, timm 1.0.31, onnx 1.23)

The weights go into a file beside each graph, which is deleted. Compress with brotli afterwards.
"""

import os
import sys

import onnx
import timm
import torch
import torchvision

NETWORKS = {
    "torchvision": ["mobilenet_v3_large", "convnext_tiny", "swin_t", "shufflenet_v2_x1_0"],
    "timm": ["efficientnet_b0", "vit_tiny_patch16_224", "mixer_b16_224", "resnext50_32x4d"],
}


def export(model, path):
    model.eval()
    with torch.no_grad():
        torch.onnx.export(
            model,
            torch.zeros(1, 3, 224, 224),
            path,
            input_names=["input"],
            output_names=["logits"],
            dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}},
            opset_version=17,
            dynamo=False,
        )
    graph = onnx.load(path)
    data = os.path.basename(path) + ".data"
    onnx.save(graph, path, save_as_external_data=True, all_tensors_to_one_file=True, location=data, size_threshold=64)
    os.remove(path + ".data")


folder = sys.argv[1]
for library, names in NETWORKS.items():
    for name in names:
        model = timm.create_model(name) if library == "timm" else getattr(torchvision.models, name)(weights=None)
        export(model, os.path.join(folder, f"{library}-{name}.onnx"))
