import { defaultMpsFolder, MpsDaemon, type MpsPlace, type MpsStatus, mpsPlaces } from '@pctodl/mps-control'
import { PctodlError } from '@pctodl/platform'
import type { Leftover, Leftovers } from './leftover.js'

export interface LeftDaemonOptions {
  /** Folder that contains the daemons' folders. Default: `defaultMpsFolder()` of mps-control. */
  readonly mpsDir?: string
  /** Whether a run of this user holds a board now. An MPS daemon then belongs to that run. */
  readonly runGoesOn: boolean
  /** Processes that end before the daemon, so that they do not count as its clients. */
  readonly endedFirst: ReadonlySet<number>
}

/**
 * Finds unused MPS daemons in this project's folders, and files of dead daemons. A daemon that another user started, or
 * that has clients, is left alone. So is a folder to which others can write.
 */
export async function leftDaemons({ mpsDir, runGoesOn, endedFirst }: LeftDaemonOptions): Promise<Leftovers> {
  const folder = mpsDir ?? defaultMpsFolder()
  const all: Leftovers[] = []
  try {
    for (const place of mpsPlaces(folder)) all.push(await leftDaemon(place, { runGoesOn, endedFirst }))
  } catch (error) {
    // Without a private folder or a control program, boards and workers can still be cleaned up.
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
  // Without a pipe or a pid file there is no daemon to ask, and the control program may not be installed.
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
  if (!isOurs) return 'another user started it'
  const clients = servers.flatMap((server) => server.clients).filter((pid) => !endedFirst.has(pid))
  if (clients.length > 0) return `processes ${clients.join(', ')} are its clients; end them, or \`pctodl mps stop\``
  return runGoesOn ? 'a run holds a board now, and may be about to use it' : null
}
