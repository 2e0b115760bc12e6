import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { assertTenants, type Tenant, type TenantCounters } from '@pctodl/platform'
import { networkWork } from '../network-work.js'
import type { Privilege } from './board-file-layout.js'
import type { HostBoard } from './host-board.js'
import type { HostTenant } from './host-tenants.js'
import { onMessages, send } from './message-socket.js'
import { type MpsClient, MpsConnectionError, MpsDaemon } from './mps-daemon.js'
import { computeModes, nvmlReturn } from './nvml-return.js'

/** What the host's programs ask of the simulator, and what they get. */
export type ControlRequest =
  | { kind: 'set'; gpuIndex: number; operation: number; first: number; second: number; uid: number }
  | { kind: 'mps-daemon'; pipeDirectory: string }
  | { kind: 'mps-command'; line: string }
  | { kind: 'attach'; pid: number; uid: number; name: string; gpu: string; pipeDirectory: string; tenant: Tenant }
  | { kind: 'counters' }
  | { kind: 'batch-size'; batchSize: number }

export interface SetReply {
  readonly code: number
}

export interface AttachReply {
  /** 0, or the CUDA error that the process gets instead of a context. */
  readonly cudaError: number
  readonly message: string
  readonly isMpsClient: boolean
  readonly mpsPercent: number
}

export type CountersReply = TenantCounters & { readonly cudaError: number }

const CUDA_DEVICES_UNAVAILABLE = 46
const CUDA_MPS_CLIENT_TERMINATED = 810

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
  readonly #daemons = new Map<string, MpsDaemon>()
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
  attach(request: Extract<ControlRequest, { kind: 'attach' }>, onTerminated: () => void): Attachment {
    const board = this.#board(request.gpu)
    assertTenants([request.tenant])
    networkWork(request.tenant.model)
    const daemon = this.#daemons.get(request.pipeDirectory)
    const { computeMode } = board.setters
    const exclusive = computeMode === computeModes.EXCLUSIVE_PROCESS
    if (
      computeMode === computeModes.PROHIBITED ||
      (exclusive && (daemon ? board.tenants.anyOutsideMps : board.tenants.count > 0))
    ) {
      throw new MpsConnectionError(CUDA_DEVICES_UNAVAILABLE, 'all CUDA-capable devices are busy or unavailable')
    }
    let tenant: HostTenant | undefined
    const client: MpsClient = {
      pid: request.pid,
      deviceUuid: board.identity.uuid,
      command: request.name,
      terminate: () => {
        if (tenant) board.tenants.end(tenant)
        onTerminated()
      },
    }
    board.shareThroughMps(daemon !== undefined)
    const server = daemon?.connect(request.uid, client)
    // Without MPS processes take turns on the whole board; with it, the tighter of the two limits counts.
    const mpsPercent = server ? Math.min(request.tenant.mpsPercent, server.activeThreadPercentage) : 100
    tenant = board.tenants.launch(request.pid, request.name, server !== undefined, { ...request.tenant, mpsPercent })
    const launched = tenant
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

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    let daemon: { readonly pipeDirectory: string; readonly state: MpsDaemon } | undefined
    let attachment: Attachment | undefined
    let cudaError = 0
    const answer = async (request: ControlRequest): Promise<unknown> => {
      switch (request.kind) {
        case 'set':
          return { code: await this.#set(request) } satisfies SetReply
        case 'mps-daemon': {
          if (this.#daemons.has(request.pipeDirectory)) return { accepted: false }
          const state = new MpsDaemon({ startServer: this.#options.startServer })
          daemon = { pipeDirectory: request.pipeDirectory, state }
          this.#daemons.set(request.pipeDirectory, state)
          return { accepted: true }
        }
        case 'mps-command':
          return daemon ? daemon.state.command(request.line) : { output: '', quit: true }
        case 'attach':
          try {
            attachment = this.attach(request, () => {
              cudaError = CUDA_MPS_CLIENT_TERMINATED
            })
            const { mpsPercent, tenant } = attachment
            return { cudaError: 0, message: '', isMpsClient: tenant.isMpsClient, mpsPercent } satisfies AttachReply
          } catch (error) {
            const code = error instanceof MpsConnectionError ? error.cudaError : 1
            const message = error instanceof Error ? error.message : String(error)
            return { cudaError: code, message, isMpsClient: false, mpsPercent: 0 } satisfies AttachReply
          }
        case 'counters':
          return attachment ? ({ ...attachment.tenant.process.counters, cudaError } satisfies CountersReply) : null
        case 'batch-size':
          if (attachment) attachment.board.tenants.setBatchSize(attachment.tenant, request.batchSize)
          return null
      }
    }
    // A `quit` may wait for clients for long: other requests of the same connection queue behind it, as with the daemon.
    let queue = Promise.resolve()
    onMessages(socket, (message) => {
      queue = queue.then(async () => send(socket, await answer(message as ControlRequest)))
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

  async #set({ gpuIndex, operation, first, second, uid }: Extract<ControlRequest, { kind: 'set' }>): Promise<number> {
    const { privilege } = this.#options
    if (privilege === 'nobody' || (privilege === 'root' && uid !== 0)) return nvmlReturn.noPermission
    const board = this.#options.boards[gpuIndex]
    return board ? board.set(operation, first, second) : nvmlReturn.invalidArgument
  }

  /** A board by index or UUID. */
  #board(gpu: string): HostBoard {
    const { boards } = this.#options
    const board = boards.find((each, index) => each.identity.uuid === gpu || String(index) === gpu)
    if (!board) throw new MpsConnectionError(101, `invalid device ordinal '${gpu}'`)
    return board
  }
}

export interface Attachment {
  readonly board: HostBoard
  readonly tenant: HostTenant
  readonly mpsPercent: number
  detach(): void
}
