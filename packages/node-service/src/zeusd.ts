import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type BoardChange,
  isRunning,
  type ProcessIdentity,
  parseServiceRequest,
  processIdentity,
  reasonOf,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { BoardKeeper } from './board-keeper.js'
import { answerOf, type ConnectionHost, endLeasesOf } from './client-connection.js'
import type { Holder } from './held-lease.js'
import type { BoardReadings } from './kept-board.js'
import { listenOn } from './listening-socket.js'
import { type Peer, peerOf } from './peer-credentials.js'

type ZeusdHost = Pick<ConnectionHost, 'boards' | 'policy' | 'onRefused' | 'onInternalError'>

const MAX_CONNECTIONS = 128
const MAX_CONNECTIONS_OF_USER = 16
const MAX_PROCESSES_OF_USER = 32
const MAX_BODY_BYTES = 4096
/** Idle time after which the server closes a connection, ms. Zeus closes it after 5 s; the server must wait longer. */
const KEEP_ALIVE_MS = 30_000
const READ_MS = 400
/** Interval between two checks whether client processes still run, ms. */
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

/** The settings that Zeus may change, by the last part of the URL's path. */
const setters: Readonly<Record<string, (parameters: Parameters) => BoardChange>> = {
  set_power_limit: ({ power_limit_mw }) => ({ kind: 'power-limit', powerLimitW: Number(power_limit_mw) / 1000 }),
  set_persistence_mode: ({ enabled }) => ({ kind: 'persistence', enabled: String(enabled) === 'true' }),
  set_gpu_locked_clocks: (parameters) => ({ kind: 'sm-clock', range: rangeOf(parameters) }),
  reset_gpu_locked_clocks: () => ({ kind: 'sm-clock', range: null }),
  set_mem_locked_clocks: (parameters) => ({ kind: 'mem-clock', range: rangeOf(parameters) }),
  reset_mem_locked_clocks: () => ({ kind: 'mem-clock', range: null }),
}

/** The values that Zeus may read, by the last part of the URL's path. */
const getters: Readonly<Record<string, (readings: BoardReadings) => object>> = {
  get_cumulative_energy: ({ energyJ }) => ({ energy_mj: milli(energyJ) }),
  get_persistence_mode: ({ persistence }) => ({ enabled: persistence }),
  get_power_limit: ({ powerLimitW }) => ({ power_limit_mw: milli(powerLimitW) }),
  get_power_limit_constraints: ({ limits }) => ({
    min_power_limit_mw: milli(limits?.minW),
    max_power_limit_mw: milli(limits?.maxW),
  }),
}

/**
 * Serves the HTTP interface of zeusd (the daemon of Zeus) on a unix socket, which clients find by `ZEUSD_SOCK_PATH`. A
 * program's first change leases the board, under the same policy and audit log as for other clients. Because HTTP
 * connections are short, the lease lasts until the client's process exits.
 */
export class ZeusdServer {
  readonly #host: ZeusdHost
  readonly #server: Server
  readonly #peers = new Map<Socket, Peer>()
  /** The sessions, by process and user of the client. */
  readonly #sessions = new Map<string, ZeusSession>()
  readonly #timer: NodeJS.Timeout = setInterval(() => this.#endGone(), LOOK_MS).unref()

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

