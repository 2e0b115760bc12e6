"""What a worker computes on batches that stay on the board: microbenchmarks, a transformer, and image networks.

An image network comes from its graph in @pctodl/model-zoo with random weights, and without a graph from torchvision.
"""

import json
import math

HEADS, FEATURES, POSITIONS = 32, 128, 2048
COPIED_ELEMENTS = 2**27


def step_maker(torch, name, graph_file, device, dtype):
    """A function from a batch size to a step without arguments, and where the network comes from, in words."""
    make = probe_maker(torch, name, device, dtype)
    if make is not None:
        return make, "plain torch"
    # One thread of the host would take seconds to draw the weights.
    with torch.device(device):
        if name == "transformer":
            layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True)
            model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
            shape, source = (128, 768), "plain torch"
        else:
            model, source = image_network(torch, name, graph_file)
            shape = (3, 224, 224)
    model = model.eval().to(device=device, dtype=dtype)

    def make_for(batch_size):
        batch = torch.rand((batch_size,) + shape, device=device, dtype=dtype)
        return lambda: model(batch)

    return make_for, source


def captured(torch, step):
    """The step as a CUDA graph, or as it is where it cannot be captured."""
    try:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay
    except torch.cuda.OutOfMemoryError:
        raise
    except RuntimeError:
        torch.cuda.synchronize()
        return step


def probe_maker(torch, name, device, dtype):
    def values(*shape):
        return torch.randn(shape, device=device, dtype=dtype)

    def products(batch_size):
        size = int(name.split("_")[1])
        a, b, c = values(size, size), values(size, size), values(size, size)
        return repeated(batch_size, lambda: torch.mm(a, b, out=c))

    def copies(batch_size):
        source = values(COPIED_ELEMENTS)
        target = torch.empty_like(source)
        return repeated(batch_size, lambda: target.copy_(source))

    def attention(queries):
        def make(batch_size):
            q = values(batch_size, HEADS, queries, FEATURES)
            k, v = values(batch_size, HEADS, POSITIONS, FEATURES), values(batch_size, HEADS, POSITIONS, FEATURES)
            return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)

        return make

    if name.startswith("gemm_"):
        return products
    makers = {"attention_prefill": attention(POSITIONS), "attention_decode": attention(1), "stream_copy": copies}
    return makers.get(name)


def repeated(count, act):
    def step():
        for _ in range(count):
            act()

    return step


def image_network(torch, name, graph_file):
    """The graph comes first, because the import of torchvision takes as long as that of torch."""
    if graph_file is not None:
        with open(graph_file) as file:
            return graph_network(torch, json.load(file)), "graph of the model zoo"
    import torchvision

    return torchvision.models.get_model(name, weights=None), "torchvision %s" % torchvision.__version__


