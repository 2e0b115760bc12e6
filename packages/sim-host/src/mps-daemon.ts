import { PctodlError } from '@pctodl/platform'

/** A process that uses the GPU through an MPS server. */
export interface MpsClient {
  readonly pid: number
  readonly deviceUuid: string
  readonly command: string
  /** Ends the work of the client and disconnects it with the given CUDA error. */
  terminate(cudaError: number): void
}

export interface MpsServer {
  readonly pid: number
  readonly uid: number
  activeThreadPercentage: number
  /** Whether a client had a fatal fault. The server then accepts no client until all its clients have left. */
  faulty: boolean
  readonly clients: MpsClient[]
  stop(): void
}

/** Starts a process that represents an MPS server. */
export type StartServer = () => { readonly pid: number; stop(): void }

/** CUDA error if the MPS server or its daemon has ended. */
const CUDA_MPS_RPC_FAILURE = 806
const CUDA_MPS_CLIENT_TERMINATED = 810

/** Maximum number of MPS clients per device, since Volta. */
const MAX_CLIENTS = 48

export interface MpsAnswer {
  readonly output: string
  /** Whether the daemon ends after this command. */
  readonly quit?: boolean
}

/** Thrown to an MPS client that gets a `cudaErrorMps...` code instead of a CUDA context. */
export class MpsConnectionError extends PctodlError {
  readonly cudaError: number

  constructor(cudaError: number, message: string) {
    super('MPS_CONNECTION', message)
    this.cudaError = cudaError
  }
}

/**
 * State and commands of one MPS control daemon (NVIDIA, Multi-Process Service, appendix on the control utility). Each
 * of its servers belongs to one user. A new thread percentage applies only to servers and clients that start later.
 */
export class MpsDaemon {
  readonly #startServer: StartServer
  readonly #servers: MpsServer[] = []
  readonly #deviceMemoryLimits = new Map<string, string>()
  #defaultPercentage = 100
  #defaultPriority = 0
  #quitting = false
  #waiting: (() => void)[] = []

  constructor(startServer: StartServer) {
    this.#startServer = startServer
  }

