import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { type Activation, GraphBuilder } from '../src/graph-builder.js'
import { exportOnnx, inferShapes } from '../src/index.js'
import { decodeModel, openSession, type Result, run } from './onnx-model.js'

// Operators that ONNX has not, or defines with attributes of its own, against loops that say what they mean. Whole networks
// are compared with torchvision by scripts/torchvision-parity.py.

const BATCH = 2
const random = new SeededRandom(1)

interface Case {
  readonly x: Result
  readonly y: Result
  /** A stored tensor by name. */
  readonly weight: (name: string) => Float32Array
}

/** Builds a graph on images of `size` pixels with `channels` channels, and runs it on random values. */
async function runGraph(
  size: number,
  channels: number,
  body: (graph: GraphBuilder, x: Activation) => void,
): Promise<Case> {
  const builder = new GraphBuilder()
  body(builder, builder.input(channels))
  const graph = builder.build('resnet50', { minimum: 1, multipleOf: 1 })
  const { model } = exportOnnx(graph, { inputSize: size })
  const dims = [BATCH, channels, size, size]
  const values = Float32Array.from({ length: BATCH * channels * size * size }, () => random.normal())
  const { logits: y } = await run(await openSession(model), values, dims)
  expect(y!.dims).toEqual(inferShapes(graph, { batch: BATCH, height: size, width: size }).get(graph.nodes.at(-1)!.id))
  const tensors = decodeModel(model).graph?.initializer ?? []
  const weight = (name: string) => {
    const bytes = tensors.find((tensor) => tensor.name === name)!.rawData!
    return new Float32Array(Uint8Array.from(bytes).buffer)
  }
  return { x: { dims, values }, y: y!, weight }
}

/** Row-major. */
const at = ({ dims, values }: Result, ...index: number[]) =>
  values[index.reduce((offset, i, axis) => offset * dims[axis]! + i, 0)]!

/** Every index of a shape, outermost axis first. */
function* indices(shape: readonly number[]): Generator<number[]> {
  const [size, ...rest] = shape
  if (size === undefined) yield []
  else for (let i = 0; i < size; i++) for (const tail of indices(rest)) yield [i, ...tail]
}

function expectEach(y: Result, expected: (...index: number[]) => number): void {
  for (const index of indices(y.dims)) {
    expect(Math.abs(at(y, ...index) - expected(...index)), `at ${index}`).toBeLessThan(1e-5)
  }
}

describe('windows of 2 x 2 positions on a map of 6 x 6', () => {
  it('have neighbours in the window layout', async () => {
    const { x, y } = await runGraph(6, 3, (graph, map) => {
      graph.operator('partition', 'windowPartition', [map], 3, { size: 2, layout: 'window' })
    })
    expectEach(y, (b, window, position, c) => {
      const row = 2 * Math.floor(window / 3) + Math.floor(position / 2)
      return at(x, b, c, row, 2 * (window % 3) + (position % 2))
    })
  })

  it('have one position of each quadrant in the grid layout', async () => {
    const { x, y } = await runGraph(6, 3, (graph, map) => {
      graph.operator('partition', 'windowPartition', [map], 3, { size: 2, layout: 'grid' })
    })
    expectEach(y, (b, window, position, c) => {
      const row = 3 * Math.floor(position / 2) + Math.floor(window / 3)
      return at(x, b, c, row, 3 * (position % 2) + (window % 3))
    })
  })

  it.each(['window', 'grid'] as const)('are put together again from the %s layout', async (layout) => {
    const { x, y } = await runGraph(6, 3, (graph, map) => {
      const windows = graph.operator('partition', 'windowPartition', [map], 3, { size: 2, layout })
      graph.operator('merge', 'windowMerge', [windows], 3, { size: 2, layout, restores: map.id })
    })
    expectEach(y, (...index) => at(x, ...index))
  })
})

describe('attention', () => {
  // 12 features of each position are 3 parts of 2 heads of 2 features.
  const windows = (graph: GraphBuilder, map: Activation) =>
    graph.operator('partition', 'windowPartition', [map], 12, { size: 2, layout: 'window' })

  it('takes its part of the features, heads outermost, and lays heads side by side again', async () => {
    const { x, y } = await runGraph(2, 12, (graph, map) => {
      const head = graph.operator('key', 'splitHeads', [windows(graph, map)], 2, { part: 1, parts: 3, heads: 2 })
      graph.operator('merge', 'mergeHeads', [graph.operator('copy', 'contiguous', [head], 2, {})], 4, { heads: 2 })
    })
    expectEach(y, (b, _window, position, f) => at(x, b, 4 + f, Math.floor(position / 2), position % 2))
  })

  it('scores positions by scaled products, head by head, and adds the bias of their distance', async () => {
    const factor = 0.25
    const { x, y, weight } = await runGraph(2, 12, (graph, map) => {
      const input = windows(graph, map)
      const part = (name: string, index: number) =>
        graph.operator(name, 'splitHeads', [input], 2, { part: index, parts: 3, heads: 2 })
      const key = graph.operator('scale', 'scale', [part('key', 1)], 2, { factor })
      const scores = graph.operator('scores', 'matmul', [part('query', 0), key], 4, { transposeB: true })
      const pairs = graph.relativePositionBias('bias', 2, 2)
      graph.add('sum', scores, graph.operator('heads', 'pairsToHeads', [pairs], 4, { size: 2, heads: 2 }))
    })
    const table = weight('bias_table')
    expect(table).toHaveLength(9 * 2)
    const place = (position: number) => [Math.floor(position / 2), position % 2] as const
    expectEach(y, (b = 0, _window = 0, head = 0, i = 0, j = 0) => {
      const [[iy, ix], [jy, jx]] = [place(i), place(j)]
      let sum = table[((iy - jy + 1) * 3 + (ix - jx + 1)) * 2 + head]!
      for (let f = 0; f < 2; f++) {
        sum += at(x, b, head * 2 + f, iy, ix) * factor * at(x, b, 4 + head * 2 + f, jy, jx)
      }
      return sum
    })
  })
})

