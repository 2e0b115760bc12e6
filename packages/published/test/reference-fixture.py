"""Write a folder of parameters as the Python code does, with the standard library alone, or with scikit-learn and joblib where `real` is asked for.

    python3 reference-fixture.py <folder> plain|real
"""

import collections
import json
import os
import pickle
import struct
import sys
import types
import zipfile

folder, how = sys.argv[1:3]
resnet = os.path.join(folder, "resnet50")
os.makedirs(resnet)
SUFFIX = "_imagenet_a100_mem1215"


def module(name, **members):
    made = types.ModuleType(name)
    sys.modules[name] = made
    for key, value in members.items():
        value.__module__ = name
        value.__qualname__ = value.__name__ = key
        setattr(made, key, value)


class FloatStorage:
    pass


def rebuild(*_args):
    pass


class Scalar:
    def __init__(self, key):
        self.key = key

    def __reduce__(self):
        return rebuild, (Stored(self.key), 0, (), (), False, collections.OrderedDict())


class Stored:
    def __init__(self, key):
        self.key = key


class TorchPickler(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", FloatStorage, value.key, "cpu", 1) if isinstance(value, Stored) else None


def write_tensors(kind, values):
    with zipfile.ZipFile(os.path.join(resnet, kind + "_model" + SUFFIX + ".pth"), "w") as archive:
        named = collections.OrderedDict((name, Scalar(str(i))) for i, name in enumerate(values))
        with archive.open("archive/data.pkl", "w") as opened:
            TorchPickler(opened, 2).dump(named)
        for i, value in enumerate(values.values()):
            archive.writestr("archive/data/%d" % i, struct.pack("<f", value))


def write_json(kind, content):
    with open(os.path.join(resnet, kind + SUFFIX + ".json"), "w") as opened:
        json.dump(content, opened)


module("torch", FloatStorage=FloatStorage)
module("torch._utils", _rebuild_tensor_v2=rebuild)
write_tensors("sm_base", {"raw_lambda_sm": -0.25, "raw_gamma_sm": 0.5, "raw_beta_sm": 4.25})
write_tensors("mem_base", {"raw_phi_mem": 51.5, "raw_alpha_mem": -0.75, "raw_lambda_mem": 1.0, "raw_beta_mem": -0.5})
write_tensors(
    "mem_system",
    {"raw_k1": -0.125, "raw_k2": 0.5, "raw_alpha": 4.5, "raw_beta": 0.25, "raw_mu": 0.0625, "raw_tau": 16.5},
)
# What is really installed asks whether torch is there.
for name in ("torch", "torch._utils"):
    del sys.modules[name]
write_json("sm_kappa", {"kappa": 2.0, "L_alpha": 0.4, "L_beta": 59.5, "mse": 1.0})
write_json(
    "throughput_params",
    {"kappa_a": 2.0, "kappa_b": 31.5, "gamma_t": 0.7, "T_start": 700, "f_ref": 1410.0, "f_min": 210.0, "batch_aware_kappa": True},
)
write_json(
    "power_params",
    {
        "static": {"delta_3": 1e-8, "delta_2": -5e-5, "delta_1": 0.03, "delta_0": 25.0},
        "dynamic": {"gamma_p": 1.1, "P_base": 30.0, "f_ref": 1410.0, "f_min": 210.0},
    },
)

COUNTS = {"sm_gbr_model": 13, "mem_gbr_model": 11, "throughput_gbr_model": 14, "power_dyn_anchor_gbr": 8}
predictions = {}
if how == "real":
    import random

    import joblib
    import numpy
    from sklearn.ensemble import GradientBoostingRegressor

    for kind, features in COUNTS.items():
        draw = random.Random(kind)
        rows = numpy.array([[draw.uniform(0, 100) for _ in range(features)] for _ in range(120)], dtype=numpy.float32)
        target = rows[:, 0] * 2 + rows[:, 1] * rows[:, 2] / 50
        model = GradientBoostingRegressor(n_estimators=25, max_depth=5, random_state=1).fit(rows, target)
        joblib.dump(model, os.path.join(resnet, kind + SUFFIX + ".pkl"), compress=3 if features == 8 else 0)
        predictions[kind] = {"rows": rows[:20].tolist(), "values": model.predict(rows[:20]).tolist()}
else:

    class Made:
        """An instance of a class that is not there, with the state that it would have."""

        def __init__(self, reducer, args, state):
            self.parts = (reducer, args, state)

        def __reduce__(self):
            return self.parts

    def stub(name):
        def function(*_args):
            pass

        return function

    reconstruct, dtype, ndarray = stub("_reconstruct"), stub("dtype"), stub("ndarray")
    module("numpy", dtype=dtype, ndarray=ndarray)
    module("numpy.core")
    module("numpy.core.multiarray", _reconstruct=reconstruct)
    names = ("GradientBoostingRegressor", "DecisionTreeRegressor", "Tree", "DummyRegressor")
    places = ("sklearn.ensemble._gb", "sklearn.tree._classes", "sklearn.tree._tree", "sklearn.dummy")
    module("sklearn")
    for package in ("sklearn.ensemble", "sklearn.tree"):
        module(package)
    classes = {}
    for name, place in zip(names, places):
        classes[name] = stub(name)
        module(place, **{name: classes[name]})

    def number(code):
        return Made(dtype, (code, False, True), (3, "<", None, None, None, -1, -1, 0))

    def array(shape, kind, content):
        return Made(reconstruct, (ndarray, (0,), b"b"), (1, shape, kind, False, content))

    names_ = ("left_child", "right_child", "feature", "threshold")
    fields = {name: (number("i8" if i < 3 else "f8"), 8 * i) for i, name in enumerate(names_)}
    record = Made(dtype, ("V32", False, True), (3, "|", None, names_, fields, 32, 1, 16))
    # Goes left at 10 and below in feature 1; its nodes are not in the order of the JSON.
    nodes = [(2, 1, 1, 10.0), (-1, -1, -2, -2.0), (-1, -1, -2, -2.0)]
    content = b"".join(struct.pack("<qqqd", *node) for node in nodes)
    tree = Made(
        classes["Tree"],
        (2, 1, 1),
        {
            "node_count": 3,
            "nodes": array((3,), record, content),
            "values": array((3, 1, 1), number("f8"), struct.pack("<3d", 0.5, 7.0, -3.0)),
        },
    )
    estimator = Made(classes["DecisionTreeRegressor"], (), {"tree_": tree})
    for kind, features in COUNTS.items():
        model = Made(
            classes["GradientBoostingRegressor"],
            (),
            {
                "loss": "squared_error",
                "learning_rate": 0.1,
                "n_features_in_": features,
                "init_": Made(classes["DummyRegressor"], (), {"constant_": array((1, 1), number("f8"), struct.pack("<d", 5.0))}),
                "estimators_": array((1, 1), number("O8"), [estimator]),
                "_sklearn_version": "1.7.2",
            },
        )
        with open(os.path.join(resnet, kind + SUFFIX + ".pkl"), "wb") as opened:
            pickle.dump(model, opened, 2)
print(json.dumps(predictions))
