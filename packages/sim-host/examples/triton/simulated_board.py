"""A process on a board of `pctodl sim host`: one JSON value a line over the host's socket. Python's own library only."""
import json
import os
import socket
import threading


class SimulatedBoard:
    """One connection is one process; concurrent callers wait for one another, as on a stream."""

    def __init__(self, network, name, gpu="0"):
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.path.join(os.environ["PCTODL_GPU_SIM_FOLDER"], "control.sock"))
        self._lines = self._socket.makefile("r")
        self._ask(
            kind="attach",
            protocol=1,
            pid=os.getpid(),
            uid=os.geteuid(),
            name=name,
            gpu=gpu,
            tenant={"model": network, "batchSize": 1, "mpsPercent": 100},
            stepwise=True,
        )

    def step(self, batch_size):
        """Execute one batch; returns at its end, with its duration on the board's clock in milliseconds."""
        return self._ask(kind="step", batchSize=batch_size)["durationMs"]

    def _ask(self, **request):
        with self._lock:
            self._socket.sendall((json.dumps(request) + "\n").encode())
            line = self._lines.readline()
        reply = json.loads(line) if line else {"error": "the simulated host has ended"}
        if reply.get("error") or reply.get("cudaError"):
            raise RuntimeError(reply.get("error") or f"CUDA error {reply['cudaError']}: {reply['message']}")
        return reply
