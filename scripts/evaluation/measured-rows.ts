import { type SimulatedBoard, simulateSteadyState } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { Configuration, TraceRow } from '@pctodl/platform'

/** Rows as a calibrated meter would write them. */
export function measuredRows(truth: SimulatedBoard, design: readonly Configuration[]): TraceRow[] {
  const simulate = simulateSteadyState(truth)
  const random = new SeededRandom(seedFrom('rows', String(truth)))
  return design.flatMap((point) => {
    const { tenants, smClockMhz, memClockMhz } = point
    const ran = simulate(point)
    const tenantThroughput = ran.tenants.map((tenant) => tenant.throughput * Math.exp(0.002 * random.normal()))
    return [
      {
        tenants,
        targetSmClockMhz: smClockMhz,
        memClockMhz,
        smClockMhz: ran.smClockMhz,
        smUtilPercent: ran.smUtilPercent,
        memUtilPercent: ran.memUtilPercent,
        throughput: tenantThroughput.reduce((sum, value) => sum + value, 0),
        powerAverageW: ran.powerW * Math.exp(0.001 * random.normal()),
        powerMaxW: ran.powerW,
        tenantThroughput,
        tenantLatencyMs: ran.tenants.map((tenant) => tenant.batchMs),
        memoryUsedBytes: null,
        failed: false,
      },
    ]
  })
}
