import type { ControlProgram } from './control-program.js'
import { MpsError } from './mps-errors.js'

export type ServerStatus = 'INITIALIZING' | 'ACTIVE' | 'FAULT' | 'UNKNOWN'

export interface MpsServer {
  readonly pid: number
  readonly status: ServerStatus
  /** Active thread percentage of new clients; null if the daemon does not report it. */
  readonly activeThreadPercentage: number | null
  /** Pids of its clients. */
  readonly clients: readonly number[]
}

/** Returns all servers with the daemon's information about each. @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT` */
export async function readServers(control: ControlProgram): Promise<MpsServer[]> {
  const servers: MpsServer[] = []
  for (const pid of pidsIn(await control.ask('get_server_list'))) {
    const status = await statusOf(control, pid)
    const percentage = Number((await control.ask(`get_active_thread_percentage ${pid}`))[0])
    const clients = pidsIn(await control.ask(`get_client_list ${pid}`))
    servers.push({
      pid,
      status,
      activeThreadPercentage: Number.isFinite(percentage) ? percentage : null,
      clients,
    })
  }
  return servers
}

/**
 * Returns the process ids among the lines of an answer. If a server has ended in the meantime, the daemon answers with
 * text instead.
 */
export function pidsIn(lines: readonly string[]): number[] {
  return lines.map((line) => Number(line.trim())).filter((pid) => Number.isInteger(pid) && pid > 0)
}

/**
 * Reads the state of a server.
 * @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT`
 */
export async function statusOf(control: ControlProgram, server: number): Promise<ServerStatus> {
  const answer = (await control.ask(`get_server_status ${server}`)).join(' ').toUpperCase()
  const word = /\b(INITIALIZING|ACTIVE|FAULT)\b/.exec(answer)?.[1]
  return (word as ServerStatus | undefined) ?? 'UNKNOWN'
}

/**
 * Changes a setting and reads it back.
 * @throws MpsError `MPS_REFUSED` unless the new value is read back
 */
export async function setAndVerify(
  control: ControlProgram,
  set: string,
  get: string,
  wanted: string | number,
): Promise<void> {
  await control.askIfKnown(set)
  const answer = (await control.askIfKnown(get)).join(' ').trim()
  if (!means(answer, wanted))
    throw new MpsError('MPS_REFUSED', `the MPS daemon accepted '${set}', but reads back '${answer}'`)
}

/**
 * Whether two values mean the same. The daemon may report a percentage with one decimal, and a memory limit in another
 * unit.
 */
function means(answer: string, wanted: string | number): boolean {
  if (typeof wanted === 'number') return answer !== '' && Math.abs(Number(answer) - wanted) < 0.06
  return answer !== '' && mebibytesOf(answer) === mebibytesOf(wanted)
}

/** `2G` equals `2048M`. */
function mebibytesOf(limit: string): number {
  const [, value, unit] = /^(\d+)\s*([MG])B?$/i.exec(limit) ?? []
  return Number(value) * (unit?.toUpperCase() === 'G' ? 1024 : 1)
}
