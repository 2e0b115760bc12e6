import { defaultMpsFolder, MpsDaemon, type MpsPlace, type MpsStatus, mpsPlaces } from '@pctodl/mps-control'
import { PctodlError } from '@pctodl/platform'
import type { Leftover, Leftovers } from './leftover.js'

export interface LeftDaemonOptions {
  /** The folder of the daemons' places. Default: `defaultMpsFolder()` of mps-control. */
  readonly mpsDir?: string
  /** Whether a run of ours holds a board now: then the daemon is that run's. */
  readonly runGoesOn: boolean
  /** Processes that will have ended before the daemon is: no clients that matter. */
  readonly endedFirst: ReadonlySet<number>
}

/**
 * MPS daemons at our places that nobody uses any more, and the files of those that have died. A daemon that somebody else has
 * started, or that still has clients, is left alone, and so is every place in which somebody else could have a hand.
 */
export async function leftDaemons({ mpsDir, runGoesOn, endedFirst }: LeftDaemonOptions): Promise<Leftovers> {
  const folder = mpsDir ?? defaultMpsFolder()
  const all: Leftovers[] = []
  try {
    for (const place of mpsPlaces(folder)) all.push(await leftDaemon(place, { runGoesOn, endedFirst }))
  } catch (error) {
    // A folder that is not ours alone, or no control program to ask: the boards and workers can be cleaned up all the same.
    if (!(error instanceof PctodlError && ['MPS_FOLDER', 'MPS_NO_PROGRAM'].includes(error.code))) throw error
    all.push({ leftovers: [], leftAlone: [{ what: `MPS daemons in ${folder}`, why: error.message }] })
  }
  return {
    leftovers: all.flatMap(({ leftovers }) => leftovers),
    leftAlone: all.flatMap(({ leftAlone }) => leftAlone),
  }
}

async function leftDaemon(
  place: MpsPlace,
  { runGoesOn, endedFirst }: Omit<LeftDaemonOptions, 'mpsDir'>,
): Promise<Leftovers> {
  const mps = new MpsDaemon({ directory: place.directory })
  // Without a trace of a daemon there is nobody to ask, and the control program may not even be installed.
  if (!place.hasPipe() && place.pidInFile() === null) return { leftovers: [], leftAlone: [] }
  const status = await mps.status()
  const remove = async () => {
    const how = await mps.stop({ graceMs: 2000 })
    return how === 'not-running' ? 'removed' : `ended (${how})`
  }
  if (status.daemon === null) return withoutProcess(status, remove)
  const what = `MPS daemon ${status.daemon.pid} at ${place.pipeDirectory}`
  const why = whyLeftAlone(status, runGoesOn, endedFirst)
  if (why !== null) return { leftovers: [], leftAlone: [{ what, why }] }
  return { leftovers: [{ kind: 'mps-daemon', what: `${what}, without clients`, remove }], leftAlone: [] }
}

function withoutProcess({ state, pipeDirectory }: MpsStatus, remove: Leftover['remove']): Leftovers {
  const what = `MPS daemon at ${pipeDirectory}`
  if (state !== 'stopped') {
    return { leftovers: [], leftAlone: [{ what, why: 'it answers from another pid namespace' }] }
  }
  return { leftovers: [{ kind: 'mps-daemon', what: `files of a dead ${what}`, remove }], leftAlone: [] }
}

function whyLeftAlone(
  { isOurs, servers }: MpsStatus,
  runGoesOn: boolean,
  endedFirst: ReadonlySet<number>,
): string | null {
  if (!isOurs) return 'somebody else has started it'
  const clients = servers.flatMap((server) => server.clients).filter((pid) => !endedFirst.has(pid))
  if (clients.length > 0) return `processes ${clients.join(', ')} are its clients; end them, or \`pctodl mps stop\``
  return runGoesOn ? 'a run holds a board now, and may be about to use it' : null
}
