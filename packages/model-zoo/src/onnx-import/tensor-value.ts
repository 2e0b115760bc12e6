import { elementCount, type Shape } from '../shapes.js'

/** What is known of a tensor before anything runs. */
export interface TensorValue {
  readonly shape: Shape
  /** Code of `TensorProto.DataType`. */
  readonly elementType: number
  /** Whether it depends on what the network is given; else a runtime computes it once, when it loads the model. */
  readonly dynamic: boolean
  /** Its elements, row by row, where these are few and known: shapes are computed from them. */
  readonly values: readonly number[] | null
}

/** Lists longer than this are weights and tables, not shapes. */
export const LONGEST_LIST = 4096

export function elementsOf({ shape }: TensorValue): number {
  return elementCount(shape)
}

/** Where each element of a shape lies in a smaller one that is broadcast to it. */
export function broadcastIndices(from: Shape, to: Shape): number[] {
  const strides: number[] = new Array(to.length).fill(0)
  let stride = 1
  for (let axis = from.length - 1; axis >= 0; axis--) {
    if (from[axis] !== 1) strides[axis + to.length - from.length] = stride
    stride *= from[axis]!
  }
  const count = elementCount(to)
  return Array.from({ length: count }, (_, flat) => {
    let rest = flat
    let index = 0
    for (let axis = to.length - 1; axis >= 0; axis--) {
      index += (rest % to[axis]!) * strides[axis]!
      rest = Math.floor(rest / to[axis]!)
    }
    return index
  })
}

/** Shapes matched from the last axis; null where they do not broadcast. */
export function broadcastShapes(shapes: readonly Shape[]): number[] | null {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length))
  const out: number[] = new Array(rank).fill(1)
  for (const shape of shapes) {
    for (let i = 0; i < shape.length; i++) {
      const axis = i + rank - shape.length
      const size = shape[i]!
      if (size === out[axis] || size === 1) continue
      if (out[axis] !== 1) return null
      out[axis] = size
    }
  }
  return out
}
