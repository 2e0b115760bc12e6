import type { Payload } from './proto-message.js'

/** Bytes of 32-bit floats in ONNX's little-endian order, at any alignment. */
export function floatValues(count: number, valueAt: (index: number) => number): Payload {
  return {
    byteLength: 4 * count,
    writeTo: (target) => {
      const view = new DataView(target.buffer, target.byteOffset, target.byteLength)
      for (let i = 0; i < count; i++) view.setFloat32(4 * i, valueAt(i), true)
    },
  }
}

export function int64Values(values: readonly number[]): Payload {
  return {
    byteLength: 8 * values.length,
    writeTo: (target) => {
      const view = new DataView(target.buffer, target.byteOffset, target.byteLength)
      values.forEach((value, i) => {
        view.setBigInt64(8 * i, BigInt(value), true)
      })
    },
  }
}
