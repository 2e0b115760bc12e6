import { createHash } from 'node:crypto'
import { type NetworkName, networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { buildNetwork, inferShapes } from '../src/index.js'
import type { GraphNode } from '../src/network-graph.js'
import { networkFacts } from './facts.js'
import golden from './golden/torchvision.json' with { type: 'json' }

// The golden digests come from torchvision itself (scripts/torchvision-golden.py, which also says what a line is).

const digest = (lines: readonly string[]) =>
  createHash('sha256')
    .update([...lines].sort().join('\n'))
    .digest('hex')
const sizes = (values: readonly number[]) => values.join('x')

function describeLayer(node: GraphNode): string | undefined {
  switch (node.kind) {
    case 'conv2d': {
      const { kernel, stride, padding, groups, bias } = node.attributes
      return `conv2d ${sizes(kernel)} ${sizes(stride)} ${sizes(padding)} ${groups} ${bias ? 1 : 0}`
    }
    case 'batchNorm':
    case 'layerNorm':
      return `${node.kind} ${Math.round(1 / node.attributes.epsilon)}`
    case 'linear':
      return `linear ${node.attributes.bias ? 1 : 0}`
    case 'maxPool':
    case 'avgPool': {
      const { kernel, stride, padding } = node.attributes
      return `${node.kind} ${sizes(kernel)} ${sizes(stride)} ${sizes(padding)}`
    }
    default:
      return undefined
  }
}

describe.each(networkNames)('%s as torchvision has it', (name: NetworkName) => {
  const graph = buildNetwork(name)
  const expected = golden.networks[name]

  it('has the same state dictionary: names and shapes of all tensors', () => {
    const tensors = graph.nodes.flatMap((node) => [...node.weights, ...node.buffers])
    expect(tensors).toHaveLength(expected.storedTensors)
    expect(digest(tensors.map((tensor) => `${tensor.name} ${sizes(tensor.shape)}`))).toBe(expected.stateDictionary)
    expect(networkFacts(name).parameters).toBe(expected.parameters)
  })

  it('has the same layers: attributes, and output shapes at each recorded input size', () => {
    const inferred = expected.inputSizes.map(([batch = 0, , height = 0, width = 0]) =>
      inferShapes(graph, { batch, height, width }),
    )
    const lines = graph.nodes.flatMap((node) => {
      const layer = describeLayer(node)
      if (layer === undefined) return []
      return [`${node.id} ${layer} ${inferred.map((shapes) => sizes(shapes.get(node.id) ?? [])).join(' ')}`]
    })
    expect(lines).toHaveLength(expected.layerCount)
    expect(digest(lines)).toBe(expected.layers)
  })
})
