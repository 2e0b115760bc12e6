import { message, type Payload } from './proto-message.js'

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

export function modelMessage(graph: Payload): Payload {
  const operators = message([1, ''], [2, OPSET_VERSION])
  return message([1, IR_VERSION], [2, '@pctodl/model-zoo'], [8, operators], [7, graph])
}

export function graphMessage(parts: {
  readonly name: string
  readonly nodes: readonly Payload[]
  readonly initializers: readonly Payload[]
  readonly input: Payload
  readonly output: Payload
}): Payload {
  const { name, nodes, initializers, input, output } = parts
  return message([1, nodes], [2, name], [5, initializers], [11, input], [12, output])
}

/** Message of an operator with one output; the node has the output's name. */
export function nodeMessage(
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes: OnnxAttributes,
): Payload {
  const encoded = Object.entries(attributes).map(([name, attribute]) => attributeMessage(name, attribute))
  return message([1, inputs], [2, output], [3, output], [4, operator], [5, encoded])
}

function attributeMessage(name: string, attribute: OnnxAttribute): Payload {
  if ('float' in attribute) return message([1, name], [2, attribute], [20, attributeTypes.float])
  if ('int' in attribute) return message([1, name], [3, attribute.int], [20, attributeTypes.int])
  if ('tensor' in attribute) return message([1, name], [5, attribute.tensor], [20, attributeTypes.tensor])
  return message([1, name], [8, attribute.ints], [20, attributeTypes.ints])
}

/** Message of a tensor of 32-bit floats. The values are in the message itself, or in a file beside the model. */
export function floatTensor(name: string, shape: readonly number[], values: Payload | ExternalLocation): Payload {
  const head = [[1, shape] as const, [2, FLOAT] as const, [8, name] as const]
  if ('writeTo' in values) return message(...head, [9, values])
  const { fileName, offset, byteLength } = values
  const entries = { location: fileName, offset: String(offset), length: String(byteLength) }
  const location = Object.entries(entries).map(([key, value]) => message([1, key], [2, value]))
  return message(...head, [13, location], [14, EXTERNAL])
}

export function int64Tensor(name: string, shape: readonly number[], values: Payload): Payload {
  return message([1, shape], [2, INT64], [8, name], [9, values])
}

/** Message of an input or output of the graph: a tensor of 32-bit floats. */
export function valueInfo(name: string, axes: readonly Axis[]): Payload {
  const dimensions = axes.map((axis) => message([typeof axis === 'number' ? 1 : 2, axis]))
  const tensorType = message([1, FLOAT], [2, message([1, dimensions])])
  return message([1, name], [2, message([1, tensorType])])
}
