import type { Backend } from '@pctodl/backend'
import { PctodlError } from '@pctodl/platform'
import type { PlannedRow } from '../plan/profile-plan.js'

/** Time limit of the whole preflight, ms. */
const LIMIT_MS = 20_000

/** The parts of a proof that this host can measure, found by trying each. */
export interface Preflight {
  /** Whether a process can run a network on the board. Workers that use PyTorch need torch and CUDA. */
  readonly tenants: Finding
  /** Whether the MPS daemon starts, serves a client and stops. */
  readonly mps: Finding
  /** Whether the driver reports the processes on the board. */
  readonly pids: Finding
  readonly energyCounter: Finding
  readonly powerSensor: Finding
  /** Whether clocks can be locked. This is tried only with `allowSettings`. */
  readonly settings: Finding
}

export interface Finding {
  readonly works: boolean
  readonly because: string
}

const works = (because: string): Finding => ({ works: true, because })
const slow = works(`no process was ready within ${LIMIT_MS / 1000} s; rows will be tried`)
const missing = (because: string): Finding => ({ works: false, because })

/** Name of each finding in the printed table. */
export const preflightWords: Readonly<Record<keyof Preflight, string>> = {
  tenants: 'inference on the board',
  mps: 'MPS daemon: start, client, stop',
  pids: 'processes visible',
  energyCounter: 'energy counter',
  powerSensor: 'power reading',
  settings: 'clocks may be set',
}

/**
 * Tries each part on the host.
 *
 * @param reopen opens the board without MPS, if the MPS daemon does not start
 */
export async function examine(
  backend: Backend,
  options: { readonly mps: boolean; readonly allowSettings: boolean; readonly signal: AbortSignal },
  reopen: () => Promise<Backend>,
): Promise<{ readonly backend: Backend; readonly preflight: Preflight }> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(LIMIT_MS)])
  const settings = await trySettings(backend, options.allowSettings)
  // Sensors have no reading directly after a board is opened.
  await backend.clock.sleep(500, options.signal)
  const { powerAverageW, powerInstantW, energyJ } = await backend.gpu.sample()
  const fields = [powerAverageW === null ? '' : 'average', powerInstantW === null ? '' : 'instant'].filter(Boolean)
  const board = {
    settings,
    powerSensor: fields.length > 0 ? works(fields.join(' and ')) : missing('the driver gives no power'),
    energyCounter: energyJ === null ? missing('the driver gives no energy') : works('in joules'),
  }
  let current = backend
  let mps = missing('left out on request')
  for (let isShared = options.mps; ; isShared = false) {
    const found = (tried: Pick<Preflight, 'tenants' | 'pids'>) => ({
      backend: current,
      preflight: { ...board, ...tried, mps: isShared ? tried.tenants : mps },
    })
    try {
      return found(await tryTenant(current, signal))
    } catch (error) {
      options.signal.throwIfAborted()
      // A timeout means that the MPS daemon started: another failure would give another error. Only the first process
      // starts slowly.
      if (isTimeout(error)) return found({ tenants: slow, pids: slow })
      const because = missing(reasonOf(error))
      if (!isShared) return found({ tenants: because, pids: because })
      mps = because
      await current.close()
      current = await reopen()
    }
  }
}

/** The reason why a row cannot be measured on this host; undefined if it can. */
export function whyNot({ tenants, mps, settings }: Preflight, row: PlannedRow): string | undefined {
  if (row.smClockMhz !== null && !settings.works) return `clocks cannot be set: ${settings.because}`
  if (row.tenants.length === 0) return undefined
  if (!tenants.works) return tenants.because
  const isShared = row.tenants.length > 1 || row.tenants[0]!.mpsPercent < 100
  return isShared && !mps.works ? `no MPS: ${mps.because}` : undefined
}

async function tryTenant(
  { tenants, occupancy, clock }: Backend,
  signal: AbortSignal,
): Promise<Pick<Preflight, 'tenants' | 'pids'>> {
  try {
    await tenants.apply([{ model: 'resnet50', mpsPercent: 50, batchSize: 1 }], { signal })
    await clock.sleep(500, signal)
    const [counters] = tenants.counters()
    const place = occupancy?.().tenants[0]
    if (counters === undefined || counters.state === 'failed') {
      const because = counters?.failure ?? 'no process'
      return { tenants: missing(because), pids: missing('no process to look for') }
    }
    if (place?.isOnBoard === false) {
      return { tenants: missing(`inference runs on ${place.device}, not on this board`), pids: works('listed') }
    }
    const hidden = 'the driver does not list our process; rows are kept with status unknown'
    return {
      tenants: works(place?.device ?? 'simulated'),
      pids: place?.isOnBoard === null ? missing(hidden) : works(occupancy ? 'listed' : 'no other process can be there'),
    }
  } finally {
    await tenants.stop()
  }
}

async function trySettings({ gpu }: Backend, isAllowed: boolean): Promise<Finding> {
  if (!isAllowed) return missing('not asked for (--allow-settings)')
  try {
    const lease = await gpu.acquire()
    try {
      await lease.lockSmClock(gpu.spec.clockStates[0]!.smClocksMhz.at(-1)!)
    } finally {
      await lease.release()
    }
    return works('locked and put back')
  } catch (error) {
    return missing(reasonOf(error))
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

function reasonOf(error: unknown): string {
  if (error instanceof PctodlError) return error.message
  throw error
}
