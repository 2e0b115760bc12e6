import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { replayedTimes } from '@pctodl/traffic'
import { describe, expect, it } from 'vitest'
import { trafficOf } from '../src/cli/traffic-options.js'
import { fleetOf, planFleet, planSegments, type ServiceProfile, simulatePlan } from '../src/index.js'
import { formatDeploymentMap, parseDeploymentMap } from '../src/map/deployment-map.js'
import { fleetMapColumns, formatFleetMap, parseFleetMap } from '../src/map/fleet-map.js'

const point = { sizeGpcs: 1 as const, batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 100 }
const net: ServiceProfile = { model: 'net', points: [point] }
const objective = { model: 'net', ratePerS: 5, latencyMs: 900 }

describe('what makes no sense is refused with its field, its value and what was expected', () => {
  it('in simulations', async () => {
    const plan = await planSegments([net], [objective])
    for (const requests of [-5, 0.5, Number.NaN, 1e12]) {
      expect(() => simulatePlan(plan, [net], { requests })).toThrow(
        `requests: got ${requests}, expected an integer of at least 1 and at most 10000000`,
      )
    }
    expect(() => simulatePlan(plan, [net], { dispatch: 'both' as never })).toThrow(/unknown dispatch 'both'/)
    for (const seed of [Number.NaN, -1, 1.5, 1e300, 'a' as never]) {
      expect(() => simulatePlan(plan, [net], { seed })).toThrow(/^seed: got .*, expected an integer of at least 0/)
    }
    expect(() => simulatePlan(plan, [net], { perSlot: Number.NaN })).toThrow(/^perSlot: got NaN/)
    // Nothing would be counted, so that nobody would be late.
    const arrivals = () => replayedTimes([1, 2, 3])
    for (const dispatch of ['shared', 'split'] as const) {
      expect(() => simulatePlan(plan, [net], { arrivals, dispatch })).toThrow(
        /^arrivals: got 3, expected more requests/,
      )
    }
    await expect(planSegments([net], [objective], { gate: 'tail', arrivals: [arrivals] })).rejects.toThrow(/^arrivals/)
    const checked = planSegments([net], [objective], { gate: 'tail', checkRequests: 1e12 })
    await expect(checked).rejects.toThrow(/checkRequests: got 1000000000000, .* at most 10000000/)
  })

  it('in plans', async () => {
    const wrong = planSegments([net], [{ ...objective, ratePerS: '5' as never }])
    await expect(wrong).rejects.toThrow(`objective of net: ratePerS: got '5', expected a positive number`)
    for (const planned of [
      planSegments([net, net], [objective]),
      planFleet(fleetOf('H100', [net, net]), [objective]),
    ]) {
      await expect(planned).rejects.toThrow(
        /fleet\.groups\[0\]\.profiles: got 'net', expected one profile for each model/,
      )
    }
  })

  it('in fleets and maps', async () => {
    for (const idleW of [{}, null as never]) {
      const planned = planFleet(fleetOf('H100', [net], { idleW }), [objective])
      await expect(planned).rejects.toThrow(`idleW: got ${JSON.stringify(idleW)}, expected watts of at least 0`)
    }
    const rows = `${fleetMapColumns.join()}\nA100,0,0,1g.5gb,0,"net\nreboot",8,1\n`
    expect(() => parseFleetMap(rows, 'map.csv')).toThrow(
      /column Model: got 'net\nreboot', expected the name of a model/,
    )
  })

  it('in traces of one moment, with the option that names them', () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'pctodl-segments-trace-')), 'azure.csv')
    writeFileSync(file, 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n')
    const given = { gate: 'tail', latencyShare: 0.45, burstiness: 1, rateError: 0, timeError: 0 } as const
    expect(() => trafficOf({ ...given, arrivals: `azure:${file}` })).toThrow(
      /^--arrivals: got '.*everything arrives at 0/,
    )
    rmSync(path.dirname(file), { recursive: true })
  })

  it('in options without the gate that they are for', () => {
    const given = { gate: 'latency', latencyShare: 0.45, burstiness: 1, rateError: 0.05, timeError: 0.05 } as const
    expect(trafficOf(given)).toEqual({})
    expect(() => trafficOf({ ...given, rateError: 0.2 })).toThrow('--rate-error is for --gate tail; add it')
    expect(() => trafficOf({ ...given, timeError: 0 })).toThrow('--time-error is for --gate tail; add it')
  })

  it('in arrivals', () => {
    const given = { gate: 'tail', latencyShare: 0.45, burstiness: 1, rateError: 0, timeError: 0 } as const
    for (const arrivals of ['toString:package.json', 'constructor:package.json', 'on-off:0.5:', 'azure:']) {
      expect(() => trafficOf({ ...given, arrivals })).toThrow(`--arrivals: got '${arrivals}', expected on-off:`)
    }
  })
})

it('a name with commas or quotes comes back from a map as it was written', () => {
  for (const model of ['a,b', 'a "b"', '"', ' a', "it's", 'モデル']) {
    const gpus = [{ index: 0, segments: [{ model, start: 0, sizeGpcs: 4 as const, batchSize: 2, processes: 1 }] }]
    expect(parseDeploymentMap(formatDeploymentMap(gpus), 'map.csv')).toEqual(gpus)
    const segments = [{ profile: '1g.5gb', start: 0, model, batchSize: 2, processes: 1 }]
    const boards = [{ gpu: 'A100', node: 0, index: 0, segments }]
    expect(parseFleetMap(formatFleetMap(boards), 'map.csv')).toEqual(boards)
  }
})

it('simulates a request in years with the latency of its batch', async () => {
  const rare = { ...objective, ratePerS: 1e-300 }
  const plan = await planSegments([net], [rare])
  expect(simulatePlan(plan, [net], { requests: 100 })[0]!.p99Ms).toBeCloseTo(100, 3)
})
