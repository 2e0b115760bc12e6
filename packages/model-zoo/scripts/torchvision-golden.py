"""Writes test/golden/torchvision.json: digests of what torchvision itself says of the seven networks.

Run where torch and torchvision are installed:  python3 scripts/torchvision-golden.py > test/golden/torchvision.json

Each digest is the SHA-256 of lines joined by newlines and sorted by code point:
  stateDictionary   '<name> <shape>'                         every learned tensor and batch-norm statistic
  layers            '<path> <kind> <attributes> <output shapes>'  every convolution, norm, linear layer and plain pool
"""

import hashlib
import json

import torch
import torchvision
from torch import nn

NETWORKS = ["mnasnet1_0", "densenet201", "efficientnet_v2_m", "maxvit_t", "mobilenet_v2", "resnet50", "vgg19"]
NOT_STORED = ("num_batches_tracked", "relative_position_index")


def digest(lines):
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def numbers(values):
    return "x".join(str(int(value)) for value in values)


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def describe(module):
    if isinstance(module, nn.Conv2d):
        sizes = [numbers(size) for size in (module.kernel_size, module.stride, module.padding)]
        return f"conv2d {' '.join(sizes)} {module.groups} {int(module.bias is not None)}"
    if isinstance(module, nn.BatchNorm2d):
        return f"batchNorm {round(1 / module.eps)}"
    if isinstance(module, nn.LayerNorm):
        return f"layerNorm {round(1 / module.eps)}"
    if isinstance(module, nn.Linear):
        return f"linear {int(module.bias is not None)}"
    if isinstance(module, nn.MaxPool2d) and not module.ceil_mode:
        return "maxPool " + " ".join(numbers(pair(size)) for size in (module.kernel_size, module.stride, module.padding))
    if isinstance(module, nn.AvgPool2d) and module.count_include_pad:
        return "avgPool " + " ".join(numbers(pair(size)) for size in (module.kernel_size, module.stride, module.padding))
    return None


def layer_lines(model, sizes):
    outputs = {}

    def record(path):
        return lambda module, inputs, output: outputs.setdefault(path, []).append(numbers(output.shape))

    modules = {path: module for path, module in model.named_modules() if describe(module)}
    for path, module in modules.items():
        module.register_forward_hook(record(path))
    with torch.no_grad():
        for size in sizes:
            model(torch.zeros(*size))
    return [f"{path} {describe(module)} {' '.join(outputs[path])}" for path, module in modules.items()]


def golden(name):
    model = getattr(torchvision.models, name)(weights=None).eval()
    stored = {key: value for key, value in model.state_dict().items() if not key.endswith(NOT_STORED)}
    sizes = [(2, 3, 224, 224)] if name == "maxvit_t" else [(2, 3, 224, 224), (1, 3, 256, 321)]
    layers = layer_lines(model, sizes)
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "storedTensors": len(stored),
        "stateDictionary": digest(f"{key} {numbers(value.shape)}" for key, value in stored.items()),
        "inputSizes": [list(size) for size in sizes],
        "layerCount": len(layers),
        "layers": digest(layers),
    }


versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
print(json.dumps({"versions": versions, "networks": {name: golden(name) for name in NETWORKS}}, indent=2))
