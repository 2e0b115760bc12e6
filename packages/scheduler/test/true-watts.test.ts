import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { fixedCap, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type PowerCapPolicy, type RunEvent, replayRun, runPolicy, type SampleObservation } from '../src/index.js'

function listening(): { policy: PowerCapPolicy; started: number[]; seen: SampleObservation[] } {
  const started: number[] = []
  const seen: SampleObservation[] = []
  const policy: PowerCapPolicy = {
    name: 'listening',
    start: (powerCapW) => {
      started.push(powerCapW)
      return { tenants: [{ model: 'resnet50', mpsPercent: 50, batchSize: 8 }], smClockMhz: 900 }
    },
    onCapChange: () => undefined,
    onSample: (sample) => {
      seen.push(sample)
      return undefined
    },
    onWindow: () => undefined,
  }
  return { policy, started, seen }
}

describe('what a policy is told', () => {
  it('is a cap with room for the sensor, and the readings of another meter, in a replay too', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock })
    const events: RunEvent[] = []
    const { policy, started, seen } = listening()
    await runPolicy({
      gpu,
      pool: new SimulatedTenants(gpu),
      clock,
      policy,
      caps: fixedCap(150),
      iterations: 1,
      sensorTolerancePercent: 2,
      meter: () => 77,
      onEvent: (event) => events.push(event),
    })
    expect(started).toEqual([147])
    expect(seen.every(({ powerCapW, meterPowerW }) => powerCapW === 147 && meterPowerW === 77)).toBe(true)
    expect(events.find((event) => event.type === 'sample')).toMatchObject({ powerCapW: 150 })
    const again = listening()
    expect(replayRun(events, again.policy).differences).toEqual([])
    expect(again.seen.map(({ powerCapW, meterPowerW }) => [powerCapW, meterPowerW])).toEqual(
      seen.map(({ powerCapW, meterPowerW }) => [powerCapW, meterPowerW]),
    )
  })

  it('refuses a tolerance that is none', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock })
    const { policy } = listening()
    const pool = new SimulatedTenants(gpu)
    await expect(
      runPolicy({ gpu, pool, clock, policy, caps: fixedCap(150), iterations: 1, sensorTolerancePercent: -1 }),
    ).rejects.toThrow('sensorTolerancePercent: got -1')
  })
})
