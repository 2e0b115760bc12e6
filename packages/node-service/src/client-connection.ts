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
import type { HeldLease, Holder } from './held-lease.js'
import type { Peer } from './peer-credentials.js'
import type { Policy } from './policy.js'

export interface ConnectionHost {
  readonly boards: () => readonly BoardKeeper[]
  readonly lookAgain: () => Promise<void>
  /** @throws PctodlError `POLICY` if the present policy is invalid */
  readonly policy: () => Policy
  readonly status: () => ServiceResults['status']
  readonly onRefused: (peer: Peer, program: string, error: { readonly code: string; readonly message: string }) => void
  readonly onInternalError: (error: unknown) => void
}

/** Time within which a new client must send its first request, ms. */
const HELLO_MS = 5000
/** Time that a client has to read the reason before its connection is closed, ms. */
const FAREWELL_MS = 1000
const MAX_QUEUED = 64
/** Maximum size of the answers that a client has not read yet, bytes. */
const MAX_UNREAD_BYTES = 1024 * 1024

type ServiceRequestBody = ServiceRequest['body']
type Body<Type extends ServiceRequestBody['type']> = Extract<ServiceRequestBody, { readonly type: Type }>

/** The connection of one client. Its leases end when the connection ends. */
export class ClientConnection {
  /** Resolves when the connection is closed and its leases have ended. */
  readonly ended: Promise<void>
  readonly #socket: Socket
  readonly #host: ConnectionHost
  readonly #holder: { readonly peer: Peer; program: string; readonly onEnded: (target: string, why: string) => void }
  readonly #impatience: NodeJS.Timeout
  #greeted = false
  #isCut = false
  #queued = 0
  #queue: Promise<void> = Promise.resolve()

