import { readFileSync } from 'node:fs'
import { InvalidInputError, networkNames, UnknownNameError } from '@pctodl/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { GraphBuilder } from '../src/graph-builder.js'
import { buildNetwork, exportOnnx } from '../src/index.js'
import { elementCount } from '../src/shapes.js'
import { networkFacts } from './facts.js'
import { axesOf, decodeModel, integer, type Model } from './onnx-model.js'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** Not the largest, half a gigabyte to write and to read. */
const usually = ['resnet50', 'densenet201', 'mnasnet1_0', 'mobilenet_v2', 'maxvit_t'] as const

describe.each(someOf(networkNames, ...usually))('the ONNX model of %s', (name) => {
  const graph = buildNetwork(name)
  let byteLength: number
  let model: Model
  beforeAll(() => {
    const bytes = exportOnnx(name).model
    byteLength = bytes.byteLength
    model = decodeModel(bytes)
  })
  // Hundreds of megabytes, which the next network may need.
  afterAll(() => {
    model = undefined as unknown as Model
  })

  it('is opset 17 with one open axis', () => {
    expect(integer(model.irVersion)).toBe(8)
    expect(model.opsetImport.map(({ domain, version }) => [domain, integer(version)])).toEqual([['', 17]])
    expect(model.graph?.input?.map((input) => [input.name, axesOf(input)])).toEqual([['input', ['N', 3, 224, 224]]])
    expect(model.graph?.output?.map((output) => [output.name, axesOf(output)])).toEqual([['logits', ['N', 1000]]])
  })

  it('has the tensors of the state dictionary as initializers, and no others', () => {
    const stored = graph.nodes.flatMap((node) => [...node.weights, ...node.buffers])
    const initializers = model.graph?.initializer ?? []
    expect(initializers.map((tensor) => [tensor.name, tensor.dims?.map(integer)])).toEqual(
      stored.map((tensor) => [tensor.name, tensor.shape]),
    )
    const elements = initializers.reduce((sum, tensor) => sum + (tensor.rawData?.byteLength ?? 0) / 4, 0)
    const buffers = graph.nodes.flatMap((node) => node.buffers)
    expect(elements).toBe(
      networkFacts(graph.name).parameters + buffers.reduce((sum, buffer) => sum + buffer.elements, 0),
    )
  })

  it('computes every tensor once, before it is read, under the id of its node', () => {
    const known = new Set(['input', ...(model.graph?.initializer ?? []).map((tensor) => tensor.name)])
    for (const node of model.graph?.node ?? []) {
      for (const input of node.input ?? []) expect(known.has(input), `${node.name} reads ${input}`).toBe(true)
      for (const output of node.output ?? []) {
        expect(known.has(output), `${output} is computed twice`).toBe(false)
        known.add(output)
      }
    }
    for (const { id } of graph.nodes.slice(1, -1)) expect(known.has(id), id).toBe(true)
    expect(known.has('logits')).toBe(true)
  })

  it('has the size and the number of operators that the README says', () => {
    const operators = model.graph?.node?.filter((node) => node.opType !== 'Constant').length
    const row = new RegExp(`\\| \`${name}\` +\\| +${(byteLength / 1e6).toFixed(1)} \\| +${operators} \\| +17 \\|`)
    expect(readme).toMatch(row)
  })
})

describe('weights', () => {
  const embedded = exportOnnx('mobilenet_v2', { seed: 5 })

  it('are the same for the same seed, and all others for another', () => {
    expect(Buffer.compare(exportOnnx('mobilenet_v2', { seed: 5 }).model, embedded.model)).toBe(0)
    const tensorsOf = (bytes: Uint8Array) => decodeModel(bytes).graph?.initializer ?? []
    const others = tensorsOf(exportOnnx('mobilenet_v2', { seed: 6 }).model)
    tensorsOf(embedded.model).forEach((tensor, i) => {
      expect(Buffer.compare(tensor.rawData!, others[i]!.rawData!), tensor.name!).not.toBe(0)
    })
  })

  it('do not depend on the input size where the tensors do not, and on the network they do', () => {
    const values = (name: string, inputSize: number) =>
      decodeModel(exportOnnx(name, { inputSize }).model).graph?.initializer?.[0]?.rawData
    expect(values('mobilenet_v2', 96)).toEqual(values('mobilenet_v2', 224))
    expect(values('mnasnet1_0', 224)).not.toEqual(values('mobilenet_v2', 224))
  })

  it('can lie in a file beside the model, at the places that the model says', () => {
    const { model, externalData } = exportOnnx('mobilenet_v2', { seed: 5, weights: 'external' })
    expect(embedded.externalData).toBeUndefined()
    expect(externalData?.fileName).toBe('mobilenet_v2.onnx.data')
    expect(model.byteLength).toBeLessThan(100_000)
    const inside = decodeModel(embedded.model).graph?.initializer ?? []
    let end = 0
    decodeModel(model).graph?.initializer?.forEach((tensor, i) => {
      const entries = Object.fromEntries(tensor.externalData?.map(({ key, value }) => [key, value]) ?? [])
      expect(entries['location']).toBe(externalData?.fileName)
      const [offset, length] = [Number(entries['offset']), Number(entries['length'])]
      expect(offset).toBe(end)
      end = offset + length
      expect(Buffer.compare(externalData!.bytes.subarray(offset, end), inside[i]!.rawData!)).toBe(0)
    })
    expect(externalData?.bytes.byteLength).toBe(end)
  })
})

describe('options', () => {
  it('fix the batch and the size of the images', () => {
    const { graph } = decodeModel(exportOnnx('mobilenet_v2', { batch: 8, inputSize: 96 }).model)
    expect(axesOf(graph?.input?.[0])).toEqual([8, 3, 96, 96])
    expect(axesOf(graph?.output?.[0])).toEqual([8, 1000])
  })

  it.each([
    [{ seed: -1 }, 'seed: got -1, expected a non-negative integer'],
    [{ seed: 0.5 }, 'seed: got 0.5'],
    [{ batch: 0 }, 'batch: got 0, expected a positive integer'],
    [{ inputSize: 225 }, 'height: got 225, expected a multiple of 224 pixels'],
  ])('%o are refused', (options, message) => {
    const attempt = () => exportOnnx('maxvit_t', options)
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(message)
  })

  it('name the networks that exist', () => {
    expect(() => exportOnnx('alexnet')).toThrow(UnknownNameError)
  })

  it('refuse to embed what no protobuf message can hold, before drawing it', () => {
    const builder = new GraphBuilder()
    builder.linear('huge', builder.spatialMean('mean', builder.input()), 2 ** 28)
    const graph = builder.build('resnet50', { minimum: 1, multipleOf: 1 })
    expect(elementCount(graph.nodes.at(-1)!.weights[0]!.shape) * 4).toBeGreaterThan(2 ** 31)
    expect(() => exportOnnx(graph)).toThrow(
      /weights: got 'embedded', expected 'external': the model would have \d+ bytes/,
    )
  })
})
