"""Runs exported networks beside torchvision's own with the same weights, and compares the scores.

  writeOnnx(network, FOLDER) of @pctodl/model-zoo/node  for each network to compare
  python3 scripts/torchvision-parity.py FOLDER/*.onnx  where onnx, onnxruntime, torch and torchvision are installed

Prints the largest difference relative to the largest score; exits with 1 where one exceeds a ten-thousandth.
"""

import pathlib
import sys

import onnx
import onnxruntime
import torch
import torchvision
from onnx import numpy_helper

TOLERANCE = 1e-4
NOT_STORED = ("num_batches_tracked", "relative_position_index")


def with_weights_of(graph, image_size):
    # MaxViT alone is built for one image size.
    options = {"input_size": image_size} if graph.name == "maxvit_t" else {}
    network = torchvision.models.get_model(graph.name, weights=None, **options).eval()
    weights = {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()) for tensor in graph.initializer}
    state = network.state_dict()
    stored = {name for name in state if not name.endswith(NOT_STORED)}
    if stored != set(weights):
        raise SystemExit(f"{graph.name}: other tensors than torchvision's: {sorted(stored ^ set(weights))}")
    state.update(weights)
    network.load_state_dict(state)
    return network


def relative_difference(path):
    model = onnx.load(path)
    _, _, height, width = (axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim)
    images = torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = with_weights_of(model.graph, (height, width))(images).numpy()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["logits"], {"input": images.numpy()})
    return abs(scores - expected).max() / abs(expected).max()


def main(paths):
    worst = 0.0
    for path in paths:
        difference = relative_difference(path)
        worst = max(worst, difference)
        print(f"{pathlib.Path(path).stem}: {difference:.1e}")
    return 1 if worst > TOLERANCE else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
