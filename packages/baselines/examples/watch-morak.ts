import { MorakPolicy } from '@pctodl/baselines'
import { findGpuSpec, type Tenant } from '@pctodl/platform'
import type { WindowObservation } from '@pctodl/scheduler'

/** The clocks Morak asks for on an A100 whose power falls by three quarters of the excess in each window. */
export function clocksUnder(powerCapW: number, powerW: number): (number | 'unlocked' | undefined)[] {
  const policy = new MorakPolicy({ spec: findGpuSpec('A100'), model: 'resnet50' })
  const tenants = policy.start(powerCapW).tenants ?? []
  return [1, 2, 3].map((iteration) => {
    const clock = policy.onWindow(windowOf(tenants, iteration, powerCapW, powerW))?.smClockMhz
    powerW -= 0.75 * (powerW - powerCapW)
    return clock
  })
}

// In a run, `runPolicy` of @pctodl/scheduler measures these.
function windowOf(tenants: readonly Tenant[], iteration: number, powerCapW: number, powerW: number): WindowObservation {
  return {
    iteration,
    startMs: (iteration - 1) * 5000,
    endMs: iteration * 5000,
    powerCapW,
    powerAverageW: powerW,
    powerMaxW: powerW,
    smClockMhz: null,
    memClockMhz: 1215,
    smUtilPercent: null,
    memUtilPercent: null,
    throughput: 2000,
    samples: 10_000,
    tenants: tenants.map((tenant) => ({ tenant, throughput: 1000, latencyMs: 40, failure: null })),
    applied: { tenants, smClockMhz: null, memClockMhz: 1215, powerLimitW: 250 },
    reconfigured: false,
  }
}
