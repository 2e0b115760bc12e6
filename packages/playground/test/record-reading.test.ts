import { loadPerfModel } from '@pctodl/perf-model'
import { PctodlError } from '@pctodl/platform'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { readRecord } from '../site/run/read-record.js'
import { firstRun } from '../site/run/run-question.js'
import { SimulatedRun } from '../site/run/simulated-run.js'

let events = ''
let matrix: Record<string, unknown> = {}

beforeAll(async () => {
  const run = new SimulatedRun({ ...firstRun, durationS: 10 }, 'powercap', loadPerfModel('3080Ti'))
  run.allow(Number.POSITIVE_INFINITY)
  await run.run(new AbortController().signal)
  events = run.record()
  const { readings, windows } = run.frame()!
  const column = (i: 0 | 1 | 2 | 3) => readings.map((reading) => reading[i])
  matrix = {
    recordVersion: 1,
    board: '3080Ti',
    algorithm: 'powercap',
    windows: windows.map(({ endMs, throughput }) => ({
      startMs: endMs - 5000,
      endMs,
      throughput,
      samples: throughput * 5,
      tenants: [{ tenant: { model: 'resnet50', mpsPercent: 100, batchSize: 8 } }],
    })),
    power: { timeMs: column(0), sensorW: column(1), powerCapW: column(2), smClockMhz: column(3), trueW: column(1) },
  }
})

/** Places in a value, as paths. */
function placesIn(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return [path, ...keys.flatMap((key) => placesIn((value as never)[key], [...path, key]))]
}

function withChange(value: unknown, [key, ...rest]: readonly (string | number)[], to: unknown): unknown {
  if (key === undefined) return to
  const copy = structuredClone(value) as Record<string | number, unknown>
  copy[key] = withChange(copy[key], rest, to)
  return copy
}

const wrong = fc.constantFrom<unknown>(
  null,
  -1,
  1e300,
  1e15,
  'text',
  '<img src=x onerror=alert(1)>',
  true,
  [],
  [null],
  {},
)

/** Opens it or says what is wrong with it, by name; nothing else. */
function opensOrTells(text: string): void {
  try {
    const { frame } = readRecord('theirs.json', text)
    for (const { text: line } of frame.said) expect(typeof line).toBe('string')
  } catch (error) {
    expect(error).toBeInstanceOf(PctodlError)
    expect((error as Error).message).toContain('theirs.json')
  }
}

describe('a record of somebody else', () => {
  it.each<[string, Record<string, unknown>]>([
    ['windows[0]', { windows: [null] }],
    ['windows', { windows: 3 }],
    ['power', { power: null }],
    ['power.powerCapW', { power: { timeMs: [0], sensorW: [1], powerCapW: [] } }],
    ['power.timeMs[0]', { power: { timeMs: [1e15], sensorW: [1], powerCapW: [1] } }],
    ['board', { board: {} }],
  ])('of the matrix is refused by %s', (field, change) => {
    expect(() => readRecord('theirs.json', JSON.stringify({ ...matrix, ...change }))).toThrow(`theirs.json: ${field}`)
  })

  it('of the matrix opens, or is refused by what is wrong, whatever is changed in it', () => {
    const few = JSON.parse(JSON.stringify(matrix)) as { power: Record<string, unknown[]> }
    for (const column of Object.values(few.power)) column.splice(5)
    fc.assert(
      fc.property(fc.constantFrom(...placesIn(few).slice(1)), wrong, (place, to) => {
        opensOrTells(JSON.stringify(withChange(few, place, to)))
      }),
      { numRuns: 300 },
    )
  })

  it.each(['completed', 'powerCapW', 'telemetry.powerAverageW', 'telemetry.smClockMhz'])(
    'of events is refused by %s of a sample',
    (field) => {
      const lines = events.trimEnd().split('\n')
      const line = lines.findIndex((each) => (JSON.parse(each) as { type: string }).type === 'sample')
      const changed = JSON.stringify(withChange(JSON.parse(lines[line]!), field.split('.'), 'many'))
      expect(() => readRecord('theirs.json', lines.with(line, changed).join('\n'))).toThrow(`${field}: got 'many'`)
    },
  )

  it('of events opens, or is refused by what is wrong, whatever is changed in it', () => {
    const lines = events.trimEnd().split('\n')
    // One line of each kind is enough.
    const kinds = new Map(lines.map((line, i) => [(JSON.parse(line) as { type: string }).type, i]))
    const change = fc.constantFrom(...kinds.values()).chain((line) =>
      fc.record({
        line: fc.constant(line),
        place: fc.constantFrom(...placesIn(JSON.parse(lines[line]!))),
        to: wrong,
      }),
    )
    fc.assert(
      fc.property(change, ({ line, place, to }) => {
        const changed = JSON.stringify(withChange(JSON.parse(lines[line]!), place, to))
        opensOrTells(`${lines.with(line, changed).join('\n')}\n`)
      }),
      { numRuns: 200 },
    )
  })
})
