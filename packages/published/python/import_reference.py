#!/usr/bin/env python3
"""Convert PctoDL's Python code's fitted parameters into the JSON that reference mode reads.

    python3 import_reference.py <fitting_results> <output folder>

Needs Python 3.8 or later and nothing else: neither torch nor scikit-learn nor joblib. A pickle is a program, so it is read by an
unpickler that runs none of it: it knows the few classes below, makes placeholders of them without importing any, and
refuses every other name before anything of it is called. Prints a JSON report; exit code 1 where no set could be converted.
"""

import collections
import gzip
import io
import json
import math
import os
import pickle
import re
import struct
import sys
import zipfile
import zlib

# The Python code's words for boards; the rest of a file's suffix is the dataset.
PLATFORMS = ("a100", "3080ti", "3090", "a10")
SCALARS = {
    "sm_base": ("raw_lambda_sm", "raw_gamma_sm", "raw_beta_sm"),
    "mem_base": ("raw_phi_mem", "raw_alpha_mem", "raw_lambda_mem", "raw_beta_mem"),
    "mem_system": ("raw_k1", "raw_k2", "raw_alpha", "raw_beta", "raw_mu", "raw_tau"),
}
ENSEMBLES = {
    "sm": "sm_gbr_model",
    "mem": "mem_gbr_model",
    "throughput": "throughput_gbr_model",
    "power": "power_dyn_anchor_gbr",
}
THROUGHPUT = ("kappa_a", "kappa_b", "gamma_t", "T_start", "f_ref", "f_min")
STATIC = ("delta_3", "delta_2", "delta_1", "delta_0")
DYNAMIC = ("gamma_p", "P_base", "f_ref", "f_min")
# The Python code's table of networks is in none of its releases; its predictor falls back on these.
WORKLOAD = {"gflops": 1000.0, "params_M": 25.0}
# Far above any the Python code file, and far below what a small compressed file could fill memory with.
MAX_BYTES = 1 << 28


class ImportFailure(Exception):
    """A file that cannot be converted, and why."""


class Placeholder:
    """Stands for an instance of a class that is not imported: keeps what it was made from."""

    def __new__(cls, *args, **_named):
        made = object.__new__(cls)
        made.args = args
        made.state = {}
        return made

    def __init__(self, *_args, **_named):
        pass

    def __setstate__(self, state):
        self.state = state

    def __setitem__(self, _key, _value):
        pass

    def append(self, _value):
        pass

    def extend(self, _values):
        pass


class Dtype(Placeholder):
    """A numpy.dtype: kind and size as in `f8`, or fields by name."""

    def __setstate__(self, state):
        self.order = state[1]
        self.names = state[3]
        self.fields = state[4]
        self.itemsize = state[5]

    @property
    def code(self):
        return self.args[0]


class Array(Placeholder):
    """A numpy.ndarray: the flat list of its numbers, objects, or records by name."""

    shape = ()
    items = ()

    def __setstate__(self, state):
        _version, shape, dtype, fortran, content = state
        self.fill(shape, dtype, fortran, content)

    def fill(self, shape, dtype, fortran, content):
        self.shape = tuple(shape)
        if isinstance(content, list):
            self.items = content
            return
        if fortran and sum(1 for size in self.shape if size > 1) > 1:
            raise ImportFailure("an array in Fortran's order, which no the Python code file holds")
        self.items = numbers_of(dtype, content, math.prod(self.shape))


class ArrayWrapper(Placeholder):
    """joblib's: the array's bytes follow in the file."""


class Storage:
    def __init__(self, letter, size):
        self.letter = letter
        self.size = size


def reconstruct_array(_kind, _shape, _code):
    return Array()


def array_from_buffer(content, dtype, shape, order):
    array = Array()
    array.fill(shape, dtype, order == "F", bytes(content))
    return array


def scalar(dtype, content):
    return numbers_of(dtype, content, 1)[0]


def tensor(storage, offset, size, stride, *_rest):
    if len(size) > 1:
        raise ImportFailure("a tensor of %d dimensions, where the Python code keeps single numbers" % len(size))
    if len(size) == 0:
        return storage[offset]
    return [storage[offset + i * stride[0]] for i in range(size[0])]


def parameter(data, *_rest):
    return data


def encode(text, encoding):
    if encoding != "latin1":
        raise ImportFailure("text in %s" % encoding)
    return text.encode("latin1")


