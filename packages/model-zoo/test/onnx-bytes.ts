import {
  floatTensor,
  graphMessage,
  int64Tensor,
  modelMessage,
  nodeMessage,
  type OnnxAttributes,
  valueInfo,
} from '../src/onnx/onnx-messages.js'
import { encode } from '../src/onnx/proto-message.js'
import { floatValues, int64Values } from '../src/onnx/tensor-values.js'

type Written = readonly [
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes?: OnnxAttributes | undefined,
]

/** The bytes of a small ONNX model with one input and the last node's output. */
export function onnxBytes({
  input,
  nodes,
  floats = {},
  integers = {},
  name = 'small',
}: {
  readonly input: readonly (number | string)[]
  readonly nodes: readonly Written[]
  /** Shapes of stored tensors of ones. */
  readonly floats?: Readonly<Record<string, readonly number[]>>
  readonly integers?: Readonly<Record<string, readonly number[]>>
  readonly name?: string
}): Uint8Array {
  const count = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1)
  return encode(
    modelMessage(
      graphMessage({
        name,
        nodes: nodes.map(([operator, inputs, output, attributes = {}]) =>
          nodeMessage(operator, inputs, output, attributes),
        ),
        initializers: [
          ...Object.entries(floats).map(([each, shape]) => {
            return floatTensor(
              each,
              shape,
              floatValues(count(shape), () => 1),
            )
          }),
          ...Object.entries(integers).map(([each, values]) => int64Tensor(each, [values.length], int64Values(values))),
        ],
        input: valueInfo('x', input),
        output: valueInfo(nodes.at(-1)![2], []),
      }),
    ),
  )
}
