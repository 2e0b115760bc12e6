import { loadPerfModel } from '@pctodl/perf-model'
import { loadPublishedParameters, PctoDLPredictor } from '@pctodl/published'
import { afterAll, describe, expect, it } from 'vitest'
import { writePublishedFolder } from './published-model.js'

const { folder, remove } = writePublishedFolder()
afterAll(remove)

describe('PctoDLPredictor', () => {
  const options = { platform: '3080ti', dataset: 'imagenet', memFreq: 9501 }

  it('gives what the model predicts in the shape of the Python code', () => {
    const predictor = new PctoDLPredictor('ResNet50', options)
    const tenants = [50, 25].map((mpsPercent) => ({ model: 'resnet50', mpsPercent, batchSize: 16 }))
    const model = loadPerfModel('3080Ti')
    const { smUtilPercent, memUtilPercent, throughput, powerW } = model.predict({
      tenants,
      smClockMhz: 1950,
      memClockMhz: 9501,
    })
    const expected = { smUtilPercent, memUtilPercent, throughput, powerW }
    expect(predictor.predictAll([50, 25], [16, 16], 1950)).toEqual(expected)
    expect(new PctoDLPredictor('resnet50', { perfModel: model }).predictAll([50, 25], [16, 16], 1950)).toEqual(expected)
    const slower = new PctoDLPredictor('resnet50', { ...options, memFreq: 5001 })
    expect(predictor.predictAll([50, 25], [16, 16], 1950, 5001)).toEqual(slower.predictAll([50, 25], [16, 16], 1950))
    expect(slower.predictAll([50, 25], [16, 16], 1950)).not.toEqual(expected)
  })

  it('gives what the Python code predicts when given its parameters', () => {
    const reference = loadPublishedParameters(folder)
    const predictor = new PctoDLPredictor('resnet50', { ...options, published: reference })
    const published = reference.predictor({ ...options, model: 'resnet50' })
    expect(predictor.predictAll([50, 25], [16, 16], 1500)).toEqual(published.predictAll([50, 25], [16, 16], 1500))
  })

  it('refuses options that nothing reads', () => {
    expect(() => new PctoDLPredictor('resnet50', { plattform: 'A100' } as object)).toThrowError('options.plattform')
    expect(() => new PctoDLPredictor('resnet50', null as never)).toThrowError('options')
  })

  it('says what it does not know', () => {
    expect(() => new PctoDLPredictor('alexnet', options)).toThrowError(/alexnet.*resnet50/)
    expect(() => new PctoDLPredictor('resnet50')).toThrowError(/platform: .*3080Ti, A100/)
    expect(() => new PctoDLPredictor('resnet50', { ...options, platform: 'V100' })).toThrowError(/V100/)
    expect(() => new PctoDLPredictor('resnet50', { ...options, dataset: 'mnist' })).toThrowError(/mnist.*imagenet/)
    expect(() => new PctoDLPredictor('resnet50', { ...options, memFreq: 810 })).toThrowError('memFreq: got 810')
    const predictor = new PctoDLPredictor('resnet50', options)
    expect(() => predictor.predictAll([50, 25], [16], 1500)).toThrowError('batches: got 1')
    expect(() => predictor.predictAll([], [], 1500)).toThrowError('tenants: got 0')
    expect(() => predictor.predictAll([80, 80], [8, 8], 1500)).toThrowError('sum of tenants[].mpsPercent')
  })
})
