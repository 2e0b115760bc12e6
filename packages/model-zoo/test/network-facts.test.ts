import { networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { buildNetwork, inferShapes, operatorWork } from '../src/index.js'
import { elementCount } from '../src/shapes.js'
import { networkFacts } from './facts.js'

describe('peak activations, half precision', () => {
  it('vgg19: input and output of its second convolution', () => {
    expect(networkFacts('vgg19').peakActivationBytes).toBe(2 * (2 * 64 * 224 * 224))
  })

  it('resnet50: trunk, input and output of the norm on the first shortcut', () => {
    expect(networkFacts('resnet50').peakActivationBytes).toBe(2 * (3 * 256 * 56 * 56))
  })

  it('mobilenet_v2: input and output of the norm behind the second expansion', () => {
    expect(networkFacts('mobilenet_v2').peakActivationBytes).toBe(2 * (2 * 96 * 112 * 112))
  })

  it.each(networkNames)(
    '%s: at least the largest operator, less than half of everything that is ever written',
    (name) => {
      const graph = buildNetwork(name)
      const shapes = inferShapes(graph, { batch: 1, height: 224, width: 224 })
      const inPlace = new Set(
        graph.nodes.filter((node) => 'inPlace' in node.attributes && node.attributes.inPlace).map((n) => n.id),
      )
      let largest = 0
      let written = 0
      for (const node of graph.nodes) {
        const output =
          inPlace.has(node.id) || node.kind === 'flatten' || node.kind === 'splitHeads'
            ? 0
            : elementCount(shapes.get(node.id)!)
        written += output
        const inputs = [...new Set(node.inputs)].reduce((sum, id) => sum + elementCount(shapes.get(id)!), 0)
        largest = Math.max(largest, inputs + output)
      }
      const { peakActivationBytes } = networkFacts(name)
      expect(peakActivationBytes).toBeGreaterThanOrEqual(2 * largest)
      expect(peakActivationBytes).toBeLessThan(2 * (written / 2))
    },
  )
})

describe.each(networkNames)('%s', (name) => {
  it('has facts that follow from its graph', () => {
    const facts = networkFacts(name)
    const graph = buildNetwork(name)
    const buffers = graph.nodes.flatMap((node) => node.buffers).reduce((sum, tensor) => sum + tensor.elements, 0)
    expect(facts.weightBytes).toBe(2 * (facts.parameters + buffers))
    expect(facts.gflops).toBeCloseTo(operatorWork(graph).reduce((sum, operator) => sum + operator.flops, 0) / 1e9, 9)
  })

  it('needs more memory and work for larger images', () => {
    const inputSize = 448
    const [small, large] = [networkFacts(name), networkFacts(name, { inputSize })]
    expect(large.peakActivationBytes).toBeGreaterThan(3 * small.peakActivationBytes)
    expect(large.gflops).toBeGreaterThan(3 * small.gflops)
    expect(large.weightBytes).toBe(small.weightBytes)
  })
})
