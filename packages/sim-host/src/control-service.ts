import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { type FailureKind, loadName, type SimulatedProcess } from '@pctodl/gpu-sim'
import { assertTenants, PctodlError, reasonOf, systemClock } from '@pctodl/platform'
import type { SetterAnswer } from './board-file.js'
import type { Privilege } from './board-file-layout.js'
import {
  type AttachReply,
  type AttachRequest,
  type BoardsReply,
  CONTROL_PROTOCOL,
  type ControlRequest,
  type CountersReply,
  parseControlRequest,
  type StepReply,
} from './control-protocol.js'
import type { HostBoard } from './host-board.js'
import type { HostMigDevice } from './host-mig.js'
import type { HostTenant } from './host-tenants.js'
import { onMessages, send } from './message-socket.js'
import { type MpsClient, MpsConnectionError, MpsDaemon, type StartServer } from './mps-daemon.js'
import { computeModes, nvmlReturn } from './nvml-return.js'

const MAX_CONNECTIONS = 256
const MAX_UNANSWERED = 256

const CUDA_INVALID_VALUE = 1
const CUDA_DEVICES_UNAVAILABLE = 46
const CUDA_NO_DEVICE = 100
const CUDA_INVALID_DEVICE = 101

/** CUDA error that a process gets when it fails, by kind of failure. A killed process gets none. */
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
  readonly startServer: StartServer
}

/**
 * Serves the programs of the host: requests of `nvidia-smi` to change a setting, commands of the MPS daemon, and
 * requests of processes that use a board.
 */
export class ControlService {
  readonly #options: ControlServiceOptions
  readonly #servers: readonly Server[]
  readonly #daemons = new Map<string, { readonly state: MpsDaemon; readonly visible: string; crash(): void }>()
  readonly #sockets = new Set<Socket>()

