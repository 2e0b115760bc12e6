import { describe, expect, it } from 'vitest'
import { formatProfileCsv, type ProfilePoint, parseProfileCsv, scenarioAt } from '../src/index.js'
import { lintProfile } from '../src/input/lint-profile.js'
import { parseObjectives } from '../src/input/parse-objectives.js'
import { SegmentFileError } from '../src/map/csv-rows.js'

const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency'
const profile = (...rows: string[]) => parseProfileCsv([header, ...rows].join('\n'), 'net', 'net.csv')

describe('profiles', () => {
  it('are read as published', () => {
    expect(profile('1,4,2,100.5,0.04', '7,8,1,0,0').points).toEqual([
      { sizeGpcs: 1, batchSize: 4, processes: 2, processThroughput: 100.5, latencyMs: 40 },
      { sizeGpcs: 7, batchSize: 8, processes: 1, processThroughput: 0, latencyMs: 0 },
    ])
  })

  it('leave out rows with more processes than asked for', () => {
    expect(profile('1,4,3,10,0.4', '1,4,4,10,0.4').points.map(({ processes }) => processes)).toEqual([3])
    const five = parseProfileCsv(`${header}\r\n1,4,5,10,0.4\r\n`, 'net', 'net.csv', { maxProcesses: 5 })
    expect(five.points).toHaveLength(1)
  })

  it('come back from what was written', () => {
    const points: ProfilePoint[] = [
      { sizeGpcs: 3, batchSize: 16, processes: 2, processThroughput: 123.25, latencyMs: 129.5 },
    ]
    expect(parseProfileCsv(formatProfileCsv({ model: 'net', points }), 'net', 'f').points).toEqual(points)
  })

  it.each([
    ['5,4,1,10,0.1', 2, 'Mig instance', /got '5', expected a size of 1, 2, 3, 4, 7 GPCs/],
    ['1,0,1,10,0.1', 2, 'Batch size', /integer of at least 1/],
    ['1,1e9,1,10,0.1', 2, 'Batch size', /got '1e9', expected an integer of at least 1 and at most 65536/],
    ['1,4,1.5,10,0.1', 2, 'Workload Number', /integer/],
    ['1,4,49,10,0.1', 2, 'Workload Number', /at most 48/],
    ['1,4,1,-10,0.1', 2, 'Throughput', /got '-10', expected items\/s/],
    ['1,4,1,10,0', 2, 'Latency', /seconds above 0/],
    ['1,4,1,10,fast', 2, 'Latency', /got 'fast'/],
    ['1,4,1,10', 2, null, /4 cells, expected 5/],
    ['1,4,1,10,0.1\n1,4,1,11,0.1', 3, null, /again, expected it once \(it is in row 2/],
    ['', 1, null, /no rows/],
  ])('refuse %j', (rows, row, column, message) => {
    const error = catchError(() => profile(rows))
    expect(error).toBeInstanceOf(SegmentFileError)
    expect(error).toMatchObject({ file: 'net.csv', row, column, message: expect.stringMatching(message) })
  })

  it('need a header', () => {
    expect(() => parseProfileCsv('1,4,1,10,0.1', 'net', 'net.csv')).toThrow(/the header/)
    expect(() => parseProfileCsv('', 'net', 'net.csv')).toThrow(/an empty file/)
    expect(() => parseProfileCsv(`${header}\n1,"4,1`, 'net', 'net.csv')).toThrow(SegmentFileError)
  })

  it('are looked over for what cannot be', () => {
    expect(lintProfile(profile('1,8,1,100,0.08', '2,8,1,200,0.04', '3,8,1,300,0.027', '7,8,1,600,0.0134'))).toEqual([])
    const wrong = profile('1,8,1,100,0.1', '2,8,1,200,0.2', '3,8,1,300,0.3', '7,8,1,600,0.6')
    expect(lintProfile(wrong).join()).toMatch(/net: latency rises with the instance's size in 3 of 3/)
    expect(lintProfile(profile('1,8,1,0,0'))).toEqual(['net: nothing ran; every row has throughput 0'])
  })
})

describe('objectives', () => {
  const models = ['alpha', 'beta', 'gamma']
  const read = (rates: string, latencies: string) =>
    parseObjectives({ text: rates, file: 'rate.csv' }, { text: latencies, file: 'latency.csv' }, models)

  it('are read by position where columns have no names', () => {
    expect(read('10,N/A,5\n1,2,0', '100,20,N/A\n9,8,7\n')).toEqual([
      [{ model: 'alpha', ratePerS: 10, latencyMs: 100 }],
      [
        { model: 'alpha', ratePerS: 1, latencyMs: 9 },
        { model: 'beta', ratePerS: 2, latencyMs: 8 },
      ],
    ])
  })

  it('are read by name where they have, in any order and without models that are not asked for', () => {
    expect(read('gamma,alpha\n5,1', 'alpha,gamma\n10,50')).toEqual([
      [
        { model: 'alpha', ratePerS: 1, latencyMs: 10 },
        { model: 'gamma', ratePerS: 5, latencyMs: 50 },
      ],
    ])
  })

  it.each([
    ['1,2,3,4', '1,2,3', 'rate.csv', 1, null, /4 cells, expected 3, one for each profile \(alpha, beta, gamma\)/],
    ['1,2,3\n1,2', '1,2,3\n1,2,3', 'rate.csv', 2, null, /2 cells/],
    ['1,2,3', '1,-2,3', 'latency.csv', 1, '2 (beta)', /got '-2', expected a number of at least 0, or N\/A/],
    ['1,x,3', '1,2,3', 'rate.csv', 1, '2 (beta)', /got 'x'/],
    ['1,2,3\n1,2,3', '1,2,3', 'latency.csv', 1, null, /1 scenarios, expected 2/],
    ['alpha,delta\n1,2', 'alpha\n1', 'rate.csv', 1, 2, /got 'delta', expected a profiled model/],
    ['alpha,alpha\n1,2', 'alpha\n1', 'rate.csv', 1, 2, /'alpha' again/],
    ['', '1,2,3', 'rate.csv', 1, null, /an empty file/],
  ])('refuse %j with %j', (rates, latencies, file, row, column, message) => {
    const error = catchError(() => read(rates, latencies))
    expect(error).toBeInstanceOf(SegmentFileError)
    expect(error).toMatchObject({ file, row, column, message: expect.stringMatching(message) })
  })

  it('have rows that start at 1', () => {
    expect(scenarioAt(['a', 'b'], 2)).toBe('b')
    expect(() => scenarioAt(['a', 'b'], 0)).toThrow(/no SLO row 0; the files have rows 1 to 2/)
  })
})

function catchError(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