describe('pools', () => {
  it('count the zeros of the padding in an average', async () => {
    const { x, y } = await runGraph(5, 2, (graph, map) => {
      graph.avgPool('pool', map, { kernel: 3, stride: 2, padding: 1 })
    })
    expectEach(y, (b = 0, c = 0, row = 0, column = 0) => {
      let sum = 0
      for (let i = 2 * row - 1; i <= 2 * row + 1; i++) {
        for (let j = 2 * column - 1; j <= 2 * column + 1; j++) {
          if (i >= 0 && i < 5 && j >= 0 && j < 5) sum += at(x, b, c, i, j)
        }
      }
      return sum / 9
    })
  })

  it.each([
    [8, 'overlapping regions'],
    [3, 'repeated pixels'],
    [7, 'nothing to do'],
    [14, 'equal regions'],
  ])('adapt %i pixels to 7: %s', async (size) => {
    const { x, y } = await runGraph(size, 2, (graph, map) => graph.adaptiveAvgPool('pool', map, 7))
    const region = (i: number) => [Math.floor((i * size) / 7), Math.ceil(((i + 1) * size) / 7)] as const
    expectEach(y, (b = 0, c = 0, row = 0, column = 0) => {
      const [[top, bottom], [left, right]] = [region(row), region(column)]
      let sum = 0
      for (let i = top; i < bottom; i++) for (let j = left; j < right; j++) sum += at(x, b, c, i, j)
      return sum / ((bottom - top) * (right - left))
    })
  })
})

describe('activations', () => {
  /** The normal distribution function, by Simpson's rule from 0. */
  const normalCdf = (x: number) => {
    const steps = 200
    const h = x / steps
    let sum = 0
    for (let i = 0; i <= steps; i++) sum += (i % steps === 0 ? 1 : i % 2 === 1 ? 4 : 2) * Math.exp(-((i * h) ** 2) / 2)
    return 0.5 + (sum * h) / 3 / Math.sqrt(2 * Math.PI)
  }
  const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

  it.each([
    ['relu', (x: number) => Math.max(x, 0)],
    ['relu6', (x: number) => Math.min(Math.max(x, 0), 6)],
    ['silu', (x: number) => x * sigmoid(x)],
    ['gelu', (x: number) => x * normalCdf(x)],
    ['sigmoid', sigmoid],
    ['tanh', Math.tanh],
  ] as const)('%s', async (kind, f) => {
    const { x, y } = await runGraph(16, 2, (graph, map) => {
      // Nine times the random values, so that some are beyond 6.
      graph.activation('activation', kind, graph.operator('scale', 'scale', [map], 2, { factor: 9 }))
    })
    expect(Math.max(...x.values) * 9).toBeGreaterThan(6)
    expectEach(y, (...index) => f(9 * at(x, ...index)))
  })
})

describe('linear layers', () => {
  it.each([true, false])('on positions and on images alike, bias %s', async (bias) => {
    const onImages = await runGraph(1, 4, (graph, map) => graph.linear('fc', graph.flatten('flatten', map), 3, bias))
    const onPositions = await runGraph(2, 4, (graph, map) => {
      const x = graph.operator('partition', 'windowPartition', [map], 4, { size: 2, layout: 'window' })
      graph.linear('fc', x, 3, bias)
    })
    const reference = ({ x, weight }: Case, b: number, row: number, column: number, out: number) => {
      let sum = bias ? weight('fc.bias')[out]! : 0
      for (let f = 0; f < 4; f++) sum += weight('fc.weight')[out * 4 + f]! * at(x, b, f, row, column)
      return sum
    }
    expectEach(onImages.y, (b = 0, out = 0) => reference(onImages, b, 0, 0, out))
    expectEach(onPositions.y, (b = 0, _window = 0, position = 0, out = 0) =>
      reference(onPositions, b, Math.floor(position / 2), position % 2, out),
    )
  })
})
