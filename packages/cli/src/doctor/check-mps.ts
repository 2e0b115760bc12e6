import { ControlProgram, MpsDaemon, MpsError } from '@pctodl/mps-control'
import { absent, broken, type Finding, ok } from './finding.js'

/** Checks NVIDIA's MPS control program, and the daemon in this project's folder. */
export async function checkMps(): Promise<Finding> {
  const check = 'MPS'
  const daemon = new MpsDaemon()
  try {
    const version = await new ControlProgram(daemon.place).version()
    const { state, reason, isOurs, servers } = await daemon.status()
    if (state === 'fault') return broken(check, reason ?? 'in fault', 'run `pctodl cleanup`, or `pctodl mps stop`')
    const clients = servers.reduce((sum, server) => sum + server.clients.length, 0)
    const runs = state === 'stopped' ? 'no daemon runs' : `a daemon runs with ${clients} clients`
    const whose = state === 'stopped' || isOurs ? '' : ', started by another user'
    return ok(check, `${version}; ${runs} at ${daemon.place.pipeDirectory}${whose}`)
  } catch (error) {
    if (!(error instanceof MpsError)) throw error
    return error.code === 'MPS_NO_PROGRAM'
      ? absent(
          check,
          'no nvidia-cuda-mps-control on PATH',
          'for real tenants with shares: it comes with the driver (Debian, Ubuntu: apt install nvidia-cuda-mps)',
        )
      : broken(check, error.message, 'see `pctodl mps doctor`')
  }
}
