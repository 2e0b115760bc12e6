import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { SeededRandom } from '@pctodl/numerics'
import { ParameterFileError } from '@pctodl/perf-model/node'
import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { loadPublishedParameters } from '@pctodl/published'
import { afterAll, describe, expect, it } from 'vitest'
import { TreeEnsemble } from '../src/predictor/tree-ensemble.js'
import { randomTree, walk, writePublishedFolder } from './published-model.js'

const { folder, remove } = writePublishedFolder()
afterAll(remove)
const reference = loadPublishedParameters(folder)
const selection = { model: 'resnet50', dataset: 'imagenet', platform: '3080ti', memFreq: 9501 }

describe('TreeEnsemble', () => {
  it('equals the plain walk through every tree, to the last bit', () => {
    const random = new SeededRandom(11)
    for (let round = 0; round < 30; round++) {
      const features = 1 + random.integer(14)
      const trees = Array.from({ length: 1 + random.integer(40) }, () =>
        randomTree(random, features, random.integer(6)),
      )
      const description = { init: random.normal(), learning_rate: 0.1, n_features: features, trees }
      const ensemble = new TreeEnsemble(description, 'test')
      for (let i = 0; i < 60; i++) {
        // Half of the values lie exactly on thresholds; the next floats to either side are rounded onto them.
        const x = Float64Array.from(
          { length: features },
          () => random.integer(12) / 2 + [0, 0, 1e-9, -1e-9][random.integer(4)]!,
        )
        let sum = description.init
        for (const tree of trees) sum += 0.1 * walk(tree, x)
        expect(ensemble.predict(x)).toBe(sum)
      }
    }
  })

  it('refuses arrays that are no trees of at most 32 leaves', () => {
    const make = (tree: [number[], number[], number[]]) =>
      new TreeEnsemble({ init: 0, learning_rate: 0.1, n_features: 2, trees: [tree] }, 'sm')
    expect(() => make([[], [], []])).toThrowError('sm.trees[0]')
    // The right side begins where the left one does.
    expect(() =>
      make([
        [0, -1, -1],
        [1, 1, 1],
        [1, -1, -1],
      ]),
    ).toThrowError('a node from 2 to 2')
    expect(() =>
      make([
        [0, -1],
        [1, 1],
        [2, -1],
      ]),
    ).toThrowError(InvalidInputError)
    expect(() =>
      make([
        [2, -1, -1],
        [1, 1, 1],
        [2, -1, -1],
      ]),
    ).toThrowError('a feature below 2')
    expect(() =>
      make([
        [0, -1, -1],
        [1, 1, 1],
        [1, -1, -1],
      ]),
    ).toThrowError('sm.trees[0][2][0]')
    const chain = (leaves: number): [number[], number[], number[]] => [
      [...Array.from({ length: leaves - 1 }, () => [0, -1]).flat(), -1],
      Array.from({ length: 2 * leaves - 1 }, (_, i) => i),
      [...Array.from({ length: leaves - 1 }, (_, i) => [2 * i + 2, -1]).flat(), -1],
    ]
    expect(make(chain(32)).featureCount).toBe(2)
    expect(() => make(chain(33))).toThrowError('at most 32 leaves')
  })
})

describe('PublishedPredictor', () => {
  const predictor = reference.predictor(selection)

  it("falls back in the Python code's order, and finds a set by an alias of the platform's top memory clock", () => {
    expect(predictor.set).toEqual({ model: 'resnet50', dataset: 'imagenet', platform: null, memClockMhz: 9501 })
    expect(reference.predictor({ model: 'ResNet50', dataset: 'ImageNet', platform: '3080Ti' }).set).toEqual(
      predictor.set,
    )
  })

  it("refuses a missing set with a list of those there are, and takes the Python code's constants only when told to", () => {
    const missing = { model: 'resnet50', dataset: 'caltech256', platform: '3080ti' }
    expect(() => reference.predictor(missing)).toThrowError(UnknownNameError)
    expect(() => reference.predictor(missing)).toThrowError('resnet50_imagenet_mem9501')
    const constants = reference.predictor({ ...missing, whenMissing: 'reference-defaults' })
    // What the Python code's own quick start prints on a machine without its files.
    const { smUtilPercent, memUtilPercent, throughput, powerW } = constants.predictAll([50, 25], [16, 16], 1950)
    expect([smUtilPercent, memUtilPercent, throughput]).toEqual([60, 22.5, 1125])
    expect(powerW).toBeCloseTo(226.08, 2)
  })

  it('predicts many clocks as it predicts one', () => {
    const at = predictor.prepare([50, 25], [16, 8])
    for (const clock of [210, 900, 1950]) expect(at(clock)).toEqual(predictor.predictAll([50, 25], [16, 8], clock))
  })

  it.each<[string, number[], number[], number]>([
    ['shares', [], [], 1200],
    ['batches', [50, 25], [16], 1200],
    ['shares[1]', [50, 101], [16, 16], 1200],
    ['shares[0]', [Number.NaN], [16], 1200],
    ['batches[0]', [50], [0], 1200],
    ['batches[0]', [50], [1.5], 1200],
    ['sum of shares', [60, 60], [16, 16], 1200],
    ['smClockMhz', [50], [16], Number.NaN],
    ['smClockMhz', [50], [16], 0],
  ])('names %s where the Python code would compute on', (field, shares, batches, clock) => {
    expect(() => predictor.predictAll(shares, batches, clock)).toThrowError(InvalidInputError)
    expect(() => predictor.predictAll(shares, batches, clock)).toThrowError(`${field}: got`)
  })

  it.each([0.5, 1, 100])('takes a share of %d percent, however small', (share) => {
    expect(predictor.predictAll([share], [16], 1200).powerW).toBeGreaterThan(0)
  })

  it('takes shares above 100 together when asked', () => {
    const open = reference.predictor({ ...selection, oversubscribe: true })
    expect(open.predictAll([60, 60], [16, 16], 1200).powerW).toBeGreaterThan(0)
  })
})

describe('loadPublishedParameters', () => {
  it.each<[string, string, (text: string) => string | Buffer]>([
    ['index.json', 'cannot be read', () => '{'],
    ['index.json', '0.mem_freq_mhz', (text) => text.replace('9501', '"fast"')],
    ['p.json', 'throughput.gamma_t', (text) => text.replace('"gamma_t":0.7', '"gamma_t":-1')],
    ['g.json.gz', 'cannot be read', () => 'no gzip'],
    [
      'g.json.gz',
      'ensembles.sm.n_features: got 12, expected 13',
      (text) => gzipSync(text.replace('"n_features":13', '"n_features":12')),
    ],
    ['g.json.gz', 'ensembles.mem.init', (text) => gzipSync(text.replace('"init":50', '"init":null'))],
  ])('names %s and %s', (name, problem, spoil) => {
    const broken = writePublishedFolder()
    try {
      const file = path.join(broken.folder, name)
      const bytes = readFileSync(file)
      writeFileSync(file, spoil((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()))
      const load = () => loadPublishedParameters(broken.folder).predictor(selection)
      expect(load).toThrowError(ParameterFileError)
      expect(load).toThrowError(`${file}: `)
      expect(load).toThrowError(problem)
    } finally {
      broken.remove()
    }
  })

  it('names a folder that is not there', () => {
    expect(() => loadPublishedParameters(path.join(folder, 'nowhere'))).toThrowError('nowhere')
  })
})