LETTERS = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u8": "Q", "u4": "I", "u2": "H", "u1": "B", "b1": "?"}


def numbers_of(dtype, content, count):
    order = ">" if dtype.order == ">" else "<"
    if dtype.names is None:
        letter = LETTERS.get(dtype.code)
        if letter is None:
            raise ImportFailure("an array of %s" % dtype.code)
        return list(struct.unpack("%s%d%s" % (order, count, letter), content[: count * struct.calcsize("=" + letter)]))
    size = dtype.itemsize
    if size < 1 or count * size > len(content):
        raise ImportFailure("%d records of %d bytes in %d" % (count, size, len(content)))
    records = {}
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        letter = LETTERS.get(field.code)
        if letter is None:
            raise ImportFailure("a field of %s" % field.code)
        one = struct.Struct(order + letter)
        records[name] = [one.unpack_from(content, i * size + offset)[0] for i in range(count)]
    return records


KNOWN = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("_codecs", "encode"): encode,
    ("numpy", "dtype"): Dtype,
    ("numpy", "ndarray"): Array,
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): ArrayWrapper,
    ("torch._utils", "_rebuild_tensor_v2"): tensor,
    ("torch._utils", "_rebuild_parameter"): parameter,
    ("torch", "FloatStorage"): Storage("f", 4),
    ("torch", "DoubleStorage"): Storage("d", 8),
}
for core in ("numpy.core", "numpy._core"):
    KNOWN[(core + ".multiarray", "_reconstruct")] = reconstruct_array
    KNOWN[(core + ".multiarray", "scalar")] = scalar
    KNOWN[(core + ".numeric", "_frombuffer")] = array_from_buffer
# Parts of an ensemble that nothing is read from: their names differ from release to release, and stand for nothing here.
# Releases up to 1.7 call one of their own modules plainly `_loss`.
SILENT = re.compile(r"(_loss|sklearn(\.\w+)+|numpy\.random\.\w+)$")


class RestrictedUnpickler(pickle._Unpickler):
    """The unpickler written in Python, since joblib's arrays follow in the middle of the stream."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, file, storages=None):
        super().__init__(file)
        self.source = file
        self.storages = storages

    def find_class(self, module, name):
        known = KNOWN.get((module, name))
        if known is not None:
            return known
        if SILENT.match(module):
            return type(name, (Placeholder,), {"kind": module + "." + name})
        raise ImportFailure("it names %s.%s, which no the Python code file needs; nothing of it was run" % (module, name))

    def persistent_load(self, pid):
        if self.storages is None:
            raise ImportFailure("it refers to something outside of itself")
        return self.storages(pid)

    def load_build(self):
        pickle._Unpickler.load_build(self)
        if isinstance(self.stack[-1], ArrayWrapper):
            self.stack[-1] = self.read_array(self.stack[-1].state)

    dispatch[pickle.BUILD[0]] = load_build

    def read_array(self, wrapper):
        dtype = wrapper["dtype"]
        array = Array()
        if dtype.code[:1] == "O":
            return RestrictedUnpickler(self.source).load()
        if wrapper.get("numpy_array_alignment_bytes") is not None:
            self.source.read(self.source.read(1)[0])
        size = dtype.itemsize if dtype.names is not None else struct.calcsize("=" + LETTERS.get(dtype.code, "x"))
        count = math.prod(wrapper["shape"])
        array.fill(wrapper["shape"], dtype, wrapper.get("order") == "F", self.source.read(count * size))
        return array


def read_pickle(file):
    with open(file, "rb") as opened:
        content = opened.read()
    if content[:2] == b"\x1f\x8b" or content[:1] == b"\x78":
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        content = unpacker.decompress(content, MAX_BYTES)
        if not unpacker.eof:
            raise ImportFailure("it is cut, or unpacks to more than %d bytes" % MAX_BYTES)
    return RestrictedUnpickler(io.BytesIO(content)).load()


def read_tensors(file):
    """The numbers of a state dictionary that torch.save wrote, by name."""
    if not zipfile.is_zipfile(file):
        raise ImportFailure("not the archive that torch.save writes since 1.6; load it there and save it again")
    with zipfile.ZipFile(file) as archive:
        inside = [name for name in archive.namelist() if name.endswith("/data.pkl") or name == "data.pkl"]
        if len(inside) != 1:
            raise ImportFailure("no data.pkl in it")
        folder = inside[0][: -len("data.pkl")]

        def member(name):
            if archive.getinfo(name).file_size > MAX_BYTES:
                raise ImportFailure("%s in it unpacks to more than %d bytes" % (name, MAX_BYTES))
            return archive.read(name)

        def storage(pid):
            _word, kind, key, _device, count = pid
            content = member("%sdata/%s" % (folder, key))
            return struct.unpack("<%d%s" % (count, kind.letter), content[: count * kind.size])

        loaded = RestrictedUnpickler(io.BytesIO(member(inside[0])), storage).load()
    if not isinstance(loaded, dict):
        raise ImportFailure("no state dictionary")
    return {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in loaded.items()}


def scalars(stem, suffix, kind):
    file = find(stem, kind + "_model", suffix, ".pth")
    values = explained(file, read_tensors)
    for name in SCALARS[kind]:
        if not is_number(values.get(name)):
            raise ImportFailure("%s: %s: a number expected" % (file, name))
    return [values[name] for name in SCALARS[kind]]


def explained(file, read):
    try:
        return read(file)
    except ImportFailure as failure:
        raise ImportFailure("%s: %s" % (file, failure))
    except Exception as error:  # A file that is cut or is something else fails anywhere in the reader.
        raise ImportFailure("%s: cannot be read: %s: %s" % (file, type(error).__name__, error))


def find(folder, kind, suffix, ending):
    file = os.path.join(folder, kind + suffix + ending)
    if not os.path.isfile(file):
        raise ImportFailure("%s: is not there" % file)
    return file


def read_json(folder, kind, suffix):
    def read(file):
        with open(file, encoding="utf-8") as opened:
            return json.load(opened)

    file = find(folder, kind, suffix, ".json")
    return file, explained(file, read)


def is_number(value):
    """Whether it is a number that JSON can hold: neither NaN nor infinite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def numbers(file, values, names):
    for name in names:
        if not isinstance(values, dict) or not is_number(values.get(name)):
            raise ImportFailure("%s: %s: a number expected" % (file, name))
    return {name: values[name] for name in names}


