import type { BoardProcess, TenantPlace } from '@pctodl/platform'
import { type Observation, tenantRates } from './observation.js'
import type { ProfileRow } from './profile-row.js'
import type { RowFailure } from './row-status.js'

export type Provenance = Pick<ProfileRow, 'boardProcesses' | 'devices' | 'batches'>

/**
 * Processes that were on the board at any time in the measuring window, and for each tenant its device and its number
 * of completed batches.
 */
export function provenanceOf(start: Observation, window: readonly Observation[]): Provenance {
  const seen = [start, ...window]
  const end = window.at(-1)!
  return {
    boardProcesses: processesOf(seen).map(wordsFor).join(', '),
    devices: end.occupancy?.tenants.map(({ device }) => device) ?? [],
    batches: tenantRates(start, end).map(({ batches }) => batches),
  }
}

/**
 * Returns a failure if a process that is not a tenant was on the board during the observations, or if a tenant ran on
 * another device; undefined if nothing suggests it.
 */
export function intrusionOf(observations: readonly Observation[]): RowFailure | undefined {
  const foreign = processesOf(observations).filter(({ isOurs }) => isOurs === false)
  if (foreign.length > 0) {
    return { status: 'foreign', message: `not ours and on the board: ${foreign.map(wordsFor).join(', ')}` }
  }
  const astray = placesOf(observations).find(({ isOnBoard }) => isOnBoard === false)
  if (!astray) return undefined
  return { status: 'wrong-device', message: `process ${astray.pid} infers on ${astray.device}, not on this board` }
}

/**
 * Returns a failure that says which process the driver did not identify, or which tenant it did not list; undefined if
 * it reported all.
 */
export function untoldOf(observations: readonly Observation[]): RowFailure | undefined {
  const strange = processesOf(observations).filter(({ isOurs }) => isOurs === null)
  if (strange.length > 0) {
    const pids = strange.map(({ pid }) => pid).join(', ')
    return { status: 'unknown', message: `on the board and not to be seen from here, so perhaps not ours: ${pids}` }
  }
  const untold = placesOf(observations.slice(-1)).find(({ isOnBoard }) => isOnBoard === null)
  if (!untold) return undefined
  return { status: 'unknown', message: `the driver does not list process ${untold.pid} on any board` }
}

function processesOf(observations: readonly Observation[]): BoardProcess[] {
  const byPid = new Map<number, BoardProcess>()
  for (const { occupancy } of observations) {
    for (const process of occupancy?.processes ?? []) {
      // A process may end after the driver lists it and before it is looked up. An earlier look-up of the same process
      // stays valid.
      if (process.isOurs !== null || !byPid.has(process.pid)) byPid.set(process.pid, process)
    }
  }
  return [...byPid.values()]
}

function placesOf(observations: readonly Observation[]): readonly TenantPlace[] {
  return observations.flatMap(({ occupancy }) => occupancy?.tenants ?? [])
}

function wordsFor({ pid, name, isOurs }: BoardProcess): string {
  return `${pid} ${name ?? '?'} (${isOurs === null ? 'unknown' : isOurs ? 'ours' : 'foreign'})`
}