def graph_network(torch, nodes):
    """A module that executes a graph: a list of {id, kind, inputs, attributes}, the input first."""
    functional = torch.nn.functional

    class GraphNetwork(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleDict()
            for i, node in enumerate(nodes):
                layer = layer_of(torch, node["kind"], node["attributes"])
                if layer is not None:
                    self.layers[str(i)] = layer
            self.last_use = {source: i for i, node in enumerate(nodes) for source in node["inputs"]}

        def forward(self, x):
            results, shapes = {nodes[0]["id"]: x}, {}
            for i, node in enumerate(nodes[1:], 1):
                sources = [results[source] for source in node["inputs"]]
                if node["kind"] == "windowPartition":
                    shapes[node["inputs"][0]] = sources[0].shape
                layer = self.layers[str(i)] if str(i) in self.layers else None
                result = layer(*sources) if layer else apply(node["kind"], node["attributes"], sources, shapes)
                results[node["id"]] = result
                for source in node["inputs"]:
                    if self.last_use[source] == i:
                        results.pop(source, None)
            return result

    def apply(kind, a, sources, shapes):
        x = sources[0] if sources else None
        if kind == "add":
            return x + sources[1]
        if kind == "mul":
            return x * sources[1]
        if kind == "scale":
            return x * a["factor"]
        if kind == "concat":
            return torch.cat(sources, 1)
        if kind == "spatialMean":
            return x.mean((2, 3))
        if kind == "flatten":
            return x.flatten(1)
        if kind == "contiguous":
            return x.contiguous()
        if kind == "matmul":
            return x @ (sources[1].transpose(-1, -2) if a["transposeB"] else sources[1])
        if kind == "softmax":
            return functional.softmax(x, -1)
        if kind == "splitHeads":
            part = x.chunk(a["parts"], -1)[a["part"]]
            return part.unflatten(-1, (a["heads"], -1)).transpose(2, 3)
        if kind == "mergeHeads":
            return x.transpose(2, 3).flatten(3)
        if kind == "pairsToHeads":
            positions = a["size"] ** 2
            return x.t().reshape(a["heads"], positions, positions)
        if kind == "windowPartition":
            b, c, h, w = x.shape
            cut, order = window_axes(a, c, h, w)
            return x.reshape([b] + cut).permute(order).reshape(b, -1, a["size"] ** 2, c)
        if kind == "windowMerge":
            b, c, h, w = shapes[a["restores"]]
            cut, order = window_axes(a, c, h, w)
            pieces = x.reshape([([b] + cut)[axis] for axis in order])
            return pieces.permute([order.index(axis) for axis in range(6)]).reshape(b, c, h, w)
        raise ValueError("no operator %s" % kind)

    return GraphNetwork()


def window_axes(a, channels, height, width):
    size = a["size"]
    rows, columns = height // size, width // size
    if a["layout"] == "window":
        return [channels, rows, size, columns, size], [0, 2, 4, 3, 5, 1]
    return [channels, size, rows, size, columns], [0, 3, 5, 2, 4, 1]


def layer_of(torch, kind, a):
    """A module for what has weights, or a class of torch of its own; None for the rest."""
    nn = torch.nn
    if kind == "conv2d":
        shape = (tuple(a["kernel"]), tuple(a["stride"]), tuple(a["padding"]))
        return nn.Conv2d(a["inChannels"], a["outChannels"], *shape, groups=a["groups"], bias=a["bias"])
    if kind == "batchNorm":
        return nn.BatchNorm2d(a["channels"], eps=a["epsilon"])
    if kind == "layerNorm":
        return nn.LayerNorm(a["features"], eps=a["epsilon"])
    if kind == "linear":
        return nn.Linear(a["inFeatures"], a["outFeatures"], bias=a["bias"])
    if kind in ("maxPool", "avgPool"):
        pool = nn.MaxPool2d if kind == "maxPool" else nn.AvgPool2d
        return pool(tuple(a["kernel"]), tuple(a["stride"]), tuple(a["padding"]))
    if kind == "adaptiveAvgPool":
        return nn.AdaptiveAvgPool2d(tuple(a["outputSize"]))
    if kind == "relativePositionBias":
        return relative_position_bias(torch, a["size"], a["heads"])
    if kind in ("relu", "relu6", "silu"):
        return {"relu": nn.ReLU, "relu6": nn.ReLU6, "silu": nn.SiLU}[kind](inplace=a["inPlace"])
    plain = {"gelu": nn.GELU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh}
    return plain[kind]() if kind in plain else None


def relative_position_bias(torch, size, heads):
    """Looks up a bias for each pair of the positions of a window, as a module without inputs."""

    class RelativePositionBias(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn((2 * size - 1) ** 2, heads) / math.sqrt(heads))
            at = [(i // size, i % size) for i in range(size * size)]
            index = [(y - v + size - 1) * (2 * size - 1) + x - u + size - 1 for y, x in at for v, u in at]
            self.register_buffer("index", torch.tensor(index))

        def forward(self):
            return self.table[self.index]

    return RelativePositionBias()
