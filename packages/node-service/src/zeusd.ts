import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import {
  type BoardChange,
  isRunning,
  type ProcessIdentity,
  parseServiceRequest,
  processIdentity,
  type ServiceMessage,
  type ServiceRequestBody,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { BoardKeeper } from './board-keeper.js'
import type { BoardReadings } from './kept-board.js'
import { listenOn } from './listening-socket.js'
import { type Peer, peerOf } from './peer-credentials.js'

/** What zeusd's endpoint needs of the service. */
export interface ZeusdHost {
  readonly boards: () => readonly BoardKeeper[]
  /** Serve a stream of requests as a connection of this peer. @returns false where there is no room for one more */
  readonly admit: (stream: ZeusSession, peer: Peer) => boolean
}

const MAX_CONNECTIONS = 128
const MAX_CONNECTIONS_OF_USER = 16
const MAX_BODY_BYTES = 4096
/** Zeus drops a connection that was idle for 5 s; the server must not be the first. */
const KEEP_ALIVE_MS = 30_000
/** How long a board may take to be read, ms. */
const READ_MS = 400
/** How often it is looked whether the programs that have set something still run, ms. */
const LOOK_MS = 500

const statusOfCode: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  NO_SUCH_BOARD: 404,
  LEASE_HELD: 409,
  UNREADABLE: 503,
}

type Parameters = Readonly<Record<string, unknown>>

/** What Zeus may set: the last part of the address, and what it asks of a board. */
const setters: Readonly<Record<string, (parameters: Parameters) => BoardChange>> = {
  set_power_limit: ({ power_limit_mw }) => ({ kind: 'power-limit', powerLimitW: Number(power_limit_mw) / 1000 }),
  set_persistence_mode: ({ enabled }) => ({ kind: 'persistence', enabled: String(enabled) === 'true' }),
  set_gpu_locked_clocks: (parameters) => ({ kind: 'sm-clock', range: rangeOf(parameters) }),
  reset_gpu_locked_clocks: () => ({ kind: 'sm-clock', range: null }),
  set_mem_locked_clocks: (parameters) => ({ kind: 'mem-clock', range: rangeOf(parameters) }),
  reset_mem_locked_clocks: () => ({ kind: 'mem-clock', range: null }),
}

/** What Zeus may read of a board. */
const getters: Readonly<Record<string, (readings: BoardReadings) => object>> = {
  get_cumulative_energy: ({ energyJ }) => ({ energy_mj: milli(energyJ) }),
  get_persistence_mode: ({ persistence }) => ({ enabled: persistence }),
  get_power_limit: ({ powerLimitW }) => ({ power_limit_mw: milli(powerLimitW) }),
  get_power_limit_constraints: ({ minLimitW, maxLimitW }) => ({
    min_power_limit_mw: milli(minLimitW),
    max_power_limit_mw: milli(maxLimitW),
  }),
}

/**
 * The HTTP interface of zeusd, the daemon of Zeus, on a unix socket (`ZEUSD_SOCK_PATH`). It translates: a program's first setting
 * acquires the board as the service's own clients do, under the same policy and audit. HTTP connections come and go, so the lease
 * lasts as long as the process that asked.
 */
export class ZeusdServer {
  readonly #host: ZeusdHost
  readonly #server: Server
  readonly #peers = new Map<Socket, Peer>()
  readonly #sessions = new Set<ZeusSession>()
  #timer: NodeJS.Timeout | undefined

