import {
  type CapSchedule,
  type Clock,
  capAt,
  type Gpu,
  InvalidInputError,
  type Telemetry,
  type TenantPool,
} from '@pctodl/platform'
import { Actuator } from './actuator.js'
import { MeasuringWindow } from './measuring-window.js'
import type { AppliedState, PowerCapPolicy, WindowObservation } from './policy.js'

export interface RunOptions {
  readonly gpu: Gpu
  readonly pool: TenantPool
  readonly clock: Clock
  readonly policy: PowerCapPolicy
  readonly caps: CapSchedule
  /** Measuring windows to close before the run ends. */
  readonly iterations: number
  /** Default 5000. */
  readonly windowMs?: number
  /** Default 100. */
  readonly samplePeriodMs?: number
  readonly signal?: AbortSignal
  /** Called with each reading, from the first moment of the run to its last. */
  readonly onSample?: (timeMs: number, telemetry: Telemetry, powerCapW: number, applied: AppliedState) => void
  readonly onWindow?: (window: WindowObservation, startedAt: Date) => void
}

/**
 * Run a policy on a board: plan, apply, then watch. Power is sampled without a pause from before the first process starts
 * until the last has stopped, also while tenants restart; a cap takes effect at its time stamp, for every policy alike.
 * Whatever happens, the processes are ended and the board is handed back as it was found.
 *
 * @throws what the policy, the board or the pool throws, after everything has been released; the signal's reason if aborted
 */
export async function runPolicy(options: RunOptions): Promise<void> {
  const { gpu, pool, clock, policy, caps, iterations, windowMs = 5000, samplePeriodMs = 100 } = options
  if (!Number.isInteger(iterations) || iterations < 1) {
    throw new InvalidInputError('iterations', iterations, 'an integer of at least 1')
  }
  if (!(samplePeriodMs > 0 && windowMs >= samplePeriodMs)) {
    throw new InvalidInputError('windowMs', windowMs, `at least the sample period of ${samplePeriodMs} ms`)
  }
  options.signal?.throwIfAborted()
  const ending = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, ending.signal]) : ending.signal
  const { powerLimitW } = await gpu.info()
  let powerCapW = capAt(caps, 0)
  const first = policy.start(powerCapW)
  const lease = await gpu.acquire()
  const actuator = new Actuator(lease, pool, powerLimitW, signal)
  try {
    const startMs = clock.now()
    await actuator.apply(first)
    let window = new MeasuringWindow(0, pool.counters())
    let windowStartedAt = clock.date()
    let samplesTaken = 0
    for (let iteration = 1; iteration <= iterations; ) {
      samplesTaken++
      // Waiting for absolute times keeps slow readings from stretching the windows.
      await clock.sleep(Math.max(0, startMs + samplesTaken * samplePeriodMs - clock.now()), signal)
      const timeMs = clock.now() - startMs
      const telemetry = await gpu.sample()
      const { reconfiguring } = actuator
      window.add(telemetry, pool.counters(), reconfiguring)
      options.onSample?.(timeMs, telemetry, powerCapW, actuator.applied)

      if (timeMs >= iteration * windowMs) {
        const counters = pool.counters()
        const closed = window.close(iteration, timeMs, powerCapW, counters, actuator.applied)
        options.onWindow?.(closed, windowStartedAt)
        window = new MeasuringWindow(timeMs, counters)
        windowStartedAt = clock.date()
        iteration++
        await actuator.apply(policy.onWindow(closed))
      }
      const capNow = capAt(caps, timeMs)
      if (capNow !== powerCapW) {
        powerCapW = capNow
        await actuator.apply(policy.onCapChange(powerCapW, actuator.applied))
      }
      const sample = { timeMs, telemetry, powerCapW, applied: actuator.applied, reconfiguring }
      await actuator.apply(policy.onSample(sample))
    }
  } finally {
    ending.abort(new Error('the run is over'))
    await actuator.settle()
    try {
      await pool.stop()
    } finally {
      await lease.release()
    }
  }
}
