import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PctodlError } from '@pctodl/platform'
import { programNameOf } from '../lease/process-identity.js'
import { reasonOf } from '../reason-of.js'
import { readLines } from './message-lines.js'
import {
  MAX_REPLY_BYTES,
  parseServiceMessage,
  type ServiceMessage,
  type ServiceRequestBody,
  type ServiceResults,
  serviceProtocolVersions,
} from './service-protocol.js'
import { serviceSocketPath, socketsOf, whyNoService } from './service-socket.js'

export class ServiceError extends PctodlError {}

export interface ServiceClientOptions {
  /** Path of the service's socket. Default: `$PCTODL_SERVICE_SOCKET`, or `/run/pctodl/pctodld.sock`. */
  readonly socket?: string
  /** Time limit for an answer of the service, ms. Default 30,000, because the service may wait for a board. */
  readonly timeoutMs?: number
}

interface Waiting {
  readonly timer: NodeJS.Timeout
  resolve(result: unknown): void
  reject(error: Error): void
}

/** First and longest wait before the next attempt to connect while the service's connection queue is full, ms. */
const RETRY_MS = [5, 200] as const

/** @throws ServiceError `NO_SERVICE`; `SERVICE_BUSY` if the service's connection queue is full */
async function connectTo(path: string): Promise<Socket> {
  const reason = whyNoService(path)
  if (reason !== null) throw new ServiceError('NO_SERVICE', `no node service: ${reason}`)
  const attempt = connect(path)
  try {
    await once(attempt, 'connect')
    return attempt
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code === 'EAGAIN' ? 'SERVICE_BUSY' : 'NO_SERVICE'
    throw new ServiceError(code, `no node service answers at ${path}: ${reasonOf(cause)}`, { cause })
  }
}

async function connectPatiently(path: string, timeoutMs: number): Promise<Socket> {
  const startedMs = performance.now()
  for (let waitMs: number = RETRY_MS[0]; ; waitMs = Math.min(2 * waitMs, RETRY_MS[1])) {
    try {
      return await connectTo(path)
    } catch (error) {
      const isBusy = error instanceof ServiceError && error.code === 'SERVICE_BUSY'
      if (!isBusy || performance.now() - startedMs > timeoutMs) throw error
    }
    // The wait is random within limits, so that clients do not all retry at the same moment.
    await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())))
  }
}

/** A connection to the node service. When it closes, e.g. because this process ends, the service ends its leases. */
export class ServiceClient {
  /** UUIDs of the boards that the service manages. */
  boards: readonly string[] = []
  /** Called when the service ends a lease that this process has not released. */
  onLeaseEnded: (board: string, reason: string) => void = () => {}
  readonly #socket: Socket
  readonly #timeoutMs: number
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 0
  #closed: ServiceError | undefined

  private constructor(socket: Socket, timeoutMs: number) {
    this.#socket = socket
    this.#timeoutMs = timeoutMs
    readLines(
      socket,
      MAX_REPLY_BYTES,
      (line) => this.#onLine(line),
      () => this.#fail(new ServiceError('SERVICE_PROTOCOL', 'the node service sent a line that is too long')),
    )
    socket.on('error', () => {})
    socket.on('close', () =>
      this.#fail(new ServiceError('SERVICE_GONE', 'the node service has closed the connection; see its journal')),
    )
  }

  /**
   * @throws ServiceError `NO_SERVICE` if no service listens, or if the socket belongs to another user; `SERVICE_BUSY`
   * if the connection queue stays full; `SERVICE_PROTOCOL` without a common protocol version
   */
  static async open({
    socket: path = serviceSocketPath(),
    timeoutMs = 30_000,
  }: ServiceClientOptions = {}): Promise<ServiceClient> {
    const [open, known, root] = socketsOf(path)
    const own = process.geteuid?.() === 0 ? root : known
    // The restricted socket is tried first. If it does not exist or this user may not use it, the public socket is
    // used.
    const socket = (await connectTo(own.path).catch(() => null)) ?? (await connectPatiently(open.path, timeoutMs))
    const client = new ServiceClient(socket, timeoutMs)
    try {
      const program = (programNameOf(process.pid) ?? 'node').replace(/[^\w.:/+-]/g, '-')
      const { version, boards } = await client.request({ type: 'hello', versions: serviceProtocolVersions, program })
      if (!serviceProtocolVersions.includes(version))
        throw new ServiceError('SERVICE_PROTOCOL', `the node service speaks version ${version}; update one of the two`)
      client.boards = boards
      return client
    } catch (error) {
      client.close()
      throw error
    }
  }

  request<Body extends ServiceRequestBody>(body: Body): Promise<ServiceResults[Body['type']]> {
    if (this.#closed) return Promise.reject(this.#closed)
    const id = this.#nextId++
    this.#socket.ref()
    return new Promise((resolve, reject) => {
      const late = `the node service has not answered '${body.type}' in ${this.#timeoutMs} ms`
      const giveUp = () => this.#settle(id)?.reject(new ServiceError('SERVICE_TIMEOUT', late))
      const timer = setTimeout(giveUp, this.#timeoutMs)
      this.#waiting.set(id, { timer, resolve: resolve as (result: unknown) => void, reject })
      this.#socket.write(`${JSON.stringify({ id, body })}\n`)
    })
  }

  /** Close the connection. The service then ends its leases. Idempotent. */
  close(): void {
    this.#socket.destroy()
  }

  #onLine(line: string): void {
    let message: ServiceMessage
    try {
      message = parseServiceMessage(line)
    } catch (cause) {
      const why = `the node service broke the protocol: ${reasonOf(cause)}`
      this.#fail(new ServiceError('SERVICE_PROTOCOL', why, { cause }))
      return
    }
    if ('event' in message) this.onLeaseEnded(message.board, message.reason)
    else if ('error' in message) {
      const error = new ServiceError(message.error.code, message.error.message)
      if (message.id === null) this.#fail(error)
      else this.#settle(message.id)?.reject(error)
    } else {
      // The answer is not validated: only root or this user can have created the service's socket.
      this.#settle(message.id)?.resolve(message.result)
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    if (!waiting) return undefined
    clearTimeout(waiting.timer)
    this.#waiting.delete(id)
    // If no request is open, a lease that is still held must not keep this process running.
    if (this.#waiting.size === 0) this.#socket.unref()
    return waiting
  }

  #fail(error: ServiceError): void {
    if (this.#closed) return
    this.#closed = error
    this.#socket.destroy()
    for (const id of [...this.#waiting.keys()]) this.#settle(id)?.reject(error)
  }
}
