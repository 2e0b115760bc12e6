import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import path from 'node:path'
import { makePrivateFolder } from '@pctodl/command-line'
import { MpsDaemon } from '@pctodl/mps-control'
import {
  FileLock,
  type LoadNvmlOptions,
  letConnect,
  lockHolder,
  PageServer,
  reasonOf,
  type ServiceResults,
  socketsOf,
} from '@pctodl/nvml-control'
import { PctodlError, systemClock } from '@pctodl/platform'
import { AuditLog } from './audit-log.js'
import { BoardKeeper } from './board-keeper.js'
import { BoardProcess } from './board-process.js'
import { ClientConnection, type ConnectionHost } from './client-connection.js'
import { activatedSocket, listenOn } from './listening-socket.js'
import { Names } from './names.js'
import { type Peer, peerOf } from './peer-credentials.js'
import { Policy } from './policy.js'
import { ServiceMetrics } from './service-metrics.js'
import { sayToSystemd } from './systemd.js'
import { ZeusdServer } from './zeusd.js'

export interface NodeServiceOptions extends LoadNvmlOptions {
  /** Path of the socket. Ignored if systemd passes a socket. */
  readonly socket: string
  /** Path of the policy file. The service reloads it when it changes. */
  readonly policyFile: string
  /** Folder for journals and the audit log; `/var/lib/pctodl` on a node. No other service may use it. */
  readonly stateFolder: string
  /** Folder in which each MPS daemon gets a working folder; `/run/pctodl/service-mps` on a node. */
  readonly mpsFolder: string
  /** MPS control program, which only root may be able to write. Default: `nvidia-cuda-mps-control` on PATH. */
  readonly mpsProgram?: string
  /** Address of the HTTP server for metrics and health checks; null for no server. */
  readonly http: { readonly host: string; readonly port: number } | null
  /** Path of a second socket, on which the service acts as zeusd for programs that use Zeus. Default: none. */
  readonly zeusdSocket?: string
  readonly onMessage?: (message: string) => void
}

/** Interval at which boards are checked and failed restorations are tried again, ms. */
const TEND_MS = 2000
/** Minimum time between two readings of the boards for metrics, ms. */
const BETWEEN_READINGS_MS = 250
/** Time that a request waits for a board that does not answer, ms. */
const SOON_MS = 400
/** Maximum number of connections of the policy's users. Root's do not count: root can always end leases. */
const MAX_CONNECTIONS = 256
const MAX_CONNECTIONS_OF_STRANGERS = 32
/** Maximum number of connections of one user. The totals are limited too: a person may have many user ids. */
const MAX_CONNECTIONS_OF_USER = 32