def softplus(value):
    return value if value > 20 else math.log1p(math.exp(value))


def closed_forms(folder, suffix):
    lambda_sm, gamma_sm, beta_sm = scalars(folder, suffix, "sm_base")
    phi_mem, alpha_mem, lambda_mem, beta_mem = scalars(folder, suffix, "mem_base")
    system = [abs(value) for value in scalars(folder, suffix, "mem_system")]
    kappa_file, kappa = read_json(folder, "sm_kappa", suffix)
    kappa = numbers(kappa_file, kappa, ("L_alpha", "L_beta", "kappa"))
    throughput_file, throughput = read_json(folder, "throughput_params", suffix)
    power_file, power = read_json(folder, "power_params", suffix)
    if not isinstance(power, dict):
        raise ImportFailure("%s: an object expected" % power_file)
    return {
        "sm_base": {"lambda_sm": abs(lambda_sm), "gamma_sm": abs(gamma_sm), "beta_sm": beta_sm},
        "sm_system": {"alpha": kappa["L_alpha"], "beta": kappa["L_beta"], "kappa": kappa["kappa"]},
        "mem_base": {
            "phi_mem": softplus(phi_mem),
            "alpha_mem": abs(alpha_mem),
            "lambda_mem": abs(lambda_mem),
            "beta_mem": beta_mem,
        },
        "mem_system": dict(zip(("k1", "k2", "alpha", "beta", "mu", "tau"), system)),
        "throughput": dict(
            numbers(throughput_file, throughput, THROUGHPUT),
            batch_aware_kappa=bool(throughput.get("batch_aware_kappa", False)),
        ),
        "power": {
            "static": numbers(power_file, power.get("static"), STATIC),
            "dynamic": numbers(power_file, power.get("dynamic"), DYNAMIC),
        },
        "workload": WORKLOAD,
    }


def kind_of(value):
    return getattr(type(value), "kind", type(value).__name__)


def attribute(owner, name):
    if not isinstance(owner, Placeholder) or not isinstance(owner.state, dict) or name not in owner.state:
        raise ImportFailure("%s has no %s" % (kind_of(owner), name))
    return owner.state[name]


