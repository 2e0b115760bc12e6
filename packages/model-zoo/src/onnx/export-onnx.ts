import { InvalidInputError } from '@pctodl/platform'
import { buildNetwork } from '../build-network.js'
import type { NetworkGraph } from '../network-graph.js'
import { inferShapes, inputShapes, type Shape } from '../shapes.js'
import { addOperator } from './add-operator.js'
import { floatTensor, graphMessage, modelMessage, valueInfo } from './onnx-messages.js'
import { OnnxNodeList } from './onnx-node-list.js'
import { encode } from './proto-message.js'
import { type SeededTensor, seededWeights } from './seeded-weights.js'

export interface OnnxOptions {
  /** Seed of the weights, a non-negative integer. Default 1. */
  readonly seed?: number
  /** Size of the first axis: open under the name `N`, or fixed. Default `dynamic`. */
  readonly batch?: 'dynamic' | number
  /** Whether weights are in the model file, or in a second file beside it. Default `embedded`. */
  readonly weights?: 'embedded' | 'external'
  /** Height and width of the images, pixels. They are fixed in the exported model. Default 224. */
  readonly inputSize?: number
}

/** An ONNX file and, if weights are external, the weights file, which must be in the same folder. */
export interface OnnxExport {
  readonly model: Uint8Array
  readonly externalData?: {
    readonly fileName: string
    /** Created on access. */
    readonly bytes: Uint8Array
  }
}

const INPUT = 'input'
const OUTPUT = 'logits'
/** A protobuf message must be smaller than 2 GiB. */
const LARGEST_MESSAGE = 2 ** 31 - 1

/**
 * Exports the network as an ONNX model (opset 17, 32-bit floats) that maps `input` [N, 3, H, W] to `logits` [N, 1000].
 * Initializers have the names and shapes of torchvision's state dictionary, but random values. So times and shapes are
 * those of the trained network, and predictions are meaningless. The same options give the same bytes.
 *
 * @param network a graph, or the name of a network.
 * @throws UnknownNameError listing the networks that exist.
 * @throws InvalidInputError if an option is out of range, if the network cannot take images of that size, or if its
 *   weights are too large to be embedded.
 */
export function exportOnnx(network: NetworkGraph | string, options: OnnxOptions = {}): OnnxExport {
  const { seed = 1, batch = 'dynamic', weights = 'embedded', inputSize = 224 } = options
  if (!Number.isSafeInteger(seed) || seed < 0) throw new InvalidInputError('seed', seed, 'a non-negative integer')
  const graph = typeof network === 'string' ? buildNetwork(network) : network
  // Checks the image size and, if it is fixed, the batch. The exported reshapes work for any batch.
  inferShapes(graph, { batch: batch === 'dynamic' ? 1 : batch, height: inputSize, width: inputSize })
  const shapes = inferShapes(graph, { batch: 1, height: inputSize, width: inputSize })
  const tensors = seededWeights(graph, shapes, seed)
  const firstAxis = batch === 'dynamic' ? 'N' : batch
  if (weights === 'embedded') return { model: encodeModel(graph, shapes, firstAxis, tensors) }
  const fileName = `${graph.name}.onnx.data`
  let drawn: Uint8Array | undefined
  return {
    model: encodeModel(graph, shapes, firstAxis, tensors, fileName),
    externalData: {
      fileName,
      get bytes() {
        drawn ??= concatenateValues(tensors)
        return drawn
      },
    },
  }
}

function encodeModel(
  graph: NetworkGraph,
  shapes: ReadonlyMap<string, Shape>,
  firstAxis: number | string,
  tensors: readonly SeededTensor[],
  externalFile?: string,
): Uint8Array {
  const [first, last] = [graph.nodes[0], graph.nodes.at(-1)]
  const nameOf = (id: string) => (id === first?.id ? INPUT : id === last?.id ? OUTPUT : id)
  const shapeOf = (id = '') => shapes.get(id) ?? []
  const list = new OnnxNodeList()
  for (const node of graph.nodes) {
    addOperator(list, node, {
      inputs: node.inputs.map(nameOf),
      inputShapes: inputShapes(node, shapes),
      output: nameOf(node.id),
      outputShape: shapeOf(node.id),
    })
  }
  let offset = 0
  const initializers = tensors.map(({ tensor, values }) => {
    const { byteLength } = values
    if (externalFile === undefined) return floatTensor(tensor.name, tensor.shape, values)
    const location = { fileName: externalFile, offset, byteLength }
    offset += byteLength
    return floatTensor(tensor.name, tensor.shape, location)
  })
  const model = modelMessage(
    graphMessage({
      name: graph.name,
      nodes: list.nodes,
      initializers,
      input: valueInfo(INPUT, [firstAxis, ...shapeOf(first?.id).slice(1)]),
      output: valueInfo(OUTPUT, [firstAxis, ...shapeOf(last?.id).slice(1)]),
    }),
  )
  if (model.byteLength > LARGEST_MESSAGE) {
    throw new InvalidInputError('weights', 'embedded', `'external': the model would have ${model.byteLength} bytes`)
  }
  return encode(model)
}

/** Concatenates the values in order and without gaps, as the offsets in the model require. */
function concatenateValues(tensors: readonly SeededTensor[]): Uint8Array {
  const bytes = new Uint8Array(tensors.reduce((sum, { values }) => sum + values.byteLength, 0))
  let offset = 0
  for (const { values } of tensors) {
    values.writeTo(bytes.subarray(offset, offset + values.byteLength))
    offset += values.byteLength
  }
  return bytes
}
