import type { Socket } from 'node:net'
import {
  MAX_REQUEST_BYTES,
  parseServiceRequest,
  readLines,
  reasonOf,
  type ServiceMessage,
  type ServiceRequest,
  type ServiceResults,
  serviceProtocolVersions,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { BoardKeeper } from './board-keeper.js'
import type { Holder } from './held-lease.js'
import type { Peer } from './peer-credentials.js'
import type { Policy } from './policy.js'

/** What a client connection needs from the service. */
export interface ConnectionHost {
  readonly boards: () => readonly BoardKeeper[]
  /** Checks all boards again, so that their status is up to date. */
  readonly lookAgain: () => Promise<void>
  /**
   * Returns the present policy.
   *
   * @throws PctodlError `POLICY` if it is invalid
   */
  readonly policy: () => Policy
  readonly status: () => ServiceResults['status']
  readonly onRefused: (peer: Peer, program: string, error: { readonly code: string; readonly message: string }) => void
  readonly onInternalError: (error: unknown) => void
}

/** Time within which a new client must send its first request, ms. */
const HELLO_MS = 5000
/** Time that a client has to read the reason before its connection is closed, ms. */
const FAREWELL_MS = 1000
/** Maximum number of queued requests per connection. */
const MAX_QUEUED = 64
/** Maximum size of the answers that a client has not read yet, bytes. */
const MAX_UNREAD_BYTES = 1024 * 1024

type ServiceRequestBody = ServiceRequest['body']

interface Leased {
  readonly keeper: BoardKeeper
  readonly holder: Holder
  /** Timer that ends the lease if its holder sends no requests. Undefined if the holder did not set `silenceMs`. */
  readonly silence: NodeJS.Timeout | undefined
}

/** The connection of one client. Its leases end when the connection ends. */
export class ClientConnection {
  readonly peer: Peer
  /** Resolves when the connection is closed and its leases have ended. */
  readonly ended: Promise<void>
  readonly #socket: Socket
  readonly #host: ConnectionHost
  readonly #leased = new Map<string, Leased>()
  readonly #impatience: NodeJS.Timeout
  #program = 'unknown'
  #greeted = false
  #isCut = false
  #heardMs = performance.now()
  #queued = 0
  #queue: Promise<void> = Promise.resolve()

  constructor(socket: Socket, peer: Peer, host: ConnectionHost) {
    this.peer = peer
    this.#socket = socket
    this.#host = host
    this.#impatience = setTimeout(() => this.#cut('HELLO', `no hello in ${HELLO_MS} ms`), HELLO_MS)
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        clearTimeout(this.#impatience)
        for (const { silence } of this.#leased.values()) clearTimeout(silence)
        // Queued requests are awaited first, because one of them may be acquiring a lease.
        const leave = async () => {
          await this.#queue
          const ends = [...this.#leased].map(([target, { keeper, holder }]) =>
            keeper.end(target, holder, 'its connection has ended'),
          )
          await Promise.allSettled(ends)
        }
        // Leases that are already held end at once, without waiting for queued requests.
        for (const [target, { keeper, holder }] of this.#leased)
          void keeper.end(target, holder, 'its connection has ended').catch(() => {})
        void leave().then(resolve)
      })
    })
    socket.on('error', () => {})
    readLines(
      socket,
      MAX_REQUEST_BYTES,
      (line) => this.#onLine(line),
      () => this.#cut('REQUEST_TOO_LONG', `a request has at most ${MAX_REQUEST_BYTES} bytes`),
    )
  }

  close(): void {
    this.#socket.destroy()
  }

  #onLine(line: string): void {
    if (this.#isCut) return
    this.#heardMs = performance.now()
    for (const { silence } of this.#leased.values()) silence?.refresh()
    let request: ServiceRequest
    try {
      request = parseServiceRequest(line)
    } catch (error) {
      const reason = error instanceof SyntaxError ? 'it is no JSON' : reasonOf(error)
      this.#cut('BAD_REQUEST', `not a request of this protocol: ${reason}`)
      return
    }
    if (++this.#queued > MAX_QUEUED) {
      this.#cut('TOO_MANY_REQUESTS', `more than ${MAX_QUEUED} requests wait`)
      return
    }
    this.#queue = this.#queue.then(async () => {
      // Lets the events of other clients be handled between two requests of this client.
      await new Promise(setImmediate)
      await this.#answer(request)
      this.#queued--
    })
  }

  async #answer({ id, body }: ServiceRequest): Promise<void> {
    // Requests that are still queued when the client disconnects are not carried out.
    if (this.#socket.destroyed || this.#isCut) return
    try {
      this.#send({ id, result: await this.#perform(body) })
    } catch (error) {
      if (!(error instanceof PctodlError)) this.#host.onInternalError(error)
      const { code, message } =
        error instanceof PctodlError ? error : { code: 'INTERNAL', message: 'the service failed; see its journal' }
      this.#host.onRefused(this.peer, this.#program, { code, message })
      this.#send({ id, error: { code, message } })
    }
  }

  async #perform(body: ServiceRequestBody): Promise<ServiceResults[ServiceRequestBody['type']]> {
    if (body.type === 'hello') return this.#greet(body)
    if (!this.#greeted) throw new PctodlError('HELLO', 'the first request is hello')
    switch (body.type) {
      case 'status':
        await this.#host.lookAgain()
        return this.#host.status()
      case 'end-leases':
        return this.#endLeases(body)
      case 'acquire':
        return this.#acquire(body.board, body.silenceMs)
      default:
        return this.#performWithLease(body, this.#lease(body.board))
    }
  }

  async #performWithLease(
    body: Exclude<ServiceRequestBody, { readonly type: 'hello' | 'status' | 'end-leases' | 'acquire' }>,
    { keeper, holder }: Leased,
  ): Promise<ServiceResults[ServiceRequestBody['type']]> {
    switch (body.type) {
      case 'change':
        await keeper.change(body.board, holder, body.change, this.#host.policy)
        return null
      case 'verify':
        await keeper.verify(body.board, holder)
        return null
      case 'release':
        this.#forget(body.board)
        await keeper.end(body.board, holder, null)
        return null
      case 'mps-start': {
        this.#host.policy().assertMayStartMps(this.peer, keeper.uuid, body.board)
        await this.#host.lookAgain()
        const { pid, environment } = await keeper.startMps(body.board, holder, body.defaultPercent)
        const { CUDA_MPS_PIPE_DIRECTORY: pipeDirectory, CUDA_MPS_LOG_DIRECTORY: logDirectory } = environment
        return { pid, pipeDirectory, logDirectory }
      }
      case 'mps-stop':
        return { how: await keeper.heldBy(body.board, holder).stopMps(body.graceMs) }
      case 'mps-verify':
        await keeper.heldBy(body.board, holder).verifyMpsClient(body.pid)
        return null
    }
  }

  #greet({ versions, program }: Extract<ServiceRequestBody, { readonly type: 'hello' }>): ServiceResults['hello'] {
    if (this.#greeted) throw new PctodlError('HELLO', 'hello was said before')
    const version = serviceProtocolVersions.find((each) => versions.includes(each))
    if (version === undefined) {
      throw new PctodlError(
        'SERVICE_PROTOCOL',
        `this service speaks versions ${serviceProtocolVersions.join(', ')}; update one of the two`,
      )
    }
    this.#greeted = true
    clearTimeout(this.#impatience)
    this.#program = program
    return { version, service: 'pctodld', boards: this.#host.boards().map(({ uuid }) => uuid) }
  }

  async #acquire(board: string, silenceMs?: number): Promise<ServiceResults['acquire']> {
    // The instance may have been created or removed just now, so the instances are read again.
    if (board.startsWith('MIG-')) await this.#host.lookAgain()
    const keeper = this.#keeperOf(board)
    this.#host.policy().assertMayLease(this.peer, keeper.uuid, board)
    const holder: Holder = {
      peer: this.peer,
      program: this.#program,
      onEnded: (uuid, reason) => {
        this.#forget(uuid)
        this.#send({ event: 'lease-ended', board: uuid, reason })
      },
    }
    const found = await keeper.acquire(board, holder)
    const end = (dueMs: number) => {
      if (this.#heardMs >= dueMs) return
      void keeper.end(board, holder, `its holder has said nothing for ${silenceMs} ms`).catch(() => {})
    }
    // The timer may be late because the service was suspended, so the holder's waiting messages are read before the
    // lease ends.
    const due = () => setImmediate(end, performance.now())
    const silence = silenceMs === undefined ? undefined : setTimeout(due, silenceMs)
    this.#leased.set(board, { keeper, holder, silence })
    // If the lease ended while it was being acquired, the notice of its end came before the lease was stored here.
    if (!keeper.holds(board, holder)) this.#forget(board)
    return { found }
  }

  #forget(board: string): void {
    clearTimeout(this.#leased.get(board)?.silence)
    this.#leased.delete(board)
  }

  /**
   * Ends the leases that match all given conditions.
   *
   * @throws PctodlError `NOT_ALLOWED` for all users except root and the service's own
   */
  async #endLeases({
    uid,
    boards,
    workload,
  }: Extract<ServiceRequestBody, { readonly type: 'end-leases' }>): Promise<ServiceResults['end-leases']> {
    if (this.peer.uid !== 0 && this.peer.uid !== process.geteuid?.()) {
      throw new PctodlError('NOT_ALLOWED', "only root may end other programs' leases")
    }
    if (uid === null && boards === null && workload === undefined) return { ended: [] }
    // The UUID of a board also selects the leases of its instances.
    const isMeant = (uuid: string, target: string) =>
      boards === null || boards.includes(uuid) || boards.includes(target)
    const isTheirs = (peer: Peer) =>
      (uid === null || peer.uid === uid) &&
      (workload === undefined || peer.workload === workload || (uid !== null && peer.workload === undefined))
    const meant = this.#host
      .boards()
      .flatMap((keeper) =>
        keeper.leases
          .filter(({ target, holder: { peer } }) => isMeant(keeper.uuid, target) && isTheirs(peer))
          .map(({ target, holder }) => ({ keeper, target, holder })),
      )
    const ends = meant.map(({ keeper, target, holder }) => keeper.end(target, holder, 'the operator has ended it'))
    const failed = (await Promise.allSettled(ends)).find((outcome) => outcome.status === 'rejected')
    if (failed) throw failed.reason
    return { ended: meant.map(({ target }) => target) }
  }

  #keeperOf(board: string): BoardKeeper {
    const keeper = this.#host.boards().find((each) => each.has(board))
    if (!keeper) throw new PctodlError('NO_SUCH_BOARD', `this node has no board, and no board a MIG instance, ${board}`)
    return keeper
  }

  #lease(board: string): Leased {
    const lease = this.#leased.get(board)
    if (!lease) throw new PctodlError('LEASE_RELEASED', `this connection has no lease on ${board}; acquire one`)
    return lease
  }

  /**
   * Tells the client why its connection ends, and closes the connection. Requests that arrive after this are ignored.
   */
  #cut(code: string, message: string): void {
    if (this.#isCut) return
    this.#isCut = true
    this.#host.onRefused(this.peer, this.#program, { code, message })
    this.#send({ id: null, error: { code, message } })
    this.#socket.destroySoon()
    setTimeout(() => this.#socket.destroy(), FAREWELL_MS).unref()
  }

  #send(message: ServiceMessage): void {
    if (!this.#socket.writable) return
    this.#socket.write(`${JSON.stringify(message)}\n`)
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy()
  }
}