def ensemble(file):
    model = read_pickle(file)
    if kind_of(model) != "sklearn.ensemble._gb.GradientBoostingRegressor":
        raise ImportFailure("a %s, and no GradientBoostingRegressor" % kind_of(model))
    loss = attribute(model, "loss")
    if not isinstance(loss, str) or loss not in ("squared_error", "ls"):
        # A pickle can hold a list whose text would fill memory.
        raise ImportFailure("its loss is %s, the Python code's is squared_error" % (loss[:40] if isinstance(loss, str) else kind_of(loss)))
    estimators = attribute(model, "estimators_")
    version = model.state.get("_sklearn_version")
    return {
        "init": number("init", attribute(attribute(model, "init_"), "constant_").items[0]),
        "learning_rate": number("learning_rate", attribute(model, "learning_rate")),
        "n_features": number("n_features_in_", attribute(model, "n_features_in_")),
        "sklearn_version": version if isinstance(version, str) else None,
        "trees": [tree_of(attribute(estimator, "tree_")) for estimator in estimators.items],
    }


def number(name, value):
    if not is_number(value):
        raise ImportFailure("%s: a number expected" % name)
    return value


def tree_of(tree):
    nodes = attribute(tree, "nodes").items
    values = attribute(tree, "values").items
    features, numbers_, rights = [], [], []

    def visit(node):
        at = len(features)
        # Nodes that are reached twice could be reached forever.
        if at == len(values):
            raise ImportFailure("a tree whose branches meet again")
        left, right = nodes["left_child"][node], nodes["right_child"][node]
        leaf = left < 0
        features.append(-1 if leaf else number("feature", nodes["feature"][node]))
        numbers_.append(number("value", values[node]) if leaf else number("threshold", nodes["threshold"][node]))
        rights.append(-1)
        if not leaf:
            visit(left)
            rights[at] = len(features)
            visit(right)

    visit(0)
    return [features, numbers_, rights]


def parse_suffix(name):
    """Dataset, platform and memory clock of the suffix `[_<dataset>][_<platform>]_mem<MHz>`."""
    found = re.match(r"throughput_params((?:_(.+?))?_mem(\d+))\.json$", name)
    if found is None:
        return None
    words = (found.group(2) or "").split("_")
    platform = words.pop() if words[-1].lower() in PLATFORMS else None
    dataset = "_".join(words) or None
    return found.group(1), dataset, platform, int(found.group(3))


def write(file, content):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    # A new file that takes the place of what is there: whole or not at all, and through no link.
    unfinished = "%s.%d.unfinished" % (file, os.getpid())
    try:
        with open(unfinished, "xb") as opened:
            opened.write(content)
        os.replace(unfinished, file)
    except OSError:
        if os.path.lexists(unfinished):
            os.remove(unfinished)
        raise


def convert(source, output):
    index, skipped = [], []
    for model in sorted(os.listdir(source)):
        folder = os.path.join(source, model)
        if not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            parsed = parse_suffix(name)
            if parsed is None:
                continue
            suffix, dataset, platform, clock = parsed
            stem = "%s.%s" % (model, suffix[1:])
            entry = {"model": model, "dataset": dataset, "platform": platform, "mem_freq_mhz": clock}
            try:
                closed = closed_forms(folder, suffix)
                trees = {
                    kind: explained(find(folder, stem_, suffix, ".pkl"), ensemble) for kind, stem_ in ENSEMBLES.items()
                }
            except ImportFailure as failure:
                skipped.append({"set": stem, "reason": str(failure)})
                continue
            entry["params"] = "params/%s.json" % stem
            entry["gbr"] = "gbr/%s.json.gz" % stem
            write(os.path.join(output, entry["params"]), json.dumps(dict(entry, **closed), indent=1).encode())
            ensembles = json.dumps({"model": model, "file_suffix": suffix, "ensembles": trees}).encode()
            write(os.path.join(output, entry["gbr"]), gzip.compress(ensembles, mtime=0))
            index.append(entry)
    if index:
        write(os.path.join(output, "index.json"), json.dumps(index, indent=1).encode())
    return {"sets": ["%(params)s" % entry for entry in index], "skipped": skipped}


if __name__ == "__main__":
    report = convert(sys.argv[1], sys.argv[2])
    print(json.dumps(report))
    sys.exit(0 if report["sets"] else 1)
