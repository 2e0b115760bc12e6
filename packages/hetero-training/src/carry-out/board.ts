import type { Sampler } from '@pctodl/nvml-control'
import { type Gpu, type GpuLease, type GpuSpec, PctodlError } from '@pctodl/platform'

/** Time and energy between two moments. */
export interface Measured {
  readonly timeS: number
  readonly energyJ: number
}

export interface EnergyWindow {
  read(): Promise<Measured>
}

/** A GPU whose lease we hold: its limit and clock can be set, and are put back when the lease ends. */
export interface Board {
  readonly uuid: string
  readonly name: string
  readonly driverVersion: string | null
  readonly spec: GpuSpec
  setPowerLimit(watts: number): Promise<void>
  /** Lock the SM clock, MHz; null: let the firmware choose again. */
  setSmClock(mhz: number | null): Promise<void>
  /** Measure from now on; `read` says what it took so far, as often as it is asked. */
  beginWindow(): EnergyWindow
}

/** Ten hours at one sample a second. */
const SAMPLING = { periodMs: 1000, capacity: 36_000 }
/** Part of a window that samples must span where they are all there is. */
const MIN_COVERED = 0.9

/** Where boards come from. */
export interface BoardOptions {
  /** NVML's library. Default: where drivers put it. */
  readonly libraryPath?: string
  readonly leaseFolder?: string
}

/**
 * Hold the leases of boards (by index, UUID or PCI bus id) while `work` runs. Limits are what they were afterwards, however it ends.
 *
 * @throws PctodlError `NVML_CONTROL_MISSING` without `@pctodl/nvml-control`; what that throws where a board cannot be held
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

/** @param sampler of boards that may lack an energy counter */
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

/** Boards before Volta have no energy counter: their power is integrated over the samples. */
function integrated(sampler: Sampler | null, beginMs: number, endMs: number, subject: string): Measured {
  const seen = sampler?.summarize(beginMs, endMs)
  const integralJ = seen?.kind === 'measured' ? seen.energy.integralJ : null
  if (seen?.kind === 'measured' && integralJ !== null && seen.coveredMs >= MIN_COVERED * seen.durationMs) {
    return { timeS: seen.durationMs / 1000, energyJ: (integralJ * seen.durationMs) / seen.coveredMs }
  }
  throw new PctodlError(
    'NO_ENERGY',
    `${subject}: it has no energy counter, and too little of its power could be read in ${(endMs - beginMs) / 1000} s`,
  )
}

async function loadControl() {
  try {
    return await import('@pctodl/nvml-control')
  } catch (cause) {
    throw new PctodlError(
      'NVML_CONTROL_MISSING',
      'power limits and energy need @pctodl/nvml-control: npm install @pctodl/nvml-control',
      { cause },
    )
  }
}
