"""Closed-loop clients of a Triton server, unmodified: triton-client.py http|grpc URL MODEL BATCH CLIENTS SECONDS prints one line of JSON."""
import json
import sys
import threading
import time

import numpy as np

protocol, url, model, batch, clients, seconds = sys.argv[1:]
batch, clients, seconds = int(batch), int(clients), float(seconds)
if protocol == "http":
    import tritonclient.http as triton
else:
    import tritonclient.grpc as triton

replies = []
start = time.monotonic()
measured_from, end = start + seconds / 4, start + seconds


def loop():
    client = triton.InferenceServerClient(url)
    image = triton.InferInput("image", [batch, 1], "UINT8")
    image.set_data_from_numpy(np.zeros((batch, 1), np.uint8))
    while time.monotonic() < end:
        sent = time.monotonic()
        duration = client.infer(model, [image]).as_numpy("duration_ms")
        assert duration.shape == (batch, 1)
        replies.append((sent, time.monotonic(), float(duration[0, 0])))


threads = [threading.Thread(target=loop) for _ in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
kept = [reply for reply in replies if reply[0] >= measured_from]
print(
    json.dumps(
        {
            "requests": len(kept),
            "latencyMs": 1000 * sum(back - sent for sent, back, _ in kept) / len(kept),
            "durationMs": sum(duration for _, _, duration in kept) / len(kept),
        }
    )
)