  constructor(socket: Socket, peer: Peer, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    const onEnded = (board: string, reason: string) => this.#send({ event: 'lease-ended', board, reason })
    this.#holder = { peer, program: 'unknown', onEnded }
    this.#impatience = setTimeout(() => this.#cut('HELLO', `no hello in ${HELLO_MS} ms`), HELLO_MS)
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        clearTimeout(this.#impatience)
        // Queued requests are awaited, because one of them may be acquiring a lease.
        void endLeasesOf(this.#holder, host.boards, 'its connection has ended', this.#queue).then(resolve)
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

  get peer(): Peer {
    return this.#holder.peer
  }

  close(): void {
    this.#socket.destroy()
  }

  #onLine(line: string): void {
    if (this.#isCut) return
    for (const { leases } of this.#host.boards())
      for (const lease of leases) if (lease.holder === this.#holder) lease.heard()
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
      const { code, message } = answerOf(error, this.#holder, this.#host)
      this.#send({ id, error: { code, message } })
    }
  }

  async #perform(body: ServiceRequestBody): Promise<unknown> {
    if (body.type === 'hello') return this.#greet(body)
    if (!this.#greeted) throw new PctodlError('HELLO', 'the first request is hello')
    switch (body.type) {
      case 'status':
        await this.#host.lookAgain()
        return this.#host.status()
      case 'end-leases':
        return this.#endLeases(body)
      case 'acquire':
        return this.#acquire(body)
      default: {
        const keeper = this.#keeperOf(body.board)
        const lease = keeper?.leaseOf(body.board, this.#holder)
        if (!keeper || !lease)
          throw new PctodlError('LEASE_RELEASED', `this connection has no lease on ${body.board}; acquire one`)
        return (await this.#performWithLease(body, keeper, lease)) ?? null
      }
    }
  }

  async #performWithLease(
    body: Exclude<ServiceRequestBody, Body<'hello' | 'status' | 'end-leases' | 'acquire'>>,
    keeper: BoardKeeper,
    lease: HeldLease,
  ): Promise<unknown> {
    if (body.type === 'release') return keeper.end(lease, null)
    lease.assertHeld()
    switch (body.type) {
      case 'change':
        return keeper.change(lease, body.change, this.#host.policy)
      case 'verify':
        return keeper.verify(lease)
      case 'mps-start': {
        this.#host.policy().assertMayStartMps(this.peer, keeper.uuid, body.board)
        await this.#host.lookAgain()
        return keeper.startMps(lease, body.defaultPercent)
      }
      case 'mps-stop':
        return { how: await lease.stopMps(body.graceMs) } satisfies ServiceResults['mps-stop']
      case 'mps-verify':
        return lease.verifyMpsClient(body.pid)
    }
  }

  #greet({ versions, program }: Body<'hello'>): ServiceResults['hello'] {
    if (this.#greeted) throw new PctodlError('HELLO', 'hello was said before')
    const version = serviceProtocolVersions.find((each) => versions.includes(each))
    if (version === undefined) {
      const ours = serviceProtocolVersions.join(', ')
      throw new PctodlError('SERVICE_PROTOCOL', `this service speaks versions ${ours}; update one of the two`)
    }
    this.#greeted = true
    clearTimeout(this.#impatience)
    this.#holder.program = program
    return { version, service: 'pctodld', boards: this.#host.boards().map(({ uuid }) => uuid) }
  }

  async #acquire({ board, silenceMs }: Body<'acquire'>): Promise<ServiceResults['acquire']> {
    // The instance may have been created or removed just now, so the instances are read again.
    if (board.startsWith('MIG-')) await this.#host.lookAgain()
    const keeper = this.#keeperOf(board)
    if (!keeper) throw new PctodlError('NO_SUCH_BOARD', `this node has no board, and no board a MIG instance, ${board}`)
    this.#host.policy().assertMayLease(this.peer, keeper.uuid, board)
    const { found } = await keeper.acquire(board, this.#holder, silenceMs)
    return { found }
  }

  /**
   * Ends the leases that match all conditions. @throws PctodlError `NOT_ALLOWED` except to root and the service's user
   */
  async #endLeases({ uid, boards, workload }: Body<'end-leases'>): Promise<ServiceResults['end-leases']> {
    if (this.peer.uid !== 0 && this.peer.uid !== process.geteuid?.())
      throw new PctodlError('NOT_ALLOWED', "only root may end other programs' leases")
    if (uid === null && boards === null && workload === undefined) return { ended: [] }
    const isTheirs = (peer: Peer) =>
      (uid === null || peer.uid === uid) &&
      (workload === undefined || peer.workload === workload || (uid !== null && peer.workload === undefined))
    const ends = this.#host.boards().map((keeper) =>
      keeper.endThose(({ target, holder }) => {
        // The UUID of a board also selects the leases of its instances.
        const isMeant = boards === null || boards.includes(keeper.uuid) || boards.includes(target)
        return isMeant && isTheirs(holder.peer)
      }, 'the operator has ended it'),
    )
    const ended = (await Promise.allSettled(ends)).flatMap((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    })
    return { ended }
  }

  #keeperOf(board: string): BoardKeeper | undefined {
    return this.#host.boards().find((each) => each.has(board))
  }

  /** Tells the client why its connection ends, and closes it. Requests that arrive after this are ignored. */
  #cut(code: string, message: string): void {
    if (this.#isCut) return
    this.#isCut = true
    this.#host.onRefused(this.peer, this.#holder.program, { code, message })
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

/** Ends a holder's leases: the present ones at once, and those of requests in progress after these requests. */
export async function endLeasesOf(
  holder: Holder,
  boards: () => readonly BoardKeeper[],
  why: string,
  requests: Promise<unknown>,
): Promise<void> {
  const end = () =>
    Promise.allSettled(boards().map((keeper) => keeper.endThose((lease) => lease.holder === holder, why)))
  const first = end()
  await requests
  // A board that does not answer must not delay the end of the leases that the requests have acquired.
  await Promise.all([first, end()])
}

/** Logs that a request has failed. Returns the error for the client; unexpected errors go to systemd's journal. */
export function answerOf(
  error: unknown,
  { peer, program }: Holder,
  host: Pick<ConnectionHost, 'onRefused' | 'onInternalError'>,
): { readonly code: string; readonly message: string } {
  if (!(error instanceof PctodlError)) host.onInternalError(error)
  const answer =
    error instanceof PctodlError ? error : { code: 'INTERNAL', message: 'the service failed; see its journal' }
  host.onRefused(peer, program, answer)
  return answer
}