  /**
   * Connects a client to the server of its user, and starts the server if there is none.
   *
   * @throws MpsConnectionError if the daemon or the server refuses the client
   */
  connect(uid: number, client: MpsClient): MpsServer {
    if (this.#quitting) throw new MpsConnectionError(805, 'the MPS control daemon is shutting down')
    const other = this.#servers.find((server) => server.uid !== uid && server.clients.length > 0)
    if (other) throw new MpsConnectionError(807, `the MPS server belongs to user ${other.uid} and has clients`)
    const server = this.#servers.find((each) => each.uid === uid) ?? this.#start(uid)
    if (server.faulty) throw new MpsConnectionError(807, `the MPS server ${server.pid} recovers from a fatal fault`)
    if (server.clients.filter((each) => each.deviceUuid === client.deviceUuid).length >= MAX_CLIENTS) {
      throw new MpsConnectionError(808, `the MPS server has ${MAX_CLIENTS} clients already`)
    }
    server.clients.push(client)
    return server
  }

  disconnect(client: MpsClient): void {
    for (const server of this.#servers) {
      const index = server.clients.indexOf(client)
      if (index >= 0) server.clients.splice(index, 1)
      if (server.clients.length === 0) server.faulty = false
    }
    this.#wake()
  }

  /** Handles the end of the daemon process: its servers end, and the clients lose their CUDA contexts. */
  abandon(): void {
    this.#quitting = true
    for (const server of [...this.#servers]) this.#stop(server)
    this.#wake()
  }

  /** Handles a fatal fault of one client. Its server accepts no new clients until all its clients have left. */
  fault(pid: number): void {
    for (const server of this.#servers) if (server.clients.some((client) => client.pid === pid)) server.faulty = true
  }

  async command(line: string): Promise<MpsAnswer> {
    const [verb = '', ...args] = line.trim().split(/\s+/)
    const answer = (...lines: (string | number)[]): MpsAnswer => ({ output: lines.map((each) => `${each}\n`).join('') })
    switch (verb) {
      case '':
        return answer()
      case 'get_server_list':
        return answer(...this.#servers.map((server) => server.pid))
      case 'start_server': {
        const uid = Number(args[args.indexOf('-uid') + 1])
        if (!args.includes('-uid') || !Number.isInteger(uid) || uid < 0)
          return answer('Usage: start_server -uid <user id>')
        if (!this.#servers.some((server) => server.uid === uid)) this.#start(uid)
        return answer()
      }
      case 'shutdown_server':
        return this.#withServer(args[0], async (server) => {
          if (!args.includes('-f')) await this.#drained([server])
          this.#stop(server)
          return answer()
        })
      case 'get_server_status':
        return this.#withServer(args[0], async (server) => answer(server.faulty ? 'FAULT' : 'ACTIVE'))
      case 'get_client_list':
        return this.#withServer(args[0], async (server) => answer(...server.clients.map((client) => client.pid)))
      case 'get_device_client_list': {
        const servers =
          args[0] === undefined ? this.#servers : this.#servers.filter((each) => each.pid === Number(args[0]))
        const clients = servers.flatMap((server) => server.clients)
        const devices = [...new Set(clients.map((client) => client.deviceUuid))]
        return answer(
          ...devices.flatMap((uuid) => [
            `Device ${uuid}`,
            ...clients.filter((client) => client.deviceUuid === uuid).map((client) => client.pid),
          ]),
        )
      }
      case 'ps':
        return answer(...this.#snapshot(args[0] === '-p' ? Number(args[1]) : undefined))
      case 'get_default_active_thread_percentage':
        return answer(this.#defaultPercentage.toFixed(1))
      case 'set_default_active_thread_percentage': {
        const percentage = percentageOf(args[0])
        if (percentage === undefined) return answer('Invalid active thread percentage')
        this.#defaultPercentage = percentage
        return answer(percentage.toFixed(1))
      }
      case 'get_active_thread_percentage':
        return this.#withServer(args[0], async (server) => answer(server.activeThreadPercentage.toFixed(1)))
      case 'set_active_thread_percentage':
        return this.#withServer(args[0], async (server) => {
          const percentage = percentageOf(args[1])
          if (percentage === undefined) return answer('Invalid active thread percentage')
          server.activeThreadPercentage = percentage
          return answer(percentage.toFixed(1))
        })
      case 'get_default_device_pinned_mem_limit':
        return answer(...[this.#deviceMemoryLimits.get(args[0] ?? '') ?? []].flat())
      case 'set_default_device_pinned_mem_limit':
        if (!args[0] || !/^\d+[GM]$/i.test(args[1] ?? '')) return answer('Invalid device memory limit')
        this.#deviceMemoryLimits.set(args[0], args[1]!)
        return answer()
      case 'get_default_client_priority':
        return answer(this.#defaultPriority)
      case 'set_default_client_priority':
        if (args[0] !== '0' && args[0] !== '1') return answer('Invalid client priority')
        this.#defaultPriority = Number(args[0])
        return answer(this.#defaultPriority)
      case 'terminate_client':
        return this.#withServer(args[0], async (server) => {
          const client = server.clients.find((each) => each.pid === Number(args[1]))
          if (!client) return answer(`Client ${args[1] ?? ''} not found`)
          this.disconnect(client)
          client.terminate(CUDA_MPS_CLIENT_TERMINATED)
          return answer()
        })
      case 'quit':
        return this.#quit(args[0] === '-t' ? 1000 * Number(args[1]) : undefined)
      default:
        return answer(`Unknown command "${verb}"`)
    }
  }

  /** Waits until all clients have left, at most `timeoutMs` if given, and then stops the servers. */
  async #quit(timeoutMs: number | undefined): Promise<MpsAnswer> {
    this.#quitting = true
    await this.#drained(this.#servers, timeoutMs)
    for (const server of [...this.#servers]) this.#stop(server)
    return { output: '', quit: true }
  }

  async #drained(servers: readonly MpsServer[], timeoutMs?: number): Promise<void> {
    let late = false
    const end = () => {
      late = true
      this.#wake()
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs)
    while (!late && servers.some((server) => server.clients.length > 0)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    clearTimeout(timer)
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #start(uid: number): MpsServer {
    const standIn = this.#startServer()
    const server = {
      pid: standIn.pid,
      uid,
      activeThreadPercentage: this.#defaultPercentage,
      faulty: false,
      clients: [],
      stop: () => standIn.stop(),
    }
    this.#servers.push(server)
    return server
  }

  #stop(server: MpsServer): void {
    for (const client of server.clients.splice(0)) client.terminate(CUDA_MPS_RPC_FAILURE)
    this.#servers.splice(this.#servers.indexOf(server), 1)
    server.stop()
  }

  async #withServer(pid: string | undefined, act: (server: MpsServer) => Promise<MpsAnswer>): Promise<MpsAnswer> {
    const server = this.#servers.find((each) => each.pid === Number(pid))
    return server ? act(server) : { output: `Server ${pid ?? ''} not found\n` }
  }

  #snapshot(pid: number | undefined): string[] {
    const rows = this.#servers.flatMap((server) =>
      server.clients
        .filter((client) => pid === undefined || client.pid === pid)
        .map((client, id) =>
          [
            String(client.pid).padEnd(9),
            String(id).padEnd(5),
            String(server.pid).padEnd(9),
            client.deviceUuid.slice(0, 22).padEnd(23),
            String(client.pid).padEnd(10),
            client.command,
          ].join(' '),
        ),
    )
    return ['PID       ID    SERVER    DEVICE                  NAMESPACE  COMMAND', ...rows]
  }
}

function percentageOf(text: string | undefined): number | undefined {
  const percentage = Number(text)
  return text !== undefined && percentage > 0 && percentage <= 100 ? percentage : undefined
}
