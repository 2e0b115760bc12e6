import { readdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import path from 'node:path'
import { makePrivateFolder } from '@pctodl/command-line'
import { MpsDaemon } from '@pctodl/mps-control'
import {
  boardFacts,
  FileLock,
  LeaseFolder,
  type LoadNvmlOptions,
  loadNvml,
  lockHolder,
  type Nvml,
  NvmlGpu,
  putRight,
  type ServiceStatus,
  specOfBoard,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { AuditLog } from './audit-log.js'
import { BoardKeeper } from './board-keeper.js'
import { ClientConnection, type ClientStream, type ConnectionHost } from './client-connection.js'
import { HealthServer } from './health-server.js'
import { activatedSocket, listenOn } from './listening-socket.js'
import { type Peer, peerOf } from './peer-credentials.js'
import { loadPolicy, Policy } from './policy.js'
import { ServiceMetrics } from './service-metrics.js'
import { type ZeusdHost, ZeusdServer } from './zeusd.js'

export interface NodeServiceOptions extends LoadNvmlOptions {
  /** Path of the socket, unless systemd hands one over. */
  readonly socket: string
  /** Path of the policy. It is read again when it changes. */
  readonly policyFile: string
  /** Folder that is the service's alone: journals, audit log. `/var/lib/pctodl` on a node. */
  readonly stateFolder: string
  /** Folder for the MPS daemons' places. `/run/pctodl/service-mps` on a node. */
  readonly mpsFolder: string
  /**
   * The MPS control program, by its absolute path. Default: `nvidia-cuda-mps-control` on PATH. In either case only one that root
   * alone can write, and put another in the place of, is run.
   */
  readonly mpsProgram?: string
  /** Where metrics and health are served; null nowhere. */
  readonly http: { readonly host: string; readonly port: number } | null
  /** Path of a second socket, where Zeus finds the service in the place of zeusd. Default: none. */
  readonly zeusdSocket?: string
  /** Told what the operator should know. */
  readonly onMessage?: (message: string) => void
}

/** How often boards are looked after, and what was not restored is tried again, ms. */
const TEND_MS = 2000
/**
 * Connections of all users whom the policy knows, of all others, and of one user. Root always has its own: it must be able to end
 * leases. One user can be many, by the numbers of subordinate users.
 */
const MOST_CONNECTIONS = 256
const MOST_CONNECTIONS_OF_STRANGERS = 32
const MOST_CONNECTIONS_OF_USER = 32

/**
 * The one program of a node that changes its boards. Leases, journals and MPS daemons are its own; clients ask it over a socket, and
 * the kernel tells it who they are.
 */
export class NodeService {
  readonly #options: NodeServiceOptions
  readonly #locks: readonly FileLock[]
  readonly #audit: AuditLog
  readonly #metrics: ServiceMetrics
  readonly #nvml: Nvml
  readonly #server: Server
  readonly #connections = new Set<ClientConnection>()
  #keepers: readonly BoardKeeper[] = []
  #missing: readonly string[] = []
  #http: HealthServer | null = null
  #zeusd: ZeusdServer | null = null
  #policy: { readonly stamp: string; readonly policy: Policy; readonly error: PctodlError | null } | null = null
  #timer: NodeJS.Timeout | undefined
  #tending: Promise<void> = Promise.resolve()
  #closing = false

  private constructor(options: NodeServiceOptions, locks: readonly FileLock[]) {
    this.#options = options
    this.#locks = locks
    this.#audit = new AuditLog(options.stateFolder)
    this.#nvml = loadNvml(options.libraryPath === undefined ? {} : { libraryPath: options.libraryPath })
    this.#metrics = new ServiceMetrics({
      boards: () => this.#keepers,
      connections: () => this.#connections.size,
      isReady: () => this.status().ready,
    })
    this.#server = createServer((socket) => {
      let peer: Peer
      try {
        peer = peerOf(socket)
      } catch (error) {
        this.#say(error instanceof Error ? error.message : String(error))
        socket.destroy()
        return
      }
      if (!this.#admit(socket, peer)) socket.destroy()
    })
  }

  /**
   * Put right what was left behind, then listen.
   *
   * @throws PctodlError `ALREADY_RUNNING` where another service has its places, `SOCKET`, `AUDIT_LOG`, `CANNOT_LISTEN`; NvmlNotFoundError, NvmlError where there is no driver
   */
  static async start(options: NodeServiceOptions): Promise<NodeService> {
    const locks = lockPlaces(options)
    let service: NodeService
    try {
      service = new NodeService(options, locks)
    } catch (error) {
      for (const lock of locks) lock.release()
      throw error
    }
    try {
      await service.#open()
    } catch (error) {
      await service.close()
      throw error
    }
    return service
  }

  /** Where metrics and health are; null where nowhere. */
  get url(): string | null {
    return this.#http?.url ?? null
  }

  status(): ServiceStatus {
    const reasons = [
      ...this.#missing.map((reason) => `a board cannot be opened: ${reason}`),
      ...this.#keepers
        .filter(({ condition }) => condition !== 'ok')
        .map(({ state }) => `GPU ${state.index} is ${state.condition}: ${state.reason}`),
      ...(this.#currentPolicy().error ? [this.#currentPolicy().error!.message] : []),
    ]
    return { ready: reasons.length === 0, reasons, boards: this.#keepers.map(({ state }) => state) }
  }

  /** End all leases, which puts the boards back, and stop listening. Idempotent. */
  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    clearTimeout(this.#timer)
    await this.#tending
    this.#server.close()
    const connections = [...this.#connections]
    for (const connection of connections) connection.close()
    await Promise.all(connections.map(({ ended }) => ended))
    await this.#http?.close()
    await this.#zeusd?.close()
    this.#audit.note({ event: 'service-stopped' })
    this.#audit.close()
    for (const lock of this.#locks) lock.release()
  }

  async #open(): Promise<void> {
    const { socket, http, zeusdSocket } = this.#options
    await this.#endLeftDaemons()
    this.#discover()
    await this.#restore()
    const fd = activatedSocket()
    if (fd === null) await listenOn(this.#server, socket)
    else await new Promise<void>((resolve) => this.#server.listen({ fd }, resolve))
    if (http) this.#http = await HealthServer.start(http, this.#metrics.registry, () => this.status())
    if (zeusdSocket !== undefined) {
      const admit: ZeusdHost['admit'] = (stream, peer) => this.#admit(stream, peer)
      this.#zeusd = await ZeusdServer.start(zeusdSocket, { boards: () => this.#keepers, admit })
    }
    this.#audit.add({ event: 'service-started', detail: `${this.#keepers.length} boards` })
    for (const reason of this.status().reasons) this.#say(reason)
    this.#schedule()
  }

  readonly #connectionHost: ConnectionHost = {
    boards: () => this.#keepers,
    policy: () => {
      const { policy, error } = this.#currentPolicy()
      if (error) throw error
      return policy
    },
    status: () => this.status(),
    onRefused: (peer, program, { code, message }) => {
      this.#metrics.refused(code)
      this.#audit.refused(peer, program, `${code}: ${message}`)
    },
    onInternalError: (error) => this.#say(error instanceof Error ? (error.stack ?? error.message) : String(error)),
  }

  /** The policy as its file says now. One that is not right allows nothing. */
  #currentPolicy(): { readonly policy: Policy; readonly error: PctodlError | null } {
    const { policyFile } = this.#options
    const stat = statSync(policyFile, { throwIfNoEntry: false })
    const stamp = stat ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : 'none'
    if (this.#policy?.stamp === stamp) return this.#policy
    try {
      this.#policy = { stamp, policy: loadPolicy(policyFile), error: null }
      this.#audit.note({ event: 'policy', detail: `${this.#policy.policy.rules.length} rules` })
    } catch (error) {
      if (!(error instanceof PctodlError)) throw error
      this.#policy = { stamp, policy: new Policy([]), error }
      this.#audit.note({ event: 'policy', detail: error.message })
    }
    return this.#policy
  }

  /** Boards that are not kept yet: all at the start, those that were lost then later. */
  #discover(): void {
    const { stateFolder } = this.#options
    const keepers = [...this.#keepers]
    const missing: string[] = []
    for (let index = 0; index < this.#nvml.deviceCount; index++) {
      try {
        const device = this.#nvml.deviceByIndex(index)
        if (keepers.some(({ uuid }) => uuid === device.uuid)) continue
        const gpu = new NvmlGpu(this.#nvml, device, specOfBoard(boardFacts(device)), {
          leaseFolder: path.join(stateFolder, 'leases'),
        })
        const { mpsFolder, mpsProgram } = this.#options
        keepers.push(new BoardKeeper({ gpu, mpsFolder, mpsProgram, audit: this.#audit, metrics: this.#metrics }))
      } catch (error) {
        if (!(error instanceof PctodlError)) throw error
        if (!keepers.some((keeper) => keeper.index === index)) missing.push(error.message)
      }
    }
    this.#keepers = keepers
    this.#missing = missing
  }

  /** Journals tell of leases of a service that was killed. */
  async #restore(): Promise<void> {
    const leaseFolder = path.join(this.#options.stateFolder, 'leases')
    const journaled = new LeaseFolder(leaseFolder).journaled()
    for (const keeper of this.#keepers) {
      if (keeper.condition !== 'unrestored' || keeper.leases.length > 0 || journaled.includes(keeper.uuid)) continue
      // Its watchdog was there first.
      keeper.markRestored()
      this.#audit.note({ event: 'restored', board: keeper.uuid, detail: 'by the watchdog of its lease' })
    }
    if (journaled.length === 0) return
    for (const { uuid, outcome, error } of await putRight(this.#nvml, { leaseFolder })) {
      const keeper = this.#keepers.find((each) => each.uuid === uuid)
      if (outcome === 'in-use') continue
      if (outcome === 'failed') {
        const detail = error instanceof Error ? error.message : String(error)
        if (keeper?.condition !== 'unrestored') this.#audit.note({ event: 'not-restored', board: uuid, detail })
        keeper?.markUnrestored(detail)
        continue
      }
      keeper?.markRestored()
      this.#metrics.restored('ok', 0)
      this.#audit.note({ event: 'restored', board: uuid, detail: outcome })
      this.#say(`${uuid} was left changed, and is put back`)
    }
  }

  /** Daemons of a service that was killed serve nobody any more. */
  async #endLeftDaemons(): Promise<void> {
    const { mpsFolder } = this.#options
    for (const name of readdirSync(mpsFolder)) {
      const directory = path.join(mpsFolder, name)
      try {
        await new MpsDaemon({ directory }).cutOff({ all: true })
        rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
      } catch (error) {
        this.#say(`${directory} stays: ${error instanceof Error ? error.message : error}`)
      }
    }
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#tending = this.#tend()
        .catch((error) => this.#say(`looking after the boards failed: ${error instanceof Error ? error.stack : error}`))
        .then(() => {
          if (!this.#closing) this.#schedule()
        })
    }, TEND_MS)
    this.#timer.unref()
  }

  async #tend(): Promise<void> {
    const lost = () => this.#keepers.filter(({ condition }) => condition === 'lost')
    // Beginning anew with the driver takes it from every board, so it waits until no lease is in the way.
    let begun: boolean | undefined
    const reinitialize = () => {
      begun ??= this.#keepers.every(({ leases }) => leases.length === 0) && this.#beginAnew()
      return begun
    }
    for (const keeper of this.#keepers) await keeper.tend(reinitialize)
    if (begun) {
      for (const { gpu, uuid } of this.#keepers) {
        try {
          gpu.device.renew(uuid)
        } catch {
          // One that is still lost.
        }
      }
    }
    if (lost().length < this.#keepers.length && this.#missing.length > 0) this.#discover()
    await this.#restore()
    this.#endOverdue()
  }

  #beginAnew(): boolean {
    for (const keeper of this.#keepers) keeper.letGo()
    return this.#nvml.reinitialize()
  }

  /** Leases that the policy, as it is by now, does not allow. One that is not right says nothing about anybody. */
  #endOverdue(): void {
    const { policy, error } = this.#currentPolicy()
    if (error) return
    for (const keeper of this.#keepers) {
      for (const { target, holder, lastedMs } of keeper.leases) {
        const why = policy.whyLeaseEnds(holder.peer, keeper.uuid, lastedMs, target)
        if (why !== null) void keeper.end(target, holder, why).catch(() => {})
      }
    }
  }

  #admit(stream: ClientStream, peer: Peer): boolean {
    if (this.#closing || !this.#hasRoomFor(peer)) return false
    const connection = new ClientConnection(stream, peer, this.#connectionHost)
    this.#connections.add(connection)
    void connection.ended.then(() => this.#connections.delete(connection))
    return true
  }

  #hasRoomFor(peer: Peer): boolean {
    const count = (is: (connection: ClientConnection) => boolean) => [...this.#connections].filter(is).length
    if (count((each) => each.peer.uid === peer.uid) >= MOST_CONNECTIONS_OF_USER) return false
    if (peer.uid === 0) return true
    const { policy } = this.#currentPolicy()
    const isKnown = policy.knows(peer)
    const alike = count((each) => each.peer.uid !== 0 && policy.knows(each.peer) === isKnown)
    return alike < (isKnown ? MOST_CONNECTIONS : MOST_CONNECTIONS_OF_STRANGERS)
  }

  #say(message: string): void {
    this.#options.onMessage?.(message)
  }
}

/**
 * Before anything is touched: a second service would end the daemons of the first one's leases as leftovers. Kept until the process
 * is gone, however it goes.
 *
 * @throws PctodlError `ALREADY_RUNNING`; Error where a folder is in other hands
 */
function lockPlaces({ stateFolder, mpsFolder }: NodeServiceOptions): FileLock[] {
  const places = [
    { folder: makePrivateFolder(stateFolder), option: '--state' },
    { folder: makePrivateFolder(mpsFolder, 0o711), option: '--mps' },
  ]
  const locks: FileLock[] = []
  for (const { folder, option } of places) {
    // The folder itself: there is nothing beside what is kept in it.
    const lock = FileLock.tryAcquire(folder)
    if (lock) {
      locks.push(lock)
      continue
    }
    for (const each of locks) each.release()
    throw new PctodlError(
      'ALREADY_RUNNING',
      `another service (process ${lockHolder(folder) ?? 'that cannot be seen from here'}) has its place in ${folder}; end it first, or ` +
        `give this one another (${option})`,
    )
  }
  return locks
}
