import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { graphFromOnnx, type Layer } from '../src/index.js'

const read = (name: string) =>
  graphFromOnnx(brotliDecompressSync(readFileSync(new URL(`exported/${name}.onnx.br`, import.meta.url))))

const count = (layers: readonly Layer[], operatorClass: string) =>
  layers.filter((layer) => layer.operatorClass === operatorClass).length

/**
 * Multiply-adds as torchvision's documentation and timm's tables of results state them, and parameters: the exporter folds batch norms
 * into convolutions and stores equal tensors once, so some are missing (7.3 of ResNeXt's 25.0 M, which begins with norms of zeros), and keeps
 * Swin's masks as stored tensors. timm counts the pools of EfficientNet, too.
 */
const published = [
  ['torchvision-mobilenet_v3_large', { gmacs: 0.217, millions: 5.48, depthwise: 15 }],
  ['torchvision-convnext_tiny', { gmacs: 4.456, millions: 28.59, depthwise: 18 }],
  ['torchvision-swin_t', { gmacs: 4.491, millions: 28.29, depthwise: 0 }],
  ['torchvision-shufflenet_v2_x1_0', { gmacs: 0.145, millions: 2.28, depthwise: 19 }],
  ['timm-efficientnet_b0', { gmacs: 0.39, millions: 5.29, depthwise: 16 }],
  ['timm-vit_tiny_patch16_224', { gmacs: 1.26, millions: 5.72, depthwise: 0 }],
  ['timm-mixer_b16_224', { gmacs: 12.62, millions: 59.88, depthwise: 0 }],
  ['timm-resnext50_32x4d', { gmacs: 4.26, millions: 17.7, depthwise: 7 }],
] as const

describe.each(published)('%s as PyTorch exports it', (name, { gmacs, millions, depthwise }) => {
  const graph = read(name)

  it('is known to the last operator', () => expect(graph.unknownOperators).toEqual([]))

  it('has the published multiply-adds and parameters', () => {
    const macs = graph.layers.reduce((sum, layer) => sum + layer.flops, 0) / 2e9
    expect(macs / gmacs).toBeGreaterThan(0.985)
    expect(macs / gmacs).toBeLessThan(1.015)
    expect(graph.parameters / 1e6 / millions).toBeGreaterThan(0.985)
    expect(graph.parameters / 1e6 / millions).toBeLessThan(1.01)
  })

  it('tells depthwise convolutions from dense ones', () => {
    expect(count(graph.layers, 'depthwise')).toBe(depthwise)
  })
})

it('the parts of attention are what they are', () => {
  const { layers } = read('timm-vit_tiny_patch16_224')
  // Twelve blocks of two products and a softmax; two norms each and one at the end; four linear layers each and one at the end.
  expect(count(layers, 'attention')).toBe(24)
  expect(count(layers, 'norm')).toBe(12 + 25)
  expect(count(layers, 'linear')).toBe(49)
})