  constructor(options: ControlServiceOptions) {
    this.#options = options
    this.#servers = [false, true].map((maySet) => createServer((socket) => this.#serve(socket, maySet)))
    for (const server of this.#servers) server.maxConnections = MAX_CONNECTIONS
  }

  /**
   * Opens the two sockets.
   *
   * @param setters path of the socket for requests that change a board; only permitted users can open it
   */
  async listen(path: string, setters: string): Promise<void> {
    for (const [i, each] of [path, setters].entries()) {
      await new Promise<void>((resolve, reject) => {
        this.#servers[i]!.once('error', reject)
        this.#servers[i]!.listen(each, resolve)
      })
    }
    if (process.geteuid?.() !== 0) return
    // A command that root starts may drop its privileges, but must still reach this socket.
    chmodSync(path, 0o666)
    chmodSync(setters, this.#options.privilege === 'everyone' ? 0o666 : 0o600)
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    for (const server of this.#servers) server.close()
  }

  /**
   * Attaches a process to a board, as the creation of a CUDA context does.
   *
   * @throws MpsConnectionError with the CUDA error that the process would get
   */
  attach(request: AttachRequest, onTerminated: (cudaError: number) => void): Attachment {
    const mps = this.#daemons.get(request.pipeDirectory)
    const daemon = mps?.state
    const { board, device } = this.#place(mps ? visibleThrough(mps.visible, request.gpu) : request.gpu)
    assertTenants([request.tenant])
    const model = request.work ? board.tenants.addWork(request.work) : loadName(request.tenant.model)
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
    // Without MPS, processes time-slice the whole board. With MPS, the lower of the client's and the server's limits
    // applies.
    const mpsPercent = server ? Math.min(request.tenant.mpsPercent, server.activeThreadPercentage) : 100
    const work = { ...request.tenant, model, mpsPercent }
    const isMpsClient = server !== undefined
    const { pid, name, stepwise } = request
    const launched = board.tenants.launch({ pid, name, isMpsClient, work, device, stepwise })
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

  /**
   * Applies a board's faults that affect MPS daemons and servers, because the simulated board does not contain these.
   */
  strike(board: HostBoard): void {
    for (const { kind, processId } of board.newFaults()) {
      // The daemon process ends when its connection closes; its clients lose their contexts.
      if (kind === 'mps-daemon-crash') for (const daemon of [...this.#daemons.values()]) daemon.crash()
      if (kind !== 'mps-server-fault') continue
      const struck = board.tenants.all.find(({ process }) => process.id === processId)
      if (struck) for (const { state } of this.#daemons.values()) state.fault(struck.pid)
    }
  }

  #serve(socket: Socket, maySet: boolean): void {
    this.#sockets.add(socket)
    let daemon: { readonly pipeDirectory: string; readonly state: MpsDaemon } | undefined
    let attachment: Attachment | undefined
    let cudaError = 0
    const answer = async (request: ControlRequest): Promise<unknown> => {
      switch (request.kind) {
        case 'set':
          if (!maySet) throw new PctodlError('NO_PERMISSION', 'boards are changed through the socket of those who may')
          return this.#set(request)
        case 'mps-daemon': {
          if (this.#daemons.has(request.pipeDirectory)) return { accepted: false }
          const state = new MpsDaemon(this.#options.startServer)
          daemon = { pipeDirectory: request.pipeDirectory, state }
          const { pipeDirectory, visible = '' } = request
          this.#daemons.set(pipeDirectory, { state, visible, crash: () => socket.destroy() })
          return { accepted: true }
        }
        case 'mps-command':
          return daemon ? daemon.state.command(request.line) : { output: '', quit: true }
        case 'attach':
          if (attachment) throw new PctodlError('IN_USE', 'this connection has its place; open another one')
          try {
            attachment = this.attach(request, (code) => {
              cudaError = code
            })
            const { mpsPercent, tenant } = attachment
            const { isMpsClient } = tenant
            return {
              protocol: CONTROL_PROTOCOL,
              cudaError: 0,
              message: '',
              isMpsClient,
              mpsPercent,
            } satisfies AttachReply
          } catch (error) {
            const refusal = { protocol: CONTROL_PROTOCOL, isMpsClient: false, mpsPercent: 0 }
            return { ...refusal, ...cudaRefusal(error) } satisfies AttachReply
          }
        case 'step':
          return this.#step(attachment, request.batchSize, () => cudaError)
        case 'boards': {
          const boards = await Promise.all(this.#options.boards.map((board) => board.reading()))
          return { protocol: CONTROL_PROTOCOL, timeMs: systemClock.now(), boards } satisfies BoardsReply
        }
        case 'counters':
          return attachment ? countersReply(attachment.tenant.process, cudaError) : null
        case 'batch-size':
          if (attachment) attachment.board.tenants.setBatchSize(attachment.tenant, request.batchSize)
          return null
      }
    }
    // Requests of one connection are answered in order. So a `quit` that waits for MPS clients delays later requests,
    // as with the real daemon.
    let queue = Promise.resolve()
    let unanswered = 0
    onMessages(socket, (message) => {
      if (++unanswered > MAX_UNANSWERED) return void socket.destroy()
      queue = queue
        .then(async () => send(socket, await answer(parseControlRequest(message))))
        // An invalid or failed request closes only the connection that sent it.
        .catch((error: unknown) => {
          if (error instanceof PctodlError) send(socket, { error: error.message })
          socket.end()
        })
        .finally(() => unanswered--)
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

  async #step(attachment: Attachment | undefined, batchSize: number, terminated: () => number): Promise<StepReply> {
    if (!attachment) throw new PctodlError('NOT_ATTACHED', 'attach before a step')
    const { board, tenant } = attachment
    try {
      return { cudaError: 0, message: '', durationMs: await board.tenants.step(tenant, batchSize) }
    } catch (error) {
      const { cudaError, failure } = countersReply(tenant.process, terminated())
      return { ...(cudaError ? { cudaError, message: failure ?? '' } : cudaRefusal(error)), durationMs: 0 }
    }
  }

  async #set(request: Extract<ControlRequest, { kind: 'set' }>): Promise<SetterAnswer> {
    const { gpuIndex, operation, first, second, third = 0, uid } = request
    const { privilege } = this.#options
    if (privilege === 'nobody' || (privilege === 'root' && uid !== 0)) {
      return { result: nvmlReturn.noPermission, value: 0 }
    }
    const board = this.#options.boards[gpuIndex]
    return board ? board.set(operation, first, second, third) : { result: nvmlReturn.invalidArgument, value: 0 }
  }

  /**
   * Finds the device that the first entry of `CUDA_VISIBLE_DEVICES` selects: a board by index or UUID, or a MIG device
   * by UUID in the old or new form. As in CUDA, UUIDs may be abbreviated, and a board in MIG mode stands for its first
   * MIG device.
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
 * Converts the device that an MPS client asked for to a device of the host. The client sees only the boards that its
 * daemon selected, numbered from 0.
 *
 * @param visible the daemon's `CUDA_VISIBLE_DEVICES`; empty if it selects all boards
 * @throws MpsConnectionError if the daemon did not select the board
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

function cudaRefusal(error: unknown): { readonly cudaError: number; readonly message: string } {
  const cudaError = error instanceof MpsConnectionError ? error.cudaError : CUDA_INVALID_VALUE
  return { cudaError, message: reasonOf(error) }
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
