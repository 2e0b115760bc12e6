import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { curvesOf, findPlan, readProfile } from '../src/index.js'

/** A published trace: 4 batch sizes, 2 limits. */
const published = () =>
  Object.fromEntries(
    [32, 64, 128, 256].map((batch) => [
      String(batch),
      [200, 100].map((limit) => ({
        power_limit: limit,
        energy: limit * 0.8 * (1 + batch / 100),
        time: 1 + batch / 100,
      })),
    ]),
  )

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-traces-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

function fromText(text: string) {
  const file = path.join(folder, 'a.json')
  writeFileSync(file, text)
  return readProfile(file)
}

const fromJson = (value: unknown) => fromText(JSON.stringify(value))

function refuses(read: () => unknown, message: RegExp) {
  let thrown: unknown
  try {
    read()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(InvalidInputError)
  expect((thrown as InvalidInputError).message).toMatch(message)
}

/** The trace with one thing wrong. */
function broken(change: (trace: Record<string, Record<string, unknown>[]>) => void) {
  const trace = published() as Record<string, Record<string, unknown>[]>
  change(trace)
  return () => fromJson(trace)
}

describe('a published trace', () => {
  it('is read in its order of limits, as windows', () => {
    const { unit, rows, idlePowerW } = fromJson(published())
    expect({ unit, idlePowerW }).toEqual({ unit: 'window', idlePowerW: null })
    expect(rows).toHaveLength(8)
    expect(rows[0]).toEqual({ batchSize: 32, powerLimitW: 200, timeS: 1.32, energyJ: 160 * 1.32 })
  })

  it('with a missing limit is refused, naming it', () => {
    refuses(
      broken((trace) => trace['64']!.pop()),
      /a\.json, batch 64: got '200 W', expected all settings of the other batch sizes; measure 100 W or omit/,
    )
  })

  it('with one batch size is refused', () => {
    refuses(() => fromJson({ 32: published()['32'] }), /a\.json: batch sizes: got '32', expected at least two/)
  })

  it('with negative, zero or absent values is refused, naming the place', () => {
    refuses(
      broken((trace) => (trace['64']![1]!['time'] = -1)),
      /a\.json: 64\.1\.time: got -1, expected .*>0/,
    )
    refuses(
      broken((trace) => (trace['64']![1]!['energy'] = 0)),
      /64\.1\.energy: got 0/,
    )
    refuses(
      broken((trace) => delete trace['64']![1]!['power_limit']),
      /64\.1\.power_limit/,
    )
    refuses(
      broken((trace) => (trace['64']![1]!['power_limit'] = '100 W')),
      /64\.1\.power_limit: got '100 W'/,
    )
  })

  it('with a batch size that is none, or a limit twice, is refused', () => {
    refuses(() => fromJson({ ...published(), big: published()['64'] }), /batch size: got 'big'/)
    refuses(
      broken((trace) => trace['64']!.push(trace['64']![0]!)),
      /a\.json, batch 64: power_limit: got '200 twice'/,
    )
  })

  it('in mixed units is refused: milliseconds, millijoules, or both of one row', () => {
    const scaled = (row: Record<string, unknown>, ...columns: string[]) => {
      for (const column of columns) row[column] = 1000 * (row[column] as number)
    }
    refuses(
      broken((trace) => scaled(trace['64']![0]!, 'time')),
      /batch 64, 200 W: energy \/ time: got '0\.160 W', expected .*time in s/,
    )
    refuses(
      broken((trace) => scaled(trace['64']![0]!, 'energy')),
      /energy \/ time: got '1\.60e\+5 W'/,
    )
    refuses(
      broken((trace) => scaled(trace['64']![0]!, 'energy', 'time')),
      /a\.json: time: got '1\.6\d* at batch 64, 1640[.\d]* at batch 64', expected all times in s/,
    )
    refuses(
      broken((trace) => {
        for (const row of trace['64']!) scaled(row, 'energy', 'time')
      }),
      /time: got '1\.32 at batch 32, 1640[.\d]* at batch 64'/,
    )
  })

  it('with a memory cliff is read, and warned of: units change time and energy alike, a cliff leaves the GPU waiting', () => {
    for (const times of [150, 900, 2000]) {
      const trace = published()
      for (const row of trace['256']!) {
        row.time *= times
        row.energy *= 0.4 * times
      }
      const profile = fromJson(trace)
      const { warnings } = findPlan({ gpus: [{ profile }], globalBatch: 128 })
      expect(warnings.join('\n')).toMatch(
        /batch 256 takes \d+ times as long as batch 128, as if memory spilled; .* at 128/,
      )
    }
    refuses(
      broken((trace) => {
        for (const row of trace['256']!)
          for (const column of ['time', 'energy']) row[column] = 1e6 * (row[column] as number)
      }),
      /all times in s/,
    )
  })

  it('that is no JSON, or something else, is refused', () => {
    refuses(() => fromText('batch,limit'), /^file: got '.*a\.json', expected a profile in JSON/)
    refuses(() => fromJson([1, 2]), /a\.json/)
    refuses(() => fromJson({}), /a\.json: rows: got 'none'/)
    refuses(() => fromJson(null), /a\.json/)
  })
})

describe('a profile of this package', () => {
  const file = {
    format: 'pctodl-hetero-profile',
    version: 1,
    gpu: { name: 'T4', uuid: null, driverVersion: null },
    model: null,
    idlePowerW: 12,
    rows: [8, 16].flatMap((batchSize) =>
      [0, 1].map((repeat) => ({ batchSize, powerLimitW: 70, steps: 10, timeS: 5 + repeat, energyJ: 300, repeat })),
    ),
  }

  it('is read in steps, repeats averaged', () => {
    expect(fromJson(file)).toEqual({
      name: 'T4',
      unit: 'step',
      idlePowerW: 12,
      rows: [8, 16].map((batchSize) => ({ batchSize, powerLimitW: 70, timeS: 0.55, energyJ: 30 })),
    })
  })

  it('of another version, or with a fraction of a step, is refused', () => {
    refuses(() => fromJson({ ...file, version: 2 }), /a\.json: version: got 2/)
    refuses(() => fromJson({ ...file, rows: [{ ...file.rows[0], steps: 1.5 }] }), /rows\.0\.steps: got 1\.5/)
  })

  it('with a field that it does not have, or a window twice, is refused: neither is dropped nor averaged', () => {
    refuses(
      () => fromJson({ ...file, rows: [{ ...file.rows[0], smClockMHz: 900 }, ...file.rows.slice(1)] }),
      /rows\.0\.smClockMHz: got 900, expected a profile in JSON: no field of this name/,
    )
    refuses(
      () => fromJson({ ...file, rows: [...file.rows, file.rows[0]] }),
      /a\.json: rows: got 'batch 8, 70 W, repeat 0 twice', expected each window once/,
    )
  })
})

describe('readProfile', () => {
  it('names the GPU after the file, and takes idle power', () => {
    const file = path.join(folder, 't4.json')
    writeFileSync(file, JSON.stringify(published()))
    expect(readProfile(file)).toMatchObject({ name: 't4', idlePowerW: null })
    expect(readProfile(file, { name: 'left', idlePowerW: 9 })).toMatchObject({ name: 'left', idlePowerW: 9 })
    refuses(
      () => readProfile(path.join(folder, 'gone.json')),
      /^file: got '.*gone\.json', expected a profile in JSON \(ENOENT/,
    )
  })
})

describe('a job', () => {
  const windows = fromJson(published())
  const steps = { ...fromJson(published()), unit: 'step' as const, name: 'b' }
  const plan =
    (change: object, gpu: object = {}) =>
    () =>
      findPlan({ gpus: [{ profile: windows, ...gpu }], globalBatch: 64, ...change })

  it('over profiles in windows and in steps is refused', () => {
    refuses(
      plan({ gpus: [{ profile: windows }, { profile: steps }] }),
      /^gpus: got 'a in windows, b in steps', expected profiles in one unit/,
    )
  })

  it('with values that make no sense is refused', () => {
    refuses(plan({ gpus: [] }), /^gpus: got 'none'/)
    refuses(plan({ gpus: [{ profile: windows }, { profile: windows }] }), /^gpus: got 'a twice'/)
    refuses(plan({ globalBatch: 0 }), /^globalBatch: got 0/)
    refuses(plan({ eta: 1.5 }), /^eta: got 1\.5/)
    refuses(plan({ allReduceS: -1 }), /^allReduceS: got -1/)
    refuses(plan({}, { maxShare: 2.5 }), /^a: maxShare: got 2\.5/)
    refuses(
      plan({}, { powerLimitsW: [150] }),
      /^a: powerLimitsW: got 150, expected limits that were profiled: 100, 200 W/,
    )
    refuses(
      plan({}, { profile: { ...windows, idlePowerW: 120 } }),
      /^a: idle power: got 120, expected below the lowest/,
    )
  })
})

describe('locked clocks', () => {
  const rows = (clocks: readonly (number | null)[], batches = [8, 16]) =>
    batches.flatMap((batchSize) =>
      clocks.map((smClockMhz) => {
        const timeS = batchSize / (smClockMhz ?? 1500)
        return {
          batchSize,
          powerLimitW: 200,
          ...(smClockMhz === null ? {} : { smClockMhz }),
          timeS,
          energyJ: 100 * timeS,
        }
      }),
    )
  const profile = (measured: ReturnType<typeof rows>) => ({
    name: 'gpu',
    unit: 'step' as const,
    idlePowerW: 10,
    rows: measured,
  })

  it('are read from our JSON, beside limits', () => {
    const own = {
      ...{ format: 'pctodl-hetero-profile', version: 1, model: null, idlePowerW: 10 },
      gpu: { name: 'gpu', uuid: null, driverVersion: null },
      rows: rows([null, 900]).map((row) => ({ ...row, steps: 1, repeat: 0 })),
    }
    expect(fromJson(own).rows).toEqual(rows([null, 900]))
  })

  it('that do not fill a grid, have several limits, or stand alone are refused', () => {
    const grid = rows([null, 900, 1200])
    expect(() =>
      curvesOf(profile(grid.filter(({ batchSize, smClockMhz }) => batchSize === 8 || smClockMhz !== 900))),
    ).toThrow(
      /batch 16: got '200 W, 1200 MHz within 200 W', expected all settings .*; measure 900 MHz within 200 W or omit/,
    )
    expect(() => curvesOf(profile(rows([900, 1200])))).toThrow(/rows: got 'locked clocks only'/)
    const other = rows([900]).map((row) => ({ ...row, powerLimitW: 150 }))
    expect(() => curvesOf(profile([...grid, ...other]))).toThrow(
      /900 MHz: power limit: got '\d+, \d+', expected one limit/,
    )
    expect(() => curvesOf(profile(rows([null, -900])))).toThrow(/-900 MHz within 200 W\): SM clock: got -900/)
    const gpus = [{ profile: profile(grid), smClocksMhz: [901] }]
    expect(() => findPlan({ gpus, globalBatch: 8 })).toThrow(
      /smClocksMhz: got 901, expected locked clocks .*: 900, 1200 MHz/,
    )
    const none = [{ profile: profile(rows([null])), smClocksMhz: [900] }]
    expect(() => findPlan({ gpus: none, globalBatch: 8 })).toThrow(/expected none: no locked clocks were profiled/)
  })
})