  private constructor(host: ZeusdHost) {
    this.#host = host
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      void this.#serve(request, response)
    })
    this.#server.maxConnections = MAX_CONNECTIONS
    this.#server.on('connection', (socket: Socket) => {
      try {
        const peer = peerOf(socket)
        const ofUser = [...this.#peers.values()].filter(({ uid }) => uid === peer.uid).length
        if (ofUser >= MAX_CONNECTIONS_OF_USER) throw new Error('too many connections')
        this.#peers.set(socket, peer)
        socket.once('close', () => this.#peers.delete(socket))
      } catch {
        socket.destroy()
      }
    })
  }

  /** Root's alone, until others are let in. @throws PctodlError `SOCKET` */
  static async start(socket: string, host: ZeusdHost): Promise<ZeusdServer> {
    const zeusd = new ZeusdServer(host)
    await listenOn(zeusd.#server, socket, 0o600)
    return zeusd
  }

  /** The leases are the service's to end. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answer(request)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    } catch (error) {
      const { code, message } =
        error instanceof PctodlError ? error : { code: 'INTERNAL', message: 'the service failed; see its journal' }
      // What is left of a request that was too long is not waited for.
      response.writeHead(statusOfCode[code] ?? 500, { connection: 'close' }).end(`${message}\n`)
    }
  }

  async #answer(request: IncomingMessage): Promise<object> {
    const { pathname, searchParams } = addressOf(request)
    const keepers = this.#host.boards()
    if (pathname === '/time') return { timestamp_ms: Date.now() }
    if (pathname === '/discover') {
      const gpus = keepers.map(({ index, name }) => ({ id: index, name }))
      return { gpus, cpus: [], enabled_api_groups: ['gpu-control', 'gpu-read'], auth_required: false }
    }
    // /gpu/<verb>?gpu_ids=0,1, or as before Zeus 0.12: /gpu/0/<verb> with a body.
    const [, id, verb = ''] = /^\/gpu\/(?:(\d{1,4})\/)?(\w+)$/.exec(pathname) ?? []
    const ids = id ?? searchParams.get('gpu_ids')
    const meant = boardsOf(ids, keepers)
    const setter = own(setters, verb)
    if (setter && request.method === 'POST') {
      if (ids === null) throw new PctodlError('BAD_REQUEST', 'gpu_ids is missing')
      const change = setter({ ...Object.fromEntries(searchParams), ...(await bodyOf(request)) })
      const session = this.#sessionOf(this.#peers.get(request.socket))
      for (const { uuid } of meant) await session.change(uuid, change)
      return {}
    }
    if (request.method !== 'GET') throw new PctodlError('NOT_FOUND', `no such call: ${request.method} ${pathname}`)
    const read = async (of: (readings: BoardReadings) => unknown) =>
      Object.fromEntries(await Promise.all(meant.map(async (keeper) => [keeper.index, of(await readingsOf(keeper))])))
    if (verb === 'get_power')
      return { timestamp_ms: Date.now(), power_mw: await read(({ powerAverageW }) => milli(powerAverageW)) }
    const getter = own(getters, verb)
    if (!getter) throw new PctodlError('NOT_FOUND', `no such call: ${pathname}`)
    return read(getter)
  }

  /** One for each process, with all the leases that it has got here. */
  #sessionOf(peer: Peer | undefined): ZeusSession {
    const process = peer && peer.pid > 0 ? processIdentity(peer.pid) : null
    if (!peer || !process) {
      throw new PctodlError(
        'NOT_ALLOWED',
        'the process that asks cannot be seen from here, so it would not be noticed when it ends; run the service in the pid ' +
          'namespace of the host',
      )
    }
    const known = [...this.#sessions].find((session) => session.isOf(process, peer.uid))
    if (known) return known
    const session = new ZeusSession(process, peer.uid)
    if (!this.#host.admit(session, peer))
      throw new PctodlError('TOO_MANY', 'too many programs of this user have a board')
    this.#sessions.add(session)
    session.once('close', () => {
      this.#sessions.delete(session)
      if (this.#sessions.size === 0) clearInterval(this.#timer)
    })
    if (this.#sessions.size === 1) {
      this.#timer = setInterval(() => {
        for (const each of this.#sessions) if (!isRunning(each.process)) each.destroy()
      }, LOOK_MS).unref()
    }
    return session
  }
}

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/** What a process asks over HTTP, as a connection of the service's own protocol. */
export class ZeusSession extends Duplex {
  readonly process: ProcessIdentity
  readonly #uid: number
  readonly #leased = new Set<string>()
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 0
  /** One change after the other: two must not both acquire the board. */
  #turns: Promise<unknown>

  constructor(process: ProcessIdentity, uid: number) {
    super()
    this.process = process
    this.#uid = uid
    // What goes wrong is told to those who wait.
    this.on('error', () => {})
    this.#turns = this.#ask({ type: 'hello', versions: [3], program: 'zeus' }).catch(() => {})
  }

  isOf({ pid, startTime }: ProcessIdentity, uid: number): boolean {
    return this.process.pid === pid && this.process.startTime === startTime && this.#uid === uid && !this.destroyed
  }

  /** @throws PctodlError as the service's own clients get it */
  change(board: string, change: BoardChange): Promise<void> {
    const turn = this.#turns.then(async () => {
      const isNew = !this.#leased.has(board)
      if (isNew) {
        await this.#ask({ type: 'acquire', board })
        this.#leased.add(board)
      }
      try {
        await this.#ask({ type: 'change', board, change })
      } catch (error) {
        // Nobody keeps a board by asking for what is refused.
        if (isNew && this.#leased.delete(board)) await this.#ask({ type: 'release', board })
        throw error
      }
    })
    this.#turns = turn.catch(() => {})
    return turn
  }

  async #ask(body: ServiceRequestBody): Promise<void> {
    const line = JSON.stringify({ id: this.#nextId, body })
    try {
      // A request that is none would end the connection, and with it all leases.
      parseServiceRequest(line)
    } catch (error) {
      throw new PctodlError('BAD_REQUEST', error instanceof Error ? error.message : String(error))
    }
    if (this.destroyed) throw new PctodlError('SERVICE_GONE', 'the service is ending')
    await new Promise<void>((resolve, reject) => {
      this.#waiting.set(this.#nextId++, { resolve, reject })
      this.push(`${line}\n`)
    })
  }

  override _read(): void {}

  /** An answer of the service; each is written as a line by itself. */
  override _write(line: Buffer, _: unknown, done: () => void): void {
    const message: ServiceMessage = JSON.parse(line.toString())
    if ('event' in message) this.#leased.delete(message.board)
    else if (message.id !== null) {
      const waiting = this.#waiting.get(message.id)
      this.#waiting.delete(message.id)
      if ('error' in message) waiting?.reject(new PctodlError(message.error.code, message.error.message))
      else waiting?.resolve()
    }
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const { reject } of this.#waiting.values()) reject(new PctodlError('SERVICE_GONE', 'the service is ending'))
    this.#waiting.clear()
    done(error)
  }

  /** As a socket has it: nothing waits to be written here. */
  destroySoon(): void {
    this.destroy()
  }
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function addressOf({ url = '/' }: IncomingMessage): URL {
  try {
    return new URL(url, 'http://localhost')
  } catch (cause) {
    throw new PctodlError('BAD_REQUEST', 'this is no address', { cause })
  }
}

/** @param ids indices separated by commas; null means all */
function boardsOf(ids: string | null, keepers: readonly BoardKeeper[]): readonly BoardKeeper[] {
  if (ids === null) return keepers
  return [...new Set(ids.split(','))].map((id) => {
    const keeper = keepers.find(({ index }) => String(index) === id)
    if (!keeper) throw new PctodlError('NO_SUCH_BOARD', `this node has no GPU ${id.slice(0, 20)}`)
    return keeper
  })
}

/** @throws PctodlError `UNREADABLE` */
async function readingsOf(keeper: BoardKeeper): Promise<BoardReadings> {
  const readings = await keeper.read(READ_MS)
  if (readings) return readings
  throw new PctodlError('UNREADABLE', `GPU ${keeper.index} has not answered in ${READ_MS} ms`)
}

function milli(value: number | null): number {
  if (value === null) throw new PctodlError('UNREADABLE', 'the board does not tell it')
  return Math.round(1000 * value)
}

async function bodyOf(request: IncomingMessage): Promise<object> {
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length > MAX_BODY_BYTES) throw new PctodlError('BAD_REQUEST', `a body has at most ${MAX_BODY_BYTES} bytes`)
  }
  if (text === '') return {}
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return body
  } catch {
    // Told below.
  }
  throw new PctodlError('BAD_REQUEST', 'the body is no JSON object')
}

function rangeOf({ min_clock_mhz, max_clock_mhz }: Parameters): { readonly minMhz: number; readonly maxMhz: number } {
  return { minMhz: Number(min_clock_mhz), maxMhz: Number(max_clock_mhz) }
}