  /** At first only root can connect; the service then lets in the policy's users. @throws PctodlError `SOCKET` */
  static async start(socket: string, host: ZeusdHost): Promise<ZeusdServer> {
    const zeusd = new ZeusdServer(host)
    await listenOn(zeusd.#server, socket, 0o600)
    return zeusd
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await Promise.all([...this.#sessions.values()].map((session) => session.end('the service is ending')))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answer(request)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    } catch (error) {
      const { code, message } =
        error instanceof PctodlError ? error : { code: 'INTERNAL', message: 'the service failed; see its journal' }
      // The connection is closed at once: the rest of a request that is too large is not awaited.
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
    // URLs are /gpu/<verb>?gpu_ids=0,1 or, before Zeus 0.12, /gpu/0/<verb> with a JSON body.
    const [, id, verb = ''] = /^\/gpu\/(?:(\d{1,4})\/)?(\w+)$/.exec(pathname) ?? []
    const ids = id ?? searchParams.get('gpu_ids')
    const meant = boardsOf(ids, keepers)
    const setter = own(setters, verb)
    if (setter && request.method === 'POST') {
      if (ids === null) throw new PctodlError('BAD_REQUEST', 'gpu_ids is missing')
      const change = valid(setter({ ...Object.fromEntries(searchParams), ...(await bodyOf(request)) }))
      const session = this.#sessionOf(this.#peers.get(request.socket))
      for (const keeper of meant) await session.change(keeper, change)
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

  #sessionOf(peer: Peer | undefined): ZeusSession {
    const process = peer && peer.pid > 0 ? processIdentity(peer.pid) : null
    if (!peer || !process) {
      const why = 'the process that asks cannot be seen from here, so it would not be noticed when it ends'
      throw new PctodlError('NOT_ALLOWED', `${why}; run the service in the pid namespace of the host`)
    }
    const key = [peer.uid, process.pid, process.startTime].join()
    const known = this.#sessions.get(key)
    if (known) return known
    const ofUser = [...this.#sessions.keys()].filter((each) => each.startsWith(`${peer.uid},`))
    if (ofUser.length >= MAX_PROCESSES_OF_USER)
      throw new PctodlError('TOO_MANY', 'too many programs of this user have a board')
    const session = new ZeusSession(process, peer, this.#host)
    this.#sessions.set(key, session)
    return session
  }

  #endGone(): void {
    for (const [key, session] of this.#sessions) {
      if (isRunning(session.process)) continue
      this.#sessions.delete(key)
      void session.end('its process has ended')
    }
  }
}

/** A client process that has requested a change, and its leases. */
class ZeusSession {
  readonly #host: ZeusdHost
  readonly #holder: Holder
  #hasEnded = false
  /** Runs changes one at a time, so that two of them do not both acquire the board. */
  #turns: Promise<unknown> = Promise.resolve()

  constructor(
    readonly process: ProcessIdentity,
    peer: Peer,
    host: ZeusdHost,
  ) {
    this.#host = host
    this.#holder = { peer, program: 'zeus', onEnded: () => {} }
  }

  /** Makes a change. @throws PctodlError the errors that clients of the service's own protocol get */
  change(keeper: BoardKeeper, change: BoardChange): Promise<void> {
    const turn = this.#turns.then(() => this.#change(keeper, change))
    this.#turns = turn.catch((error) => void answerOf(error, this.#holder, this.#host))
    return turn
  }

  /** Also ends a lease that is still being acquired. */
  end(why: string): Promise<void> {
    this.#hasEnded = true
    return endLeasesOf(this.#holder, this.#host.boards, why, this.#turns)
  }

  async #change(keeper: BoardKeeper, change: BoardChange): Promise<void> {
    if (this.#hasEnded) throw new PctodlError('SERVICE_GONE', 'the process, or the service, is ending')
    const { uuid } = keeper
    const { peer } = this.#holder
    const present = keeper.leaseOf(uuid, this.#holder)
    if (present && !present.ending) return keeper.change(present, change, this.#host.policy)
    this.#host.policy().assertMayLease(peer, uuid)
    const { held } = await keeper.acquire(uuid, this.#holder)
    try {
      await keeper.change(held, change, this.#host.policy)
    } catch (error) {
      // The change was refused, so the lease that was acquired only for it ends.
      await keeper.end(held, null)
      throw error
    }
  }
}

/** Returns the change if the service's own protocol accepts it. @throws PctodlError `BAD_REQUEST` */
function valid(change: BoardChange): BoardChange {
  try {
    parseServiceRequest(JSON.stringify({ id: 0, body: { type: 'change', board: 'GPU-0', change } }))
    return change
  } catch (error) {
    throw new PctodlError('BAD_REQUEST', reasonOf(error))
  }
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function addressOf({ url = '/' }: IncomingMessage): URL {
  if (!URL.canParse(url, 'http://localhost')) throw new PctodlError('BAD_REQUEST', 'this is no address')
  return new URL(url, 'http://localhost')
}

/** @param ids GPU indices separated by commas; null for all boards */
function boardsOf(ids: string | null, keepers: readonly BoardKeeper[]): readonly BoardKeeper[] {
  if (ids === null) return keepers
  return [...new Set(ids.split(','))].map((id) => {
    const keeper = keepers.find(({ index }) => String(index) === id)
    if (!keeper) throw new PctodlError('NO_SUCH_BOARD', `this node has no GPU ${id.slice(0, 20)}`)
    return keeper
  })
}

async function readingsOf(keeper: BoardKeeper): Promise<BoardReadings> {
  const readings = await keeper.read(READ_MS)
  if (readings) return readings
  throw new PctodlError('UNREADABLE', `GPU ${keeper.index} has not answered in ${READ_MS} ms`)
}

function milli(value: number | null | undefined): number {
  if (typeof value !== 'number') throw new PctodlError('UNREADABLE', 'the board does not tell it')
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
    // Reported below.
  }
  throw new PctodlError('BAD_REQUEST', 'the body is no JSON object')
}

function rangeOf({ min_clock_mhz, max_clock_mhz }: Parameters): { readonly minMhz: number; readonly maxMhz: number } {
  return { minMhz: Number(min_clock_mhz), maxMhz: Number(max_clock_mhz) }
}