/** The service: on its node, the only program that changes boards. It owns all leases, journals and MPS daemons. */
export class NodeService {
  readonly #options: NodeServiceOptions
  readonly #locks: readonly FileLock[]
  readonly #audit: AuditLog
  readonly #metrics: ServiceMetrics
  readonly #names = new Names(() => {
    // The changed stamp makes the service load the policy again, so that rules with this name take effect.
    if (this.#policy) this.#policy = { ...this.#policy, stamp: 'a name is known' }
  })
  readonly #servers: readonly Server[]
  readonly #connections = new Set<ClientConnection>()
  #keepers: readonly BoardKeeper[] = []
  /** Boards that could not be opened so far, by index, and the reasons. */
  readonly #missing = new Map<number, { readonly process: BoardProcess; reason: string }>()
  #http: PageServer | null = null
  #zeusd: ZeusdServer | null = null
  #nextMetrics: Promise<string> | null = null
  #readAtMs = Number.NEGATIVE_INFINITY
  /** The last valid policy. Its ceilings stay in force while the policy file is invalid. */
  #lastPolicy = Policy.nothing
  #policy: { readonly stamp: string; readonly policy: Policy; readonly error: PctodlError | null } | null = null
  #timer: NodeJS.Timeout | undefined
  #tending: Promise<void> = Promise.resolve()
  #closing = false

  private constructor(options: NodeServiceOptions, locks: readonly FileLock[]) {
    this.#options = options
    this.#locks = locks
    this.#audit = new AuditLog(options.stateFolder)
    this.#metrics = new ServiceMetrics({
      boards: () => this.#keepers,
      connections: () => this.#connections.size,
      isReady: () => this.status().ready,
    })
    this.#servers = socketsOf(options.socket).map(() => createServer((socket) => this.#accept(socket)))
  }

  /**
   * Starts the service. It ends MPS daemons and restores boards that an earlier service left, then listens.
   * @throws PctodlError `ALREADY_RUNNING`, `SOCKET`, `AUDIT_LOG`, `CANNOT_LISTEN`; NvmlNotFoundError, NvmlError
   */
  static async start(options: NodeServiceOptions): Promise<NodeService> {
    const locks = lockPlaces(options)
    let service: NodeService | undefined
    try {
      service = new NodeService(options, locks)
      await service.#open()
      return service
    } catch (error) {
      await service?.close()
      for (const lock of locks) lock.release()
      throw error
    }
  }

  get url(): string | null {
    return this.#http?.url ?? null
  }

  status(): ServiceResults['status'] {
    const { error } = this.#currentPolicy()
    const boards = this.#keepers.map(({ state }) => state)
    const ill = boards.filter(({ condition }) => condition !== 'ok')
    const reasons = [
      ...[...this.#missing.values()].map(({ reason }) => `a board cannot be opened: ${reason}`),
      ...ill.map(({ index, condition, reason }) => `GPU ${index} is ${condition}: ${reason}`),
      ...(error ? [error.message] : []),
    ]
    return { ready: reasons.length === 0, reasons, boards }
  }

  /** Ends all leases, which restores their boards, and stops listening. Idempotent. */
  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    clearTimeout(this.#timer)
    await this.#tending
    for (const server of this.#servers) server.close()
    const connections = [...this.#connections]
    for (const connection of connections) connection.close()
    await Promise.all([this.#zeusd?.close(), ...connections.map(({ ended }) => ended)])
    const processes = [...this.#keepers, ...[...this.#missing.values()].map(({ process }) => process)]
    await Promise.all(processes.map((each) => each.close()))
    await this.#http?.close()
    this.#audit.note({ event: 'service-stopped' })
    this.#audit.close()
    for (const lock of this.#locks) lock.release()
  }

  async #open(): Promise<void> {
    const { socket, http, zeusdSocket } = this.#options
    await this.#endLeftDaemons()
    // Loads the policy and waits for its name look-ups, so that ids are known when the first client connects.
    this.#currentPolicy()
    await this.#names.settled()
    const first = this.#boardProcess(0)
    const count = await first.ask('count').catch(async (error) => {
      await first.close()
      throw error
    })
    for (let index = 0; index < count; index++) {
      const process = index === 0 ? first : this.#boardProcess(index)
      this.#missing.set(index, { process, reason: 'it has not answered yet' })
    }
    await this.#openMissing()
    await this.#listen(socket)
    if (http)
      this.#http = await PageServer.start(http, {
        '/metrics': async () => ({ text: await this.#metricsSoon() }),
        // Does the service run?
        '/healthz': () => ({ text: 'ok\n' }),
        // Can it lease boards?
        '/readyz': () => {
          const { ready, reasons } = this.status()
          return ready ? { text: 'ready\n' } : { status: 503, text: `${reasons.join('\n')}\n` }
        },
      })
    if (zeusdSocket !== undefined) {
      this.#zeusd = await ZeusdServer.start(zeusdSocket, this.#connectionHost)
      this.#letIn()
    }
    this.#audit.add({ event: 'service-started', detail: `${this.#keepers.length} boards` })
    for (const reason of this.status().reasons) this.#say(reason)
    sayToSystemd('READY=1')
    this.#schedule()
  }

  /**
   * The first socket is for all users, and systemd may have opened it; the others are for the policy's users and root.
   */
  async #listen(socket: string): Promise<void> {
    const fd = activatedSocket()
    for (const [i, { path, mode }] of socketsOf(socket).entries()) {
      const server = this.#servers[i]!
      if (i > 0 || fd === null) await listenOn(server, path, mode)
      else await once(server.listen({ fd }), 'listening')
    }
    this.#letIn()
  }

  /**
   * Lets only the policy's users and groups connect to their own socket and to that of Zeus. Other users then cannot
   * fill these sockets' queues. (Zeus does not try again if a queue is full.)
   */
  #letIn(): void {
    const { socket, zeusdSocket } = this.#options
    const { rules } = this.#lastPolicy
    const known = { uids: rules.flatMap(({ uids }) => [...uids]), gids: rules.flatMap(({ gids }) => [...gids]) }
    for (const each of [socketsOf(socket)[1].path, zeusdSocket]) {
      if (each === undefined || !existsSync(each)) continue
      try {
        letConnect(each, known)
      } catch (error) {
        // The policy's users can still use the public socket. Zeus has only one socket, which is therefore opened to
        // all users.
        this.#say(reasonOf(error))
        if (each === zeusdSocket) chmodSync(each, 0o666)
      }
    }
  }

  readonly #connectionHost: ConnectionHost = {
    boards: () => this.#keepers,
    lookAgain: () => this.#lookAgain(),
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

  /** Returns the policy in the present file. An invalid policy allows nothing. */
  #currentPolicy(): { readonly policy: Policy; readonly error: PctodlError | null } {
    const { policyFile } = this.#options
    const stamp = stampOf(policyFile)
    if (this.#policy?.stamp === stamp) return this.#policy
    try {
      const policy = Policy.load(policyFile, this.#names.idOf)
      this.#policy = { stamp, policy, error: null }
      this.#lastPolicy = policy
      const { rules, unknownNames } = policy
      const unknown = unknownNames.length > 0 ? `; nobody knows ${unknownNames.join(', ')}` : ''
      const detail = `${rules.length} rules${unknown}`
      this.#audit.note({ event: 'policy', detail })
      if (unknown !== '') this.#say(`${policyFile}: ${detail}`)
      this.#letIn()
      for (const keeper of this.#keepers) {
        const failed = (error: unknown) => this.#say(`${keeper.uuid} by the new policy: ${error}`)
        keeper.tightening = keeper.tighten(policy).catch(failed)
      }
    } catch (error) {
      if (!(error instanceof PctodlError)) throw error
      this.#policy = { stamp, policy: Policy.nothing, error }
      this.#audit.note({ event: 'policy', detail: error.message })
    }
    return this.#policy
  }

  #boardProcess(index: number): BoardProcess {
    const { libraryPath, stateFolder } = this.#options
    return new BoardProcess({
      board: String(index),
      libraryPath,
      leaseFolder: path.join(stateFolder, 'leases'),
      lockFolder: process.env['PCTODL_LOCK_DIR'] || '/run/pctodl/boards',
    })
  }

  /** Opens the boards that are not managed yet: at the start all boards, later those that were not available before. */
  async #openMissing(): Promise<void> {
    const { mpsFolder, mpsProgram } = this.#options
    const rest = { mpsFolder, mpsProgram, audit: this.#audit, metrics: this.#metrics }
    const opened = [...this.#missing].map(async ([index, missing]) => {
      const { process } = missing
      try {
        const identity = await process.ask('open')
        const ceiling = () => this.#lastPolicy.ceilingOf(identity.uuid)
        const keeper = new BoardKeeper({ process, identity, ceiling, ...rest })
        await keeper.look()
        this.#missing.delete(index)
        this.#keepers = [...this.#keepers, keeper].sort((a, b) => a.index - b.index)
      } catch (error) {
        missing.reason = reasonOf(error)
      }
    })
    await Promise.all(opened)
  }

  /** Checks all boards again, but waits only for a short time. */
  async #lookAgain(): Promise<void> {
    this.#currentPolicy()
    // A board that has not answered the running check for this long is not waited for again.
    const heard = this.#keepers.filter(({ silentMs }) => silentMs < SOON_MS)
    await soon(heard.flatMap((keeper) => [keeper.look(), keeper.tightening]))
  }

  /** Returns the metrics. Requests that arrive sooner than `BETWEEN_READINGS_MS` after a reading share the next one. */
  #metricsSoon(): Promise<string> {
    const waitMs = Math.max(0, this.#readAtMs + BETWEEN_READINGS_MS - performance.now())
    this.#nextMetrics ??= systemClock.sleep(waitMs).then(async () => {
      this.#nextMetrics = null
      this.#readAtMs = performance.now()
      await Promise.all(this.#keepers.map(async (keeper) => (keeper.readings = await keeper.read(SOON_MS))))
      return this.#metrics.registry.metrics()
    })
    return this.#nextMetrics
  }

  async #endLeftDaemons(): Promise<void> {
    const { mpsFolder } = this.#options
    for (const name of readdirSync(mpsFolder)) {
      const directory = path.join(mpsFolder, name)
      try {
        await new MpsDaemon({ directory }).cutOff()
        rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
      } catch (error) {
        this.#say(`${directory} stays: ${reasonOf(error)}`)
      }
    }
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#tending = this.#tend().then(() => (this.#closing ? undefined : this.#schedule()))
    }, TEND_MS).unref()
  }

  async #tend(): Promise<void> {
    try {
      // All boards are checked at the same time, so that a board that does not answer does not delay the others.
      await soon([...this.#keepers.map((keeper) => keeper.look()), this.#missing.size > 0 ? this.#openMissing() : null])
      this.#endOverdue()
      sayToSystemd('WATCHDOG=1')
    } catch (error) {
      this.#say(`looking after the boards failed: ${error instanceof Error ? error.stack : error}`)
    }
  }

  #endOverdue(): void {
    const { policy, error } = this.#currentPolicy()
    if (error) return
    for (const keeper of this.#keepers) {
      for (const lease of keeper.leases) {
        const why = policy.whyLeaseEnds(lease.holder.peer, keeper.uuid, lease.lastedMs, lease.target)
        if (why !== null) void keeper.end(lease, why).catch(() => {})
      }
    }
  }

  #accept(socket: Socket): void {
    try {
      const peer = peerOf(socket)
      if (this.#closing || !this.#hasRoomFor(peer)) return void socket.destroy()
      const connection = new ClientConnection(socket, peer, this.#connectionHost)
      this.#connections.add(connection)
      void connection.ended.then(() => this.#connections.delete(connection))
    } catch (error) {
      this.#say(reasonOf(error))
      socket.destroy()
    }
  }

  #hasRoomFor(peer: Peer): boolean {
    const count = (is: (connection: ClientConnection) => boolean) => [...this.#connections].filter(is).length
    if (count((each) => each.peer.uid === peer.uid) >= MAX_CONNECTIONS_OF_USER) return false
    if (peer.uid === 0) return true
    const { policy } = this.#currentPolicy()
    const isKnown = policy.knows(peer)
    const alike = count((each) => each.peer.uid !== 0 && policy.knows(each.peer) === isKnown)
    return alike < (isKnown ? MAX_CONNECTIONS : MAX_CONNECTIONS_OF_STRANGERS)
  }

  #say(message: string): void {
    this.#options.onMessage?.(message)
  }
}

