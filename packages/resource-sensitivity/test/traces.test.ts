import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generateTrace, parseClusterFile, parseReplayCsv } from '../src/index.js'
import { exampleProfiles, InputFileError } from '../src/job-profile.js'
import { scenario } from './arbitrary-scenario.js'
import { published } from './published-files.js'

describe('replay traces', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(scenario, ({ jobs }) => {
        const lines = jobs.map(({ id, model, arrivalS, iterations, gpus }) =>
          [id, model, arrivalS, iterations, gpus].join(),
        )
        expect(parseReplayCsv(lines.join('\n'))).toEqual(jobs)
      }),
    )
  })

  it.each([
    ['0,a,1,2', /t\.csv, row 1: the row is '0,a,1,2', expected five cells/],
    ['0,a,1,2,1\n\n0,a,1,2,1', /row 3: id is '0', expected a unique ID \(row 1 has the same\)/],
    ['x,a,1,2,1', /row 1: id is 'x'/],
    ['0,,1,2,1', /row 1: model is ''/],
    ['0,a,-1,2,1', /row 1: arrival is '-1', expected a number of at least 0/],
    ['0,a,1,2.5,1', /row 1: iterations is '2\.5', expected an integer of at least 1/],
    ['0,a,1,2,0', /row 1: gpus is '0'/],
    ['0,a,Infinity,2,1', /arrival is 'Infinity'/],
    ['0,a,0x10,2,1', /arrival is '0x10'/],
    ['', /expected at least one job/],
  ])('refuse %j', (text, message) => {
    expect(() => parseReplayCsv(text, 't.csv')).toThrow(message)
    expect(() => parseReplayCsv(text, 't.csv')).toThrow(InputFileError)
  })

  it('read the published ones', () => {
    expect(parseReplayCsv(published('traces/static100.csv')).length).toBe(100)
    expect(parseReplayCsv(published('traces/dyn40multi.csv')).length).toBe(40)
  })
})

describe('the generator', () => {
  const options = { jobs: 4000, jobsPerHour: 6, profiles: exampleProfiles, seed: 3 }

  it('draws the same for the same seed, another for another', () => {
    expect(generateTrace(options)).toEqual(generateTrace(options))
    expect(generateTrace({ ...options, seed: 4 })).not.toEqual(generateTrace(options))
  })

  it('keeps to the load, the split, the GPU counts and the durations that it is given', () => {
    const trace = generateTrace(options)
    expect((trace.length / trace.at(-1)!.arrivalS) * 3600).toBeCloseTo(6, 0)
    const classOf = new Map(exampleProfiles.map(({ model, modelClass }) => [model, modelClass]))
    for (let n = 1; n <= trace.length; n += 97) {
      const images = trace.slice(0, n).filter(({ model }) => classOf.get(model) === 'image').length
      expect(Math.abs(images - 0.2 * n)).toBeLessThanOrEqual(1.5)
    }
    for (const [gpus, probability] of [
      [1, 0.7],
      [2, 0.1],
      [4, 0.15],
      [8, 0.05],
    ] as const) {
      expect(trace.filter((job) => job.gpus === gpus).length / trace.length).toBeCloseTo(probability, 1)
    }
    const minutes = trace.map(({ model, iterations }) => {
      return (iterations * exampleProfiles.find((profile) => profile.model === model)!.iterationS) / 60
    })
    expect(Math.min(...minutes)).toBeGreaterThan(30)
    expect(Math.max(...minutes)).toBeLessThan(10_000)
    expect(minutes.filter((length) => length > 1000).length / minutes.length).toBeCloseTo(0.2, 1)
  })

  it('lets all arrive at once', () => {
    expect(
      new Set(
        generateTrace({ ...options, jobs: 5, jobsPerHour: Number.POSITIVE_INFINITY }).map(({ arrivalS }) => arrivalS),
      ),
    ).toEqual(new Set([0]))
  })

  it('refuses what it could not draw', () => {
    expect(() => generateTrace({ ...options, jobs: 0 })).toThrow(/jobs: got 0/)
    expect(() => generateTrace({ ...options, jobsPerHour: 0 })).toThrow(/jobsPerHour/)
    expect(() => generateTrace({ ...options, profiles: [] })).toThrow(/no model of class image/)
    expect(() => generateTrace({ ...options, durations: 'long' as 'short' })).toThrow(/unknown durations 'long'/)
    expect(() => generateTrace({ ...options, split: { image: 0, language: 0, speech: 0 } })).toThrow(/split/)
  })
})

describe('clusters and tables from files', () => {
  it('reads JSON', () => {
    const server = { count: 8, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }
    const two = { servers: [server, { ...server, cpus: 96 }] }
    expect(parseClusterFile(JSON.stringify(two))).toEqual(two)
  })

  it('refuses what is missing, unknown or impossible', () => {
    expect(() => parseClusterFile('what', 'c.json')).toThrow(/c\.json: the file is 'what', expected JSON/)
    const none = JSON.stringify({ servers: [{ count: 1, gpus: 8, cpus: 0, memoryGb: 1, storageMBps: 1 }] })
    expect(() => parseClusterFile(none)).toThrow(/cluster\.servers\[0\]\.cpus is 0/)
    expect(() => parseClusterFile('{"servers": []}', 'c.json')).toThrow(/c\.json: cluster\.servers/)
    expect(() => parseClusterFile('{"servers": [{"count": 1}]}', 'c.json')).toThrow(
      'c.json: servers.0.gpus is undefined, expected number',
    )
    expect(() => parseClusterFile('{"servers": [], "racks": 2}', 'c.json')).toThrow(
      "c.json: a field of the file is 'racks', expected a known one",
    )
  })
})
