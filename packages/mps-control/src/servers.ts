import type { ControlProgram } from './control-program.js'
import { MpsError } from './mps-errors.js'

export type ServerStatus = 'INITIALIZING' | 'ACTIVE' | 'FAULT' | 'UNKNOWN'

export interface MpsServer {
  readonly pid: number
  readonly status: ServerStatus
  /** Active thread percentage that new clients get; null where the daemon does not tell. */
  readonly activeThreadPercentage: number | null
  /** Pids of its clients. */
  readonly clients: readonly number[]
}

/** All servers, with what the daemon tells of each. @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT` */
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

/** Lines that are process ids; a server that has gone meanwhile answers with words. */
export function pidsIn(lines: readonly string[]): number[] {
  return lines.map((line) => Number(line.trim())).filter((pid) => Number.isInteger(pid) && pid > 0)
}

/** @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT` */
export async function statusOf(control: ControlProgram, server: number): Promise<ServerStatus> {
  const answer = (await control.ask(`get_server_status ${server}`)).join(' ').toUpperCase()
  const word = /\b(INITIALIZING|ACTIVE|FAULT)\b/.exec(answer)?.[1]
  return (word as ServerStatus | undefined) ?? 'UNKNOWN'
}

/** @throws MpsError `MPS_REFUSED` unless a value that was set reads back */
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

/** Percentages come back with one digit, memory limits perhaps in the other unit. */
function means(answer: string, wanted: string | number): boolean {
  if (typeof wanted === 'number') return answer !== '' && Math.abs(Number(answer) - wanted) < 0.06
  return answer !== '' && mebibytesOf(answer) === mebibytesOf(wanted)
}

/** `2G` and `2048M` alike. */
function mebibytesOf(limit: string): number {
  const [, value, unit] = /^(\d+)\s*([MG])B?$/i.exec(limit) ?? []
  return Number(value) * (unit?.toUpperCase() === 'G' ? 1024 : 1)
}
