import { type Payload, ProtoMessage } from './proto-message.js'

// Field numbers and codes of onnx.proto (onnx.ai, "Open Neural Network Exchange Intermediate Representation").

/** The newest operator set that every recent runtime supports. It is the first with LayerNormalization. */
export const OPSET_VERSION = 17
/** The file format version released with this operator set. */
export const IR_VERSION = 8

const FLOAT = 1
const INT64 = 7
const attributeTypes = { float: 1, int: 2, tensor: 4, ints: 7 } as const
const EXTERNAL = 1

/** An attribute with its type, because JavaScript does not distinguish integers from floats. */
export type OnnxAttribute =
  | { readonly float: number }
  | { readonly int: number }
  | { readonly ints: readonly number[] }
  | { readonly tensor: Payload }

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>

/** One axis: a size, or the name of a size that is known only at run time. */
export type Axis = number | string

/** Where a tensor's values are in the file beside the model: offset and length, bytes. */
export interface ExternalLocation {
  readonly fileName: string
  readonly offset: number
  readonly byteLength: number
}

export function modelMessage(graph: Payload): ProtoMessage {
  return new ProtoMessage()
    .int(1, IR_VERSION)
    .string(2, '@pctodl/model-zoo')
    .payload(8, new ProtoMessage().string(1, '').int(2, OPSET_VERSION))
    .payload(7, graph)
}

export function graphMessage(parts: {
  readonly name: string
  readonly nodes: readonly Payload[]
  readonly initializers: readonly Payload[]
  readonly input: Payload
  readonly output: Payload
}): ProtoMessage {
  const graph = new ProtoMessage()
  for (const node of parts.nodes) graph.payload(1, node)
  graph.string(2, parts.name)
  for (const initializer of parts.initializers) graph.payload(5, initializer)
  return graph.payload(11, parts.input).payload(12, parts.output)
}

/** Message of an operator with one output; the node has the output's name. */
export function nodeMessage(
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes: OnnxAttributes,
): ProtoMessage {
  const node = new ProtoMessage()
  for (const input of inputs) node.string(1, input)
  node.string(2, output).string(3, output).string(4, operator)
  for (const [name, attribute] of Object.entries(attributes)) node.payload(5, attributeMessage(name, attribute))
  return node
}

function attributeMessage(name: string, attribute: OnnxAttribute): ProtoMessage {
  const message = new ProtoMessage().string(1, name)
  if ('float' in attribute) return message.float(2, attribute.float).int(20, attributeTypes.float)
  if ('int' in attribute) return message.int(3, attribute.int).int(20, attributeTypes.int)
  if ('tensor' in attribute) return message.payload(5, attribute.tensor).int(20, attributeTypes.tensor)
  for (const value of attribute.ints) message.int(8, value)
  return message.int(20, attributeTypes.ints)
}

/** Message of a tensor of 32-bit floats. The values are in the message itself, or in a file beside the model. */
export function floatTensor(name: string, shape: readonly number[], values: Payload | ExternalLocation): ProtoMessage {
  const tensor = tensorHeader(name, shape, FLOAT)
  if ('writeTo' in values) return tensor.payload(9, values)
  const { fileName, offset, byteLength } = values
  const entries = { location: fileName, offset: String(offset), length: String(byteLength) }
  for (const [key, value] of Object.entries(entries)) {
    tensor.payload(13, new ProtoMessage().string(1, key).string(2, value))
  }
  return tensor.int(14, EXTERNAL)
}

export function int64Tensor(name: string, shape: readonly number[], values: Payload): ProtoMessage {
  return tensorHeader(name, shape, INT64).payload(9, values)
}

function tensorHeader(name: string, shape: readonly number[], dataType: number): ProtoMessage {
  const tensor = new ProtoMessage()
  for (const size of shape) tensor.int(1, size)
  return tensor.int(2, dataType).string(8, name)
}

/** Message of an input or output of the graph: a tensor of 32-bit floats. */
export function valueInfo(name: string, axes: readonly Axis[]): ProtoMessage {
  const shape = new ProtoMessage()
  for (const axis of axes) {
    const dimension = new ProtoMessage()
    shape.payload(1, typeof axis === 'number' ? dimension.int(1, axis) : dimension.string(2, axis))
  }
  const tensorType = new ProtoMessage().int(1, FLOAT).payload(2, shape)
  return new ProtoMessage().string(1, name).payload(2, new ProtoMessage().payload(1, tensorType))
}
