import { InvalidInputError } from '@pctodl/platform'
import { PbfReader } from 'pbf'

// Field numbers of onnx.proto (onnx.ai, "Open Neural Network Exchange Intermediate Representation").

/** A stored tensor. Its values are decoded only when they are read, which never happens for weights. */
export interface OnnxTensor {
  readonly name: string
  readonly dims: readonly number[]
  /** Code of `TensorProto.DataType`. */
  readonly elementType: number
  /**
   * The tensor's values; null if they are in another file, or of a type that is not decoded because shapes never have
   * it.
   */
  values(): readonly number[] | null
}

export interface OnnxAttribute {
  readonly int?: number
  readonly float?: number
  readonly text?: string
  readonly tensor?: OnnxTensor
  readonly graph?: OnnxGraph
  readonly ints: readonly number[]
  readonly floats: readonly number[]
}

export interface OnnxNode {
  readonly name: string
  readonly operator: string
  /** Domain of the operator; empty for ONNX's own. */
  readonly domain: string
  /** Names of the input tensors; an empty name for an omitted optional input. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: ReadonlyMap<string, OnnxAttribute>
}

/**
 * Declared shape of a tensor. For each axis: its size, the name of its size, or null if it is open. Without a
 * declaration, `axes` is null.
 */
export interface OnnxValueInfo {
  readonly name: string
  readonly elementType: number
  readonly axes: readonly (number | string | null)[] | null
}

export interface OnnxGraph {
  readonly name: string
  readonly nodes: readonly OnnxNode[]
  readonly initializers: readonly OnnxTensor[]
  readonly inputs: readonly OnnxValueInfo[]
  readonly outputs: readonly OnnxValueInfo[]
  readonly valueInfo: readonly OnnxValueInfo[]
}

export interface OnnxModel {
  /** Version of ONNX's own operator set. */
  readonly opset: number
  readonly graph: OnnxGraph
}

export const elementTypes = {
  float: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  double: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
} as const

/** Whether a type is floating point. Weights and activations are; shapes and indices are not. */
export function isFloat(elementType: number): boolean {
  const { float, float16, double, bfloat16 } = elementTypes
  return ([float, float16, double, bfloat16] as number[]).includes(elementType)
}

/**
 * Reads an ONNX file.
 * @throws InvalidInputError for bytes that are not an ONNX model
 */
export function readOnnx(bytes: Uint8Array): OnnxModel {
  try {
    return readModel(bytes)
  } catch (cause) {
    if (cause instanceof InvalidInputError) throw cause
    throw notOnnx(bytes, cause)
  }
}

function notOnnx(bytes: Uint8Array, cause?: unknown): InvalidInputError {
  return new InvalidInputError('onnx', `${bytes.byteLength} bytes`, 'the bytes of a whole ONNX model', { cause })
}

type FieldReader = (reader: PbfReader) => void

/** Reads a text into a property. */
function text<Name extends string>(into: Partial<Record<Name, string>>, name: Name): FieldReader {
  return (reader) => {
    into[name] = reader.readString()
  }
}

/** Reads an integer into a property. */
function integer<Name extends string>(into: Partial<Record<Name, number>>, name: Name): FieldReader {
  return (reader) => {
    into[name] = reader.readVarint(true)
  }
}

/** Reads a list of integers, packed or not. */
const integers =
  (list: number[]): FieldReader =>
  (reader) =>
    reader.readPackedVarint(list, true)

type Fields = Readonly<Record<number, FieldReader>>

/** Reads the listed fields of a message that ends at position `end`, and skips all others. */
function readFields(reader: PbfReader, end: number, fields: Fields): void {
  if (end > reader.length) throw new RangeError('a message ends behind the end of the file')
  while (reader.pos < end) {
    const key = reader.readVarint()
    const field = fields[key >> 3]
    const type = key & 7
    if (type === 3 || type === 4 || type > 5) throw new RangeError(`wire type ${type}`)
    // Code that reads a field without pbf's `readFields` must set its type, because packed lists depend on it.
    reader.type = type
    if (type === 2) {
      const from = reader.pos
      const to = reader.readVarint() + reader.pos
      if (!(to <= end)) throw new RangeError('a field ends behind its message')
      if (field === undefined) reader.pos = to
      else {
        reader.pos = from
        field(reader)
        if (reader.pos !== to) throw new RangeError('a field has another length than it says')
      }
    } else if (field === undefined) reader.skip(key)
    else field(reader)
  }
  if (reader.pos !== end) throw new RangeError('a message has another length than it says')
}

function readMessage(reader: PbfReader, fields: Fields): void {
  const byteLength = reader.readVarint()
  readFields(reader, reader.pos + byteLength, fields)
}

function readModel(bytes: Uint8Array): OnnxModel {
  let opset = 0
  let graph: OnnxGraph | undefined
  const reader = new PbfReader(bytes)
  readFields(reader, bytes.byteLength, {
    7: (pbf) => {
      graph = readGraph(pbf)
    },
    8: (pbf) => {
      const set = { domain: '', version: 0 }
      readMessage(pbf, {
        1: text(set, 'domain'),
        2: integer(set, 'version'),
      })
      if (set.domain === '' || set.domain === 'ai.onnx') opset = set.version
    },
  })
  if (graph === undefined || graph.nodes.length === 0) throw notOnnx(bytes)
  return { opset, graph }
}

function readGraph(reader: PbfReader): OnnxGraph {
  const graph = { name: '' }
  const nodes: OnnxNode[] = []
  const initializers: OnnxTensor[] = []
  const inputs: OnnxValueInfo[] = []
  const outputs: OnnxValueInfo[] = []
  const valueInfo: OnnxValueInfo[] = []
  readMessage(reader, {
    1: (pbf) => nodes.push(readNode(pbf)),
    2: text(graph, 'name'),
    5: (pbf) => initializers.push(readTensor(pbf)),
    11: (pbf) => inputs.push(readValueInfo(pbf)),
    12: (pbf) => outputs.push(readValueInfo(pbf)),
    13: (pbf) => valueInfo.push(readValueInfo(pbf)),
    15: (pbf) => initializers.push(readSparseTensor(pbf)),
  })
  return { ...graph, nodes, initializers, inputs, outputs, valueInfo }
}

function readNode(reader: PbfReader): OnnxNode {
  const node = { name: '', operator: '', domain: '' }
  const inputs: string[] = []
  const outputs: string[] = []
  const attributes = new Map<string, OnnxAttribute>()
  readMessage(reader, {
    1: (pbf) => inputs.push(pbf.readString()),
    2: (pbf) => outputs.push(pbf.readString()),
    3: text(node, 'name'),
    4: text(node, 'operator'),
    5: (pbf) => {
      const [name, attribute] = readAttribute(pbf)
      attributes.set(name, attribute)
    },
    7: text(node, 'domain'),
  })
  return { ...node, domain: node.domain === 'ai.onnx' ? '' : node.domain, inputs, outputs, attributes }
}

function readAttribute(reader: PbfReader): [name: string, attribute: OnnxAttribute] {
  const named = { name: '' }
  const ints: number[] = []
  const floats: number[] = []
  const attribute: { -readonly [K in keyof OnnxAttribute]: OnnxAttribute[K] } = { ints, floats }
  readMessage(reader, {
    1: text(named, 'name'),
    2: (pbf) => {
      attribute.float = pbf.readFloat()
    },
    3: integer(attribute, 'int'),
    4: text(attribute, 'text'),
    5: (pbf) => {
      attribute.tensor = readTensor(pbf)
    },
    6: (pbf) => {
      attribute.graph = readGraph(pbf)
    },
    7: (pbf) => pbf.readPackedFloat(floats),
    8: integers(ints),
  })
  return [named.name, attribute]
}

function readValueInfo(reader: PbfReader): OnnxValueInfo {
  const info = { name: '', elementType: 0 }
  let axes: (number | string | null)[] | null = null
  const readAxis = (pbf: PbfReader) => {
    let axis: number | string | null = null
    readMessage(pbf, {
      1: (p) => {
        axis = p.readVarint(true)
      },
      2: (p) => {
        axis = p.readString() || null
      },
    })
    axes!.push(axis)
  }
  const readTensorType = (pbf: PbfReader) =>
    readMessage(pbf, {
      1: integer(info, 'elementType'),
      2: (p) => {
        axes = []
        readMessage(p, { 1: readAxis })
      },
    })
  readMessage(reader, {
    1: text(info, 'name'),
    2: (pbf) => readMessage(pbf, { 1: readTensorType }),
  })
  return { ...info, axes }
}

/** Reads the dense shape of a sparse tensor. Its values are not needed. */
function readSparseTensor(reader: PbfReader): OnnxTensor {
  let stored: OnnxTensor | undefined
  const dims: number[] = []
  readMessage(reader, {
    1: (pbf) => {
      stored = readTensor(pbf)
    },
    3: integers(dims),
  })
  return { name: stored?.name ?? '', dims, elementType: stored?.elementType ?? 0, values: () => null }
}

function readTensor(reader: PbfReader): OnnxTensor {
  const dims: number[] = []
  const listed: number[] = []
  const tensor = { name: '', elementType: 0 }
  let raw: Uint8Array | undefined
  let external = false
  readMessage(reader, {
    1: integers(dims),
    2: integer(tensor, 'elementType'),
    4: (pbf) => pbf.readPackedFloat(listed),
    5: integers(listed),
    7: integers(listed),
    8: text(tensor, 'name'),
    9: (pbf) => {
      raw = pbf.readBytes()
    },
    10: (pbf) => pbf.readPackedDouble(listed),
    11: (pbf) => pbf.readPackedVarint(listed),
    14: (pbf) => {
      external = pbf.readVarint() === 1
    },
  })
  const values = () => {
    if (external) return null
    return raw === undefined ? listed : rawValues(raw, tensor.elementType)
  }
  return { ...tensor, dims, values }
}

/** Decodes little-endian values of fixed width. */
function rawValues(raw: Uint8Array, elementType: number): readonly number[] | null {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength)
  const each = (width: number, read: (at: number) => number) =>
    Array.from({ length: Math.floor(raw.byteLength / width) }, (_, i) => read(i * width))
  switch (elementType) {
    case elementTypes.float:
      return each(4, (at) => view.getFloat32(at, true))
    case elementTypes.double:
      return each(8, (at) => view.getFloat64(at, true))
    case elementTypes.int64:
      return each(8, (at) => Number(view.getBigInt64(at, true)))
    case elementTypes.int32:
      return each(4, (at) => view.getInt32(at, true))
    case elementTypes.int8:
      return each(1, (at) => view.getInt8(at))
    case elementTypes.uint8:
    case elementTypes.bool:
      return each(1, (at) => view.getUint8(at))
    default:
      return null
  }
}
