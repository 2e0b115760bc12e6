import { elementCount, type Shape } from '../shapes.js'

/** What is known about a tensor before the model runs. */
export interface TensorValue {
  readonly shape: Shape
  /** Code of `TensorProto.DataType`. */
  readonly elementType: number
  /**
   * Whether the tensor depends on the network's inputs. If it does not, a runtime computes it once when it loads the
   * model.
   */
  readonly dynamic: boolean
  /**
   * The tensor's elements, row by row, or null. They are kept only if they are few and known, because shapes are
   * computed from such lists.
   */
  readonly values: readonly number[] | null
}

/** Maximum length of a list of values that is kept. Longer lists are weights and tables, not shapes. */
export const LONGEST_LIST = 4096

/** Returns for each element of a shape its index in a smaller tensor that is broadcast to this shape. */
export function broadcastIndices(from: Shape, to: Shape): number[] {
  const strides: number[] = new Array(to.length).fill(0)
  let stride = 1
  for (let axis = from.length - 1; axis >= 0; axis--) {
    if (from[axis] !== 1) strides[axis + to.length - from.length] = stride
    stride *= from[axis]!
  }
  return stridedIndices(to, strides)
}

/** For each element of a tensor of this shape, the sum of its positions times the strides of the axes. */
export function stridedIndices(to: Shape, strides: readonly number[]): number[] {
  return Array.from({ length: elementCount(to) }, (_, flat) => {
    let rest = flat
    let index = 0
    for (let axis = to.length - 1; axis >= 0; axis--) {
      index += (rest % to[axis]!) * strides[axis]!
      rest = Math.floor(rest / to[axis]!)
    }
    return index
  })
}
