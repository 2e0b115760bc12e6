import type { Observation } from '../src/measure/observation.js'

export interface Load {
  readonly powerW?: (second: number) => number
  readonly temperatureC?: (second: number) => number
  /** Of each tenant, ms. */
  readonly batchMs?: readonly ((second: number) => number)[]
}

/** Readings every 100 ms of a load that is given by functions of time; batches of 8, completed one after the other. */
export function observe(
  seconds: number,
  { powerW = () => 200, temperatureC = () => 60, batchMs = [() => 25] }: Load,
): Observation[] {
  const tenants = batchMs.map(() => ({ timeMs: 0, batches: 0 }))
  return Array.from({ length: Math.round(seconds * 10) }, (_, i) => {
    const timeMs = (i + 1) * 100
    tenants.forEach((tenant, t) => {
      for (;;) {
        const next = tenant.timeMs + batchMs[t]!(tenant.timeMs / 1000)
        if (next > timeMs) break
        tenant.timeMs = next
        tenant.batches++
      }
    })
    return {
      telemetry: {
        timeMs,
        powerAverageW: powerW(timeMs / 1000),
        powerInstantW: null,
        energyJ: null,
        smClockMhz: 1410,
        memClockMhz: 1215,
        smUtilPercent: 90,
        memUtilPercent: 30,
        temperatureC: temperatureC(timeMs / 1000),
        memoryUsedBytes: null,
        clocksEventReasons: [],
      },
      counters: tenants.map((tenant, id) => ({
        id,
        tenant: { model: 'resnet50', mpsPercent: 25, batchSize: 8 },
        state: 'running' as const,
        samples: 8 * tenant.batches,
        batches: tenant.batches,
        latencySumMs: tenant.timeMs,
        lastCompletionMs: tenant.timeMs,
        lastBatchSize: 8,
      })),
    }
  })
}
