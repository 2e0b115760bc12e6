import type { Sampler } from '@pctodl/nvml-control'
import { type Gpu, type GpuLease, type GpuSpec, PctodlError } from '@pctodl/platform'

/** Time and energy over a period. */
export interface Measured {
  readonly timeS: number
  readonly energyJ: number
}

/** A leased GPU. Its power limit and clock can be set, and are restored when the lease ends. */
export interface Board {
  readonly uuid: string
  readonly name: string
  readonly driverVersion: string | null
  readonly spec: GpuSpec
  setPowerLimit(watts: number): Promise<void>
  /** Locks the SM clock, MHz. Null unlocks it, so that the firmware chooses the clock again. */
  setSmClock(mhz: number | null): Promise<void>
  /** Start a measurement; `read` returns the totals so far and may be called repeatedly. */
  beginWindow(): { read(): Promise<Measured> }
}

/** One sample a second, kept for ten hours. */
const SAMPLING = { periodMs: 1000, capacity: 36_000 }
/** Minimum fraction of a window that samples must span if no energy counter is available. */
const MIN_COVERED = 0.9

export interface BoardOptions {
  /** Path of the NVML library. Default: the driver's location. */
  readonly libraryPath?: string
  readonly leaseFolder?: string
}

/**
 * Leases boards (by index, UUID or PCI bus ID) while `work` runs. Limits are restored afterwards, also after an error.
 *
 * @throws PctodlError `NVML_CONTROL_MISSING` without `@pctodl/nvml-control`; that package's errors if a board cannot be
 * leased
 */
export async function withBoards<T>(
  ids: readonly string[],
  options: BoardOptions,
  work: (boards: readonly Board[]) => Promise<T>,
): Promise<T> {
  const control = await loadControl()
  const hold = async (held: readonly Board[]): Promise<T> => {
    const id = ids[held.length]
    if (id === undefined) return work(held)
    const gpu = await control.openGpu(id, options)
    return control.withLease(gpu, async (lease) => {
      const sampler = new control.Sampler(gpu, SAMPLING)
      sampler.start()
      try {
        return await hold([...held, await boardOf(gpu, lease, gpu.device.name, sampler)])
      } finally {
        await sampler.stop()
      }
    })
  }
  return hold([])
}

/** @param sampler for boards that may lack an energy counter */
export async function boardOf(gpu: Gpu, lease: GpuLease, name: string, sampler: Sampler | null): Promise<Board> {
  const { uuid, driverVersion } = await gpu.info()
  return {
    ...{ uuid, name, driverVersion, spec: gpu.spec },
    setPowerLimit: (watts) => lease.setPowerLimit(watts),
    setSmClock: (mhz) => (mhz === null ? lease.resetSmClock() : lease.lockSmClock(mhz)),
    beginWindow() {
      const atBegin = gpu.sample()
      return {
        async read() {
          const [before, after] = await Promise.all([atBegin, gpu.sample()])
          if (before.energyJ === null || after.energyJ === null) {
            return integrated(sampler, before.timeMs, after.timeMs, `${name} (${uuid})`)
          }
          return { timeS: (after.timeMs - before.timeMs) / 1000, energyJ: after.energyJ - before.energyJ }
        },
      }
    },
  }
}

/** Boards before Volta have no energy counter: integrate their power over the samples. */
function integrated(sampler: Sampler | null, beginMs: number, endMs: number, subject: string): Measured {
  const seen = sampler?.summarize(beginMs, endMs)
  if (seen?.kind === 'measured' && seen.coveredMs >= MIN_COVERED * seen.durationMs && seen.energy.integralJ !== null) {
    return { timeS: seen.durationMs / 1000, energyJ: (seen.energy.integralJ * seen.durationMs) / seen.coveredMs }
  }
  throw new PctodlError(
    'NO_ENERGY',
    `${subject}: it has no energy counter, and too few power samples were read in ${(endMs - beginMs) / 1000} s`,
  )
}

async function loadControl() {
  try {
    return await import('@pctodl/nvml-control')
  } catch (cause) {
    const remedy = 'power limits and energy need @pctodl/nvml-control: npm install @pctodl/nvml-control'
    throw new PctodlError('NVML_CONTROL_MISSING', remedy, { cause })
  }
}
