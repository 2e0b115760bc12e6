import type { MpsDaemon } from '@pctodl/mps-control'
import { clientEnvironment } from '@pctodl/mps-control'
import type { NvmlGpu, ServiceLease } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { MpsMembership } from '@pctodl/tenants'

/** An MPS daemon for our tenants. */
export interface OpenedMps extends MpsMembership {
  /** Its owner, in words. */
  readonly description: string
  /** True while this process may use the daemon. A daemon of a board lease ends with that lease. */
  isOpen(): boolean
  /** @param graceMs time for clients to exit, ms */
  close(graceMs?: number): Promise<void>
}

/**
 * Opens the node service's daemon if the service holds the board's lease for this process; that daemon ends with the
 * lease. Otherwise starts a daemon of this user.
 *
 * @param onMessage receives a message that names the daemon, and the reason if the service refused
 */
export async function openMps(gpu: NvmlGpu, daemon: MpsDaemon, onMessage: (text: string) => void): Promise<OpenedMps> {
  const lease = gpu.serviceLease
  let opened: OpenedMps
  if (lease === null) opened = await openOwn(daemon, gpu.device.uuid)
  else {
    try {
      opened = await openServed(lease)
    } catch (error) {
      if (!(error instanceof PctodlError && error.code === 'NOT_ALLOWED')) throw error
      onMessage(`MPS: ${error.message}`)
      opened = await openOwn(daemon, gpu.device.uuid)
    }
  }
  onMessage(`MPS: ${opened.description}`)
  return opened
}

async function openServed(lease: ServiceLease): Promise<OpenedMps> {
  const { pipeDirectory, logDirectory } = await lease.startMps()
  const place = { environment: { CUDA_MPS_PIPE_DIRECTORY: pipeDirectory, CUDA_MPS_LOG_DIRECTORY: logDirectory } }
  return {
    description: "the node service's daemon",
    clientEnvironment: (percent) => clientEnvironment(place, percent),
    verifyClient: (pid) => lease.verifyMpsClient(pid),
    isOpen: () => lease.isHeld,
    async close(graceMs = 10_000) {
      if (lease.isHeld) await lease.stopMps(graceMs)
    },
  }
}

/** Starts a daemon of this user. First ends an idle daemon that a killed run of this user left behind. */
async function openOwn(daemon: MpsDaemon, deviceUuid: string): Promise<OpenedMps> {
  await endLeftover(daemon)
  await daemon.start({ deviceUuids: [deviceUuid] })
  return {
    description: 'a daemon of our own',
    clientEnvironment: (percent) => daemon.clientEnvironment(percent),
    verifyClient: (pid) => daemon.verifyClient(pid),
    isOpen: () => true,
    close: async (graceMs) => void (await daemon.stop(graceMs === undefined ? {} : { graceMs })),
  }
}

/** @throws PctodlError `MPS_IN_USE` if another run of this user has clients */
async function endLeftover(daemon: MpsDaemon): Promise<void> {
  const { isOurs, servers } = await daemon.status()
  if (!isOurs) return
  const clients = servers.flatMap((server) => server.clients)
  if (clients.length > 0) {
    throw new PctodlError(
      'MPS_IN_USE',
      `the MPS daemon at ${daemon.place.pipeDirectory} has ${clients.length} clients of another run; end that run first`,
    )
  }
  await daemon.stop()
}