function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(file)
    return [dev, ino, size, mtimeMs, ctimeMs].join(':')
  } catch (error) {
    return String(error)
  }
}

async function soon(work: readonly (Promise<unknown> | null)[]): Promise<void> {
  await Promise.race([Promise.allSettled(work), systemClock.sleep(SOON_MS)])
}

/**
 * Locks the service's folders until the process exits. This comes first, because a second service would end the MPS
 * daemons of the first.
 * @throws PctodlError `ALREADY_RUNNING` if another service uses a folder; Error if others can write to a folder
 */
function lockPlaces({ stateFolder, mpsFolder }: NodeServiceOptions): FileLock[] {
  const places = [
    { folder: makePrivateFolder(stateFolder), option: '--state' },
    { folder: makePrivateFolder(mpsFolder, 0o711, 0o755), option: '--mps' },
  ]
  const locks: FileLock[] = []
  try {
    for (const { folder, option } of places) {
      // The folder itself is locked, so that it need not contain a lock file.
      const lock = FileLock.tryAcquire(folder)
      const other = `another service (process ${lockHolder(folder) ?? 'that cannot be seen from here'})`
      const remedy = `end it first, or give this one another (${option})`
      if (!lock) throw new PctodlError('ALREADY_RUNNING', `${other} has its place in ${folder}; ${remedy}`)
      locks.push(lock)
    }
    return locks
  } catch (error) {
    for (const each of locks) each.release()
    throw error
  }
}
