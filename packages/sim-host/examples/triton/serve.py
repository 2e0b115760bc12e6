"""NVIDIA Triton on a simulated board: `pctodl sim host --gpu A100 -- python serve.py resnet50 vgg19`.

Needs `pip install nvidia-pytriton==0.7.0`. The server, its batching and its metrics are the real ones; what an inference takes, and
draws, is the board's. `vgg19:48` answers clips of 48 images, so that a batch takes long beside what a busy machine adds.
"""
import sys

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig, TritonSecurityConfig

from simulated_board import SimulatedBoard


def model_function(network, images):
    board = SimulatedBoard(network, f"tritonserver {network}")

    @batch
    def infer(image):
        duration_ms = board.step(images * len(image))
        return {"duration_ms": np.full((len(image), 1), duration_ms, np.float32)}

    return infer


networks, http_port = (sys.argv[1:] or ["resnet50"]), 8000
if networks[-1].isdigit():
    http_port = int(networks.pop())
config = TritonConfig(http_port=http_port, grpc_port=http_port + 1, metrics_port=http_port + 2, metrics_interval_ms=500)
# PyTriton hides a model's statistics too, which pctodl govern reads.
security = TritonSecurityConfig(restricted_endpoints=["shared-memory", "model-repository", "trace", "logging"])
with Triton(config=config, security_config=security) as triton:
    for word in networks:
        network, _, images = word.partition(":")
        images = int(images or 1)
        triton.bind(
            model_name=network,
            infer_func=model_function(network, images),
            inputs=[Tensor(name="image", dtype=np.uint8, shape=(1,))],
            outputs=[Tensor(name="duration_ms", dtype=np.float32, shape=(1,))],
            config=ModelConfig(max_batch_size=512 // images, batcher=DynamicBatcher(max_queue_delay_microseconds=1000)),
            strict=True,
        )
    triton.serve()
