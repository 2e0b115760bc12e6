"""Checks an ONNX file, and prints the shape that ONNX infers for every tensor as JSON; open axes by their name."""

import json
import sys

import onnx

path = sys.argv[1]
onnx.checker.check_model(path, full_check=True)
model = onnx.load(path, load_external_data=False)
graph = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph
values = [*graph.value_info, *graph.output]
print(json.dumps({v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}))
