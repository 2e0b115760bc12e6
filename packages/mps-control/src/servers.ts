import type { ControlProgram } from './control-program.js'

export type ServerStatus = 'INITIALIZING' | 'ACTIVE' | 'FAULT' | 'UNKNOWN'

export interface MpsServer {
  readonly pid: number
  readonly status: ServerStatus
  /** Active thread percentage of new clients; null if the daemon does not report it. */
  readonly activeThreadPercentage: number | null
  readonly clients: readonly number[]
}

/** Returns all servers with the daemon's information about each. @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT` */
export async function readServers(control: ControlProgram): Promise<MpsServer[]> {
  const servers: MpsServer[] = []
  for (const pid of pidsIn(await control.ask('get_server_list'))) {
    const status = await statusOf(control, pid)
    const percentage = Number((await control.ask(`get_active_thread_percentage ${pid}`))[0])
    const activeThreadPercentage = Number.isFinite(percentage) ? percentage : null
    servers.push({ pid, status, activeThreadPercentage, clients: pidsIn(await control.ask(`get_client_list ${pid}`)) })
  }
  return servers
}

/** If a server has ended in the meantime, the daemon answers with text instead of pids. */
export function pidsIn(lines: readonly string[]): number[] {
  return lines.map((line) => Number(line.trim())).filter((pid) => Number.isInteger(pid) && pid > 0)
}

export async function statusOf(control: ControlProgram, server: number): Promise<ServerStatus> {
  const answer = (await control.ask(`get_server_status ${server}`)).join(' ').toUpperCase()
  const word = /\b(INITIALIZING|ACTIVE|FAULT)\b/.exec(answer)?.[1]
  return (word as ServerStatus | undefined) ?? 'UNKNOWN'
}
