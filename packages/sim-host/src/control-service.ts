import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { FailureKind, SimulatedProcess } from '@pctodl/gpu-sim'
import { assertTenants, networkName, type Tenant, type TenantCounters } from '@pctodl/platform'
import type { Privilege } from './board-file-layout.js'
import type { HostBoard } from './host-board.js'

import type { HostMigDevice } from './host-mig.js'
import type { HostTenant } from './host-tenants.js'
import { onMessages, send } from './message-socket.js'
import { type MpsClient, MpsConnectionError, MpsDaemon } from './mps-daemon.js'
import { computeModes, nvmlReturn } from './nvml-return.js'

/** What the host's programs ask of the simulator, and what they get. */
export type ControlRequest =
  | { kind: 'set'; gpuIndex: number; operation: number; first: number; second: number; third?: number; uid: number }
  /** `visible` is the daemon's own `CUDA_VISIBLE_DEVICES`. */
  | { kind: 'mps-daemon'; pipeDirectory: string; visible?: string }
  | { kind: 'mps-command'; line: string }
  | { kind: 'attach'; pid: number; uid: number; name: string; gpu: string; pipeDirectory: string; tenant: Tenant }
  | { kind: 'counters' }
  | { kind: 'batch-size'; batchSize: number }

export interface SetReply {
  /** NVML return code. */
  readonly code: number
  /** The id of what was created, or the outcome of an activation. */
  readonly value: number
}

export interface AttachReply {
  /** 0, or the CUDA error that the process gets instead of a context. */
  readonly cudaError: number
  readonly message: string
  readonly isMpsClient: boolean
  readonly mpsPercent: number
}

export type CountersReply = TenantCounters & {
  /** 0, or what the process's next CUDA call returns. */
  readonly cudaError: number
  readonly failureKind?: FailureKind
}

const CUDA_DEVICES_UNAVAILABLE = 46
const CUDA_NO_DEVICE = 100
const CUDA_INVALID_DEVICE = 101

/** What a process that failed sees of it; one that was killed sees nothing. */
const failureCodes: Readonly<Record<FailureKind, number>> = {
  'out-of-memory': 2,
  killed: 0,
  'fatal-fault': 719,
  'mps-lost': 806,
  'gpu-lost': 999,
}

export interface ControlServiceOptions {
  readonly boards: readonly HostBoard[]
  readonly privilege: Privilege
  /** A process that stands for an MPS server. */
  startServer(): { readonly pid: number; stop(): void }
}

/** Answers `nvidia-smi`'s setters, the MPS daemon's commands, and processes that use a board. */
export class ControlService {
  readonly #options: ControlServiceOptions
  readonly #server: Server
  readonly #daemons = new Map<string, { readonly state: MpsDaemon; readonly visible: string; crash(): void }>()
  readonly #sockets = new Set<Socket>()

