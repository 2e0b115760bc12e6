import { type SimulatedBoard, simulateSteadyState } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom, sum } from '@pctodl/numerics'
import type { Configuration, TraceRow } from '@pctodl/platform'

export type Truth = ReturnType<typeof simulateSteadyState>

/** The row that a profiler with a perfect sensor would write. */
export function rowOf(truth: Truth, { tenants, smClockMhz, memClockMhz }: Configuration): TraceRow {
  const ran = truth({ tenants, smClockMhz, memClockMhz })
  return {
    tenants,
    targetSmClockMhz: smClockMhz,
    memClockMhz,
    smClockMhz: ran.smClockMhz,
    smUtilPercent: ran.smUtilPercent,
    memUtilPercent: ran.memUtilPercent,
    throughput: ran.throughput,
    powerAverageW: ran.powerW,
    powerMaxW: ran.powerW,
    tenantThroughput: ran.tenants.map((tenant) => tenant.throughput),
    tenantLatencyMs: ran.tenants.map((tenant) => tenant.batchMs),
    memoryUsedBytes: 0,
    failed: false,
  }
}

/** The rows that a calibrated meter would give. */
export function measuredRows(board: SimulatedBoard, design: readonly Configuration[]): TraceRow[] {
  const truth = simulateSteadyState(board)
  const random = new SeededRandom(seedFrom('rows', String(board)))
  return design.map((point) => {
    const exact = rowOf(truth, point)
    const tenantThroughput = exact.tenantThroughput.map((each) => each * Math.exp(0.002 * random.normal()))
    const powerAverageW = exact.powerAverageW * Math.exp(0.001 * random.normal())
    return { ...exact, tenantThroughput, throughput: sum(tenantThroughput), powerAverageW, memoryUsedBytes: null }
  })
}
