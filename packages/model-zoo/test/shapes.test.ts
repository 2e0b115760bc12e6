import { InvalidInputError, networkNames, UnknownNameError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildNetwork, inferShapes, type NetworkGraph } from '../src/index.js'
import { elementCount, type InputSize } from '../src/shapes.js'

const at224: InputSize = { batch: 1, height: 224, width: 224 }

function shapeAt(name: string, id: string, size: InputSize = at224) {
  return inferShapes(buildNetwork(name), size).get(id)
}

describe('shapes of intermediate points at 224 x 224', () => {
  it.each([
    ['resnet50', 'maxpool', [1, 64, 56, 56]],
    ['resnet50', 'layer3.0.conv1', [1, 256, 28, 28]],
    ['resnet50', 'layer3.0.conv2', [1, 256, 14, 14]],
    ['resnet50', 'layer4.2.relu3', [1, 2048, 7, 7]],
    ['vgg19', 'features.36', [1, 512, 7, 7]],
    ['vgg19', 'flatten', [1, 25088]],
    ['densenet201', 'features.denseblock1.concat', [1, 256, 56, 56]],
    ['densenet201', 'features.transition2.pool', [1, 256, 14, 14]],
    ['densenet201', 'features.denseblock3.denselayer48.concat', [1, 1760, 14, 14]],
    ['densenet201', 'features.norm5', [1, 1920, 7, 7]],
    ['mobilenet_v2', 'features.18.2', [1, 1280, 7, 7]],
    ['mnasnet1_0', 'layers.10.0.layers.3', [1, 240, 14, 14]],
    ['efficientnet_v2_m', 'features.4.0.block.2.avgpool', [1, 320, 1, 1]],
    ['efficientnet_v2_m', 'features.8.2', [1, 1280, 7, 7]],
    ['maxvit_t', 'stem.1.0', [1, 64, 112, 112]],
    ['maxvit_t', 'blocks.0.layers.0.layers.window_attention.partition', [1, 64, 49, 64]],
    ['maxvit_t', 'blocks.0.layers.0.layers.grid_attention.attn_layer.1.query', [1, 64, 2, 49, 32]],
    ['maxvit_t', 'blocks.2.layers.4.layers.grid_attention.attn_layer.1.scores', [1, 4, 8, 49, 49]],
    ['maxvit_t', 'blocks.2.layers.4.layers.grid_attention.attn_layer.1.bias_copy', [8, 49, 49]],
    ['maxvit_t', 'blocks.3.layers.1.layers.grid_attention.merge', [1, 512, 7, 7]],
  ])('%s %s', (name, id, shape) => {
    expect(shapeAt(name, id)).toEqual(shape)
  })
})

describe.each(networkNames)('%s', (name) => {
  const graph = buildNetwork(name)

  it('is a topologically ordered graph with one input and one output of 1000 scores', () => {
    const seen = new Set<string>()
    const read = new Set<string>()
    for (const node of graph.nodes) {
      for (const input of node.inputs) {
        expect(seen.has(input), `${node.id} reads ${input}`).toBe(true)
        read.add(input)
      }
      seen.add(node.id)
    }
    expect(seen.size).toBe(graph.nodes.length)
    expect(graph.nodes.filter((node) => node.kind === 'input')).toHaveLength(1)
    const unread = graph.nodes.filter((node) => !read.has(node.id))
    expect(unread.map((node) => node.id)).toEqual([graph.nodes.at(-1)?.id])
    expect(inferShapes(graph, { ...at224, batch: 3 }).get(unread[0]!.id)).toEqual([3, 1000])
  })

  it('grows linearly in the batch and keeps every other axis', () => {
    const single = inferShapes(graph, at224)
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 4096 }), (batch) => {
        // Only the position bias of attention and its copy are the same for every image; their first axis is not 1.
        const expected = [...single].map(([id, shape]) => [id, shape[0] === 1 ? [batch, ...shape.slice(1)] : shape])
        expect([...inferShapes(graph, { ...at224, batch })]).toEqual(expected)
      }),
      { numRuns: 20 },
    )
  })

  it('takes its smallest input and could take none smaller', () => {
    const { minimum, multipleOf } = graph.inputSize
    const smallest = inferShapes(graph, { batch: 1, height: minimum, width: minimum })
    for (const shape of smallest.values()) expect(Math.min(...shape)).toBeGreaterThanOrEqual(1)
    if (minimum === 1) return
    const unguarded: NetworkGraph = { ...graph, inputSize: { minimum: 1, multipleOf: 1 } }
    const tooSmall = minimum - (multipleOf === 1 ? 1 : 32)
    const shapes = [...inferShapes(unguarded, { batch: 1, height: tooSmall, width: tooSmall }).values()]
    expect(shapes.some((shape) => shape.some((size) => size < 1 || !Number.isInteger(size)))).toBe(true)
  })

  it('treats height and width alike', () => {
    const { multipleOf } = graph.inputSize
    const [short, long] = multipleOf === 1 ? [160, 352] : [multipleOf, 2 * multipleOf]
    const upright = inferShapes(graph, { batch: 1, height: long, width: short })
    const flat = inferShapes(graph, { batch: 1, height: short, width: long })
    for (const [id, shape] of upright) expect(elementCount(shape)).toBe(elementCount(flat.get(id)!))
  })
})

describe('inputs that cannot be taken', () => {
  it.each([
    ['resnet50', { ...at224, batch: 0 }, 'batch: got 0, expected a positive integer'],
    ['resnet50', { ...at224, batch: 1.5 }, 'batch: got 1.5'],
    ['resnet50', { ...at224, height: -224 }, 'height: got -224'],
    ['resnet50', { ...at224, width: Number.NaN }, 'width: got NaN'],
    ['vgg19', { ...at224, width: 31 }, 'width: got 31, expected at least 32 pixels, as required by vgg19'],
    ['densenet201', { ...at224, height: 28 }, 'height: got 28, expected at least 29 pixels'],
    ['maxvit_t', { ...at224, height: 256 }, 'height: got 256, expected a multiple of 224 pixels'],
  ])('%s %o', (name, size, message) => {
    const infer = () => inferShapes(buildNetwork(name), size)
    expect(infer).toThrow(InvalidInputError)
    expect(infer).toThrow(message)
  })

  it('knows networks by alias and names those it has', () => {
    expect(buildNetwork('MaxViT').name).toBe('maxvit_t')
    expect(() => buildNetwork('alexnet')).toThrow(UnknownNameError)
    expect(() => buildNetwork('alexnet')).toThrow(/known: mnasnet1_0, densenet201/)
  })
})