  constructor(options: ControlServiceOptions) {
    this.#options = options
    this.#server = createServer((socket) => this.#serve(socket))
  }

  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(path, resolve)
    })
    // As with the board files: the command of a privileged host may have dropped its privileges.
    if (process.geteuid?.() === 0) chmodSync(path, 0o666)
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  /**
   * Give a process its place on a board, as creating a CUDA context does.
   *
   * @throws MpsConnectionError with the CUDA error that the process would see
   */
  attach(request: Extract<ControlRequest, { kind: 'attach' }>, onTerminated: (cudaError: number) => void): Attachment {
    const mps = this.#daemons.get(request.pipeDirectory)
    const daemon = mps?.state
    const { board, device } = this.#place(mps ? visibleThrough(mps.visible, request.gpu) : request.gpu)
    assertTenants([request.tenant])
    networkName(request.tenant.model)
    const { computeMode } = board.setters
    const exclusive = computeMode === computeModes.EXCLUSIVE_PROCESS
    const present = board.tenants.on(device)
    if (
      computeMode === computeModes.PROHIBITED ||
      (exclusive && (daemon ? present.some((each) => !each.isMpsClient) : present.length > 0))
    ) {
      throw new MpsConnectionError(CUDA_DEVICES_UNAVAILABLE, 'all CUDA-capable devices are busy or unavailable')
    }
    let tenant: HostTenant | undefined
    const client: MpsClient = {
      pid: request.pid,
      deviceUuid: device?.uuid ?? board.identity.uuid,
      command: request.name,
      terminate: (cudaError) => {
        if (tenant) board.tenants.end(tenant)
        onTerminated(cudaError)
      },
    }
    board.shareThroughMps(daemon !== undefined, device)
    const server = daemon?.connect(request.uid, client)
    // Without MPS processes take turns on the whole board; with it, the tighter of the two limits counts.
    const mpsPercent = server ? Math.min(request.tenant.mpsPercent, server.activeThreadPercentage) : 100
    const work = { ...request.tenant, mpsPercent }
    const isMpsClient = server !== undefined
    const launched = board.tenants.launch({ pid: request.pid, name: request.name, isMpsClient, work, device })
    tenant = launched
    return {
      board,
      tenant: launched,
      mpsPercent,
      detach() {
        daemon?.disconnect(client)
        board.tenants.end(launched)
      },
    }
  }

  /** Let the host's own part of a board's faults happen: MPS daemons and servers are not the board's. */
  strike(board: HostBoard): void {
    for (const { kind, processId } of board.newFaults()) {
      // The daemon's process ends with its connection, and its clients lose their context.
      if (kind === 'mps-daemon-crash') for (const daemon of [...this.#daemons.values()]) daemon.crash()
      if (kind !== 'mps-server-fault') continue
      const struck = board.tenants.all.find(({ process }) => process.id === processId)
      if (struck) for (const { state } of this.#daemons.values()) state.fault(struck.pid)
    }
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    let daemon: { readonly pipeDirectory: string; readonly state: MpsDaemon } | undefined
    let attachment: Attachment | undefined
    let cudaError = 0
    const answer = async (request: ControlRequest): Promise<unknown> => {
      switch (request.kind) {
        case 'set':
          return this.#set(request)
        case 'mps-daemon': {
          if (this.#daemons.has(request.pipeDirectory)) return { accepted: false }
          const state = new MpsDaemon({ startServer: this.#options.startServer })
          daemon = { pipeDirectory: request.pipeDirectory, state }
          const { pipeDirectory, visible = '' } = request
          this.#daemons.set(pipeDirectory, { state, visible, crash: () => socket.destroy() })
          return { accepted: true }
        }
        case 'mps-command':
          return daemon ? daemon.state.command(request.line) : { output: '', quit: true }
        case 'attach':
          try {
            attachment = this.attach(request, (code) => {
              cudaError = code
            })
            const { mpsPercent, tenant } = attachment
            return { cudaError: 0, message: '', isMpsClient: tenant.isMpsClient, mpsPercent } satisfies AttachReply
          } catch (error) {
            const code = error instanceof MpsConnectionError ? error.cudaError : 1
            const message = error instanceof Error ? error.message : String(error)
            return { cudaError: code, message, isMpsClient: false, mpsPercent: 0 } satisfies AttachReply
          }
        case 'counters':
          return attachment ? countersReply(attachment.tenant.process, cudaError) : null
        case 'batch-size':
          if (attachment) attachment.board.tenants.setBatchSize(attachment.tenant, request.batchSize)
          return null
      }
    }
    // A `quit` may wait for clients for long: other requests of the same connection queue behind it, as with the daemon.
    let queue = Promise.resolve()
    onMessages(socket, (message) => {
      // What is no request, or cannot be done, ends the connection of whoever asked, and not the host.
      queue = queue
        .then(async () => send(socket, await answer(message as ControlRequest)))
        .catch(() => void socket.destroy())
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      attachment?.detach()
      if (!daemon) return
      this.#daemons.delete(daemon.pipeDirectory)
      daemon.state.abandon()
    })
  }

  async #set(request: Extract<ControlRequest, { kind: 'set' }>): Promise<SetReply> {
    const { gpuIndex, operation, first, second, third = 0, uid } = request
    const { privilege } = this.#options
    if (privilege === 'nobody' || (privilege === 'root' && uid !== 0)) {
      return { code: nvmlReturn.noPermission, value: 0 }
    }
    const board = this.#options.boards[gpuIndex]
    if (!board) return { code: nvmlReturn.invalidArgument, value: 0 }
    const { result, value } = await board.set(operation, first, second, third)
    return { code: result, value }
  }

  /**
   * What the first entry of `CUDA_VISIBLE_DEVICES` names: a board by index or UUID, a MIG device by UUID (either form). As
   * in CUDA, a board in MIG mode stands for its first device, and UUIDs may be shortened.
   */
  #place(gpu: string): { readonly board: HostBoard; readonly device: HostMigDevice | undefined } {
    const { boards } = this.#options
    const names = (uuid: string) => /^(GPU|MIG)-/.test(gpu) && uuid.startsWith(gpu)
    for (const board of boards) {
      const oldForm = ({ gpuInstanceId, computeInstanceId }: HostMigDevice) =>
        gpu === `MIG-${board.identity.uuid}/${gpuInstanceId}/${computeInstanceId}`
      const device = board.mig.devices.find((each) => names(each.uuid) || oldForm(each))
      if (device) return { board, device }
    }
    const board = boards.find((each, index) => names(each.identity.uuid) || String(index) === gpu)
    if (!board) throw new MpsConnectionError(CUDA_INVALID_DEVICE, `invalid device ordinal '${gpu}'`)
    if (!board.mig.enabled) return { board, device: undefined }
    const [device] = board.mig.devices
    if (!device) throw new MpsConnectionError(CUDA_NO_DEVICE, 'no CUDA-capable device is detected')
    return { board, device }
  }
}

/**
 * What a client that asks for a board gets through a daemon with a choice of its own: the daemon's boards are numbered anew, from 0,
 * and no other is to be had.
 *
 * @param visible the daemon's `CUDA_VISIBLE_DEVICES`; empty for all boards
 * @throws MpsConnectionError for a board that the daemon does not show
 */
function visibleThrough(visible: string, wanted: string): string {
  const shown = visible.split(',').filter((name) => name !== '')
  if (shown.length === 0) return wanted
  const found = /^\d+$/.test(wanted) ? shown[Number(wanted)] : shown.find((name) => name.startsWith(wanted))
  if (found === undefined) {
    throw new MpsConnectionError(CUDA_NO_DEVICE, `the MPS daemon does not show the device '${wanted}'`)
  }
  return found
}

function countersReply({ counters, failureKind }: SimulatedProcess, terminated: number): CountersReply {
  const cudaError = terminated || (failureKind ? failureCodes[failureKind] : 0)
  return { ...counters, cudaError, ...(failureKind ? { failureKind } : {}) }
}

export interface Attachment {
  readonly board: HostBoard
  readonly tenant: HostTenant
  readonly mpsPercent: number
  detach(): void
}
