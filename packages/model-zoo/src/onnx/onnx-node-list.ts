import { floatTensor, int64Tensor, nodeMessage, type OnnxAttributes } from './onnx-messages.js'
import type { Payload } from './proto-message.js'
import { floatValues, int64Values } from './tensor-values.js'

/** The operators of an ONNX graph in order of execution. Every method returns the name of the tensor that it adds. */
export class OnnxNodeList {
  readonly nodes: Payload[] = []
  readonly #constants = new Set<string>()

  add(operator: string, inputs: readonly string[], output: string, attributes: OnnxAttributes = {}): string {
    this.nodes.push(nodeMessage(operator, inputs, output, attributes))
    return output
  }

  /** Constants are nodes, not initializers, so that the initializers are exactly the network's stored tensors. */
  float(value: number): string {
    return this.#constant(`constant.${value}`, (name) =>
      floatTensor(
        name,
        [],
        floatValues(1, () => value),
      ),
    )
  }

  matrix(name: string, rows: number, columns: number, values: () => readonly number[]): string {
    return this.#constant(name, () => {
      const cells = values()
      return floatTensor(
        name,
        [rows, columns],
        floatValues(cells.length, (i) => cells[i] ?? 0),
      )
    })
  }

  integers(name: string, values: readonly number[]): string {
    return this.#constant(name, () => int64Tensor(name, [values.length], int64Values(values)))
  }

  /** Reshapes to `shape`; a 0 in it keeps the size of that axis. */
  reshape(input: string, shape: readonly number[], output: string): string {
    return this.add('Reshape', [input, this.integers(`shape.${shape.join('x')}`, shape)], output)
  }

  transpose(input: string, permutation: readonly number[], output: string): string {
    return this.add('Transpose', [input], output, { perm: { ints: permutation } })
  }

  /** Adds a constant unless it exists already. Its name identifies its value. */
  #constant(name: string, tensor: (name: string) => Payload): string {
    if (this.#constants.has(name)) return name
    this.#constants.add(name)
    return this.add('Constant', [], name, { value: { tensor: tensor(name) } })
  }
}
