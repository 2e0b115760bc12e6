import { SeededRandom } from '@pctodl/numerics'
import type { NetworkName } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { buildNetwork, exportOnnx, inferShapes } from '../src/index.js'
import { openSession, type Result, run, withOutputs } from './onnx-model.js'

/** Images of mean 0 and variance 1. */
function image(size: number, seed: number): Float32Array {
  const random = new SeededRandom(seed)
  return Float32Array.from({ length: 3 * size * size }, () => random.normal())
}

function together(...images: readonly Float32Array[]): Float32Array {
  return Float32Array.from(images.flatMap((values) => [...values]))
}

const largestDifference = (a: Float32Array, b: Float32Array) =>
  a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i]!)), 0)

function standardDeviation({ values }: Result): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
}

describe.each(someOf<NetworkName>(['resnet50', 'mobilenet_v2', 'maxvit_t'], 'mobilenet_v2', 'maxvit_t'))(
  '%s in ONNX Runtime',
  (name) => {
    it('gives the same scores for the same image, alone, again and beside another', async () => {
      const session = await openSession(exportOnnx(name).model)
      const [first, second] = [image(224, 1), image(224, 2)]
      const { logits: single } = await run(session, first, [1, 3, 224, 224])
      expect(single!.dims).toEqual([1, 1000])
      expect(single!.values.every(Number.isFinite)).toBe(true)
      expect((await run(session, first, [1, 3, 224, 224]))['logits']!.values).toEqual(single!.values)

      const { logits: twice } = await run(session, together(first, first), [2, 3, 224, 224])
      expect(twice!.dims).toEqual([2, 1000])
      expect(largestDifference(twice!.values.subarray(0, 1000), twice!.values.subarray(1000))).toBeLessThan(1e-5)

      const { logits: pair } = await run(session, together(second, first), [2, 3, 224, 224])
      expect(largestDifference(pair!.values.subarray(1000), single!.values)).toBeLessThan(1e-4)
      // Another image gives other scores, by far more than rounding does.
      expect(largestDifference(pair!.values.subarray(0, 1000), single!.values)).toBeGreaterThan(1e-3)
    })
  },
)

/** VGG-19, which has no norms to go wrong, would need gigabytes here. */
const probed: readonly NetworkName[] = [
  'resnet50',
  'densenet201',
  'mnasnet1_0',
  'mobilenet_v2',
  'efficientnet_v2_m',
  'maxvit_t',
]

/** What attention needs: windows that fit. */
const sizeOf = (name: NetworkName) => (name === 'maxvit_t' ? 224 : 128)

describe.each(someOf(probed, 'densenet201', 'mnasnet1_0'))('inside %s', (name) => {
  const size = sizeOf(name)

  it('every tensor has the inferred shape and stays of order 1', async () => {
    const graph = buildNetwork(name)
    const inner = graph.nodes.slice(1, -1)
    const { model } = exportOnnx(graph, { inputSize: size })
    const session = await openSession(
      withOutputs(
        model,
        inner.map(({ id }) => id),
      ),
    )
    const { logits, ...tensors } = await run(session, image(size, 1), [1, 3, size, size])
    const shapes = inferShapes(graph, { batch: 1, height: size, width: size })
    for (const { id, kind } of inner) {
      const tensor = tensors[id]!
      expect(tensor.dims, id).toEqual(shapes.get(id))
      const deviation = standardDeviation(tensor)
      expect(deviation, id).toBeLessThan(10)
      if (kind === 'batchNorm' || kind === 'layerNorm') expect(deviation, id).toBeGreaterThan(0.3)
    }
    expect(standardDeviation(logits!)).toBeGreaterThan(0.3)
    expect(standardDeviation(logits!)).toBeLessThan(3)
  })
})
