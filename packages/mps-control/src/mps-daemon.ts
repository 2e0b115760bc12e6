import { given } from '@pctodl/command-line'
import {
  type BoardLease,
  childrenOf,
  commandLineOf,
  endProcess,
  endsWithin,
  isRunning,
  type NvmlDevice,
  type ProcessIdentity,
  processIdentity,
  startVariableOf,
  userOf,
} from '@pctodl/nvml-control'
import { InvalidInputError, systemClock } from '@pctodl/platform'
import { assertPercent, type ClientLimits, clientEnvironment } from './client-environment.js'
import { ControlProgram, type ControlProgramOptions } from './control-program.js'
import { MpsError } from './mps-errors.js'
import { MpsPlace, type MpsPlaceOptions } from './mps-place.js'
import { judgeState, type MpsState } from './mps-state.js'
import { type MpsServer, pidsIn, readServers, statusOf } from './servers.js'

type ProcessesOnBoard = readonly { readonly pid: number }[]

export interface MpsDaemonOptions extends MpsPlaceOptions, ControlProgramOptions {
  /** Board on which clients must run, as `verifyClient` checks with the driver. Default: any board. */
  readonly device?: Pick<NvmlDevice, 'subject'> & { computeProcesses(): ProcessesOnBoard | Promise<ProcessesOnBoard> }
}

export interface StartOptions {
  /** User whose processes will be the clients: a server serves only one. Default: the user of this process. */
  readonly uid?: number
  /** UUIDs of the boards that clients can use. Default: all. */
  readonly deviceUuids?: readonly string[]
  /** Leases of boards whose compute mode is to be EXCLUSIVE_PROCESS until `stop`, so that no process can bypass MPS. */
  readonly exclusive?: readonly Pick<BoardLease, 'setComputeMode' | 'resetComputeMode'>[]
  /** Share of clients that set none themselves, percent. Default 100. */
  readonly defaultPercent?: number
  /** Whether clients use static SM partitions instead of percentages, which only some daemons support. */
  readonly staticPartitioning?: boolean
  /** If it aborts, the start fails with the signal's reason and leaves nothing running. */
  readonly signal?: AbortSignal
}

export interface StopOptions {
  /** Time for clients to exit before they are terminated, ms. Default 10,000. */
  readonly graceMs?: number
}

export interface MpsStatus {
  readonly state: MpsState
  readonly reason?: string
  /** Null if none runs. */
  readonly daemon: ProcessIdentity | null
  /** Whether this package started the daemon, as the record of its place says. */
  readonly isOurs: boolean
  readonly servers: readonly MpsServer[]
  readonly pipeDirectory: string
  readonly logDirectory: string
}

const POLL_MS = 25
const START_MS = 30_000
/** Time between SIGTERM and SIGKILL in `cutOff`, ms. */
const CUT_OFF_MS = 400

export class MpsDaemon {
  readonly place: MpsPlace
  /** NVIDIA's control program for this daemon, for commands without a method here: `terminate_client`, `lspart`. */
  readonly control: ControlProgram
  readonly #device: MpsDaemonOptions['device']
  #state: MpsState = 'stopped'
  #exclusive: NonNullable<StartOptions['exclusive']> = []
  #started: StartOptions = {}

  constructor(options: MpsDaemonOptions = {}) {
    this.place = new MpsPlace(options)
    this.control = new ControlProgram(this.place, options)
    this.#device = options.device
  }

  /** The state at the last call of `status`, `start` or `stop`. */
  get state(): MpsState {
    return this.#state
  }

  /**
   * Starts a daemon and a server, and returns once both work. Removes and returns files that a dead daemon left.
   * @throws MpsError `MPS_ALREADY_RUNNING`, `MPS_FOREIGN_DAEMON`, `MPS_NO_PROGRAM`, `MPS_FOLDER`, `MPS_TIMEOUT`
   */
  async start(options: StartOptions = {}): Promise<{ readonly removed: readonly string[] }> {
    const { uid = process.getuid?.() ?? 0, exclusive = [], signal } = options
    const { deviceUuids, defaultPercent, staticPartitioning } = options
    signal?.throwIfAborted()
    if (defaultPercent !== undefined) assertPercent(defaultPercent)
    this.place.make(uid)
    await this.#assertFree()
    const removed = this.place.removeStale()
    this.#state = 'starting'
    this.#started = options
    try {
      for (const lease of exclusive) await lease.setComputeMode('exclusive-process')
      this.#exclusive = exclusive
      signal?.throwIfAborted()
      const devices = deviceUuids ? { CUDA_VISIBLE_DEVICES: deviceUuids.join(',') } : {}
      await this.control.startDaemon(staticPartitioning ? ['-S'] : [], devices, signal)
      const deadlineMs = systemClock.now() + START_MS
      const daemon = await this.#until(deadlineMs, 'its pid file names it', async () => this.place.daemon(), signal)
      this.place.writeRecord(daemon, uid)
      if (defaultPercent !== undefined) await this.set('default_active_thread_percentage', defaultPercent)
      await this.#startServer(uid, deadlineMs, signal)
      signal?.throwIfAborted()
      this.#state = 'active'
      return { removed }
    } catch (error) {
      // Ends everything that the start has begun, and restores the boards' compute modes.
      await this.cutOff().catch(() => {})
      this.#state = 'stopped'
      throw error
    }
  }

  async status(): Promise<MpsStatus> {
    const { daemon, isOurs } = this.#identify()
    // Without a pipe, no daemon can answer.
    const servers = this.place.hasPipe() ? await readServers(this.control).catch(ifSilent) : null
    const { state, reason } = judgeState(this.#state, daemon, servers)
    this.#state = state
    const { pipeDirectory, logDirectory } = this.place
    return { state, ...given({ reason }), daemon, isOurs, servers: servers ?? [], pipeDirectory, logDirectory }
  }

  /** @throws MpsError `MPS_NO_DAEMON` if none runs, `MPS_FAULT` if it is faulty */
  async assertHealthy(): Promise<void> {
    const { state, reason } = await this.status()
    if (state === 'fault')
      throw new MpsError('MPS_FAULT', `${reason}; end its clients, then call recover() or \`pctodl mps stop\``)
    if (state === 'stopped')
      throw new MpsError('MPS_NO_DAEMON', `no MPS daemon runs at ${this.place.pipeDirectory}; start one`)
  }

  async servers(signal?: AbortSignal): Promise<number[]> {
    return pidsIn(await this.control.ask('get_server_list', undefined, signal))
  }

  /** Pids of the clients of one server, or of all. @throws MpsError `MPS_NO_DAEMON` */
  async clients(server?: number, signal?: AbortSignal): Promise<number[]> {
    const found: number[] = []
    for (const pid of server === undefined ? await this.servers(signal) : [server]) {
      found.push(...pidsIn(await this.control.ask(`get_client_list ${pid}`, undefined, signal)))
    }
    return found
  }

  clientEnvironment(percent: number, limits?: ClientLimits): Record<string, string> {
    return clientEnvironment(this.place, percent, limits)
  }

  /**
   * Checks that a worker is a client of this daemon on its board. A process without the right environment, or in
   * another pid namespace, runs without MPS and without an error.
   * @throws MpsError `MPS_NOT_A_CLIENT` after the deadline, `MPS_WRONG_BOARD`; the signal's reason
   */
  async verifyClient(
    pid: number,
    { timeoutMs = 30_000, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const identity = processIdentity(pid)
    const deadlineMs = systemClock.now() + timeoutMs
    for (;;) {
      signal?.throwIfAborted()
      const isClient = (await this.clients(undefined, signal)).includes(pid)
      const isHere = !this.#device || (await this.#device.computeProcesses()).some((process) => process.pid === pid)
      if (isClient && isHere) return
      const gone = identity === null || !isRunning(identity)
      if (gone || systemClock.now() >= deadlineMs) {
        if (isClient && !gone) {
          const where = `a client of the MPS daemon, but not on ${this.#device?.subject}`
          const question =
            'does its own environment name another board (CUDA_VISIBLE_DEVICES), or does it do nothing on the board?'
          throw new MpsError('MPS_WRONG_BOARD', `process ${pid} is ${where}: ${question}`)
        }
        const user = this.place.record()?.uid ?? 'of the server'
        const question = `was it started with clientEnvironment(), by user ${user}, in this pid namespace, and does it use CUDA?`
        const why = gone ? 'it has ended' : `${timeoutMs} ms later it is in no server's client list: ${question}`
        throw new MpsError('MPS_NOT_A_CLIENT', `process ${pid} is no client of the MPS daemon: ${why}`)
      }
      await systemClock.sleep(POLL_MS)
    }
  }

  /**
   * Changes a setting for servers that start later, or for later clients of one server, and reads it back:
   * `set('default_client_priority', 1)`, `set('active_thread_percentage', 40, server)`,
   * `set('default_device_pinned_mem_limit', '2G', device)`. The daemon accepts a limit for any device, so the device is
   * checked here, as far as the `CUDA_VISIBLE_DEVICES` of the daemon names boards by their UUIDs.
   * @param target arguments that select the target of the setting
   * @throws MpsError `MPS_REFUSED` unless the new value is read back; `NOT_SUPPORTED` if the version lacks the setting;
   * InvalidInputError for a device that clients do not see
   */
  async set(setting: string, value: string | number, ...target: readonly (string | number)[]): Promise<void> {
    if (setting.endsWith('device_pinned_mem_limit')) this.#assertSeen(target.at(-1))
    const command = [`set_${setting}`, ...target, value].join(' ')
    await this.control.askIfKnown(command)
    const answer = (await this.control.askIfKnown([`get_${setting}`, ...target].join(' '))).join(' ').trim()
    // The daemon may report a percentage with one decimal, and a memory limit in another unit.
    if (!(Math.abs(numberIn(answer) - numberIn(String(value))) < 0.06)) {
      throw new MpsError('MPS_REFUSED', `the MPS daemon accepted '${command}', but reads back '${answer}'`)
    }
  }

  #assertSeen(device: string | number | undefined): void {
    const daemon = this.place.daemon()
    const seen = daemon && startVariableOf(daemon.pid, 'CUDA_VISIBLE_DEVICES')?.split(/\s*,\s*/)
    if (!seen || [...seen.keys(), ...seen].map(String).includes(String(device))) return
    // A number or an abbreviation may stand for the board of any UUID.
    if (isUuid(String(device)) && !seen.every(isUuid)) return
    throw new InvalidInputError('device', device, `a number below ${seen.length}, or one of ${seen.join(', ')}`)
  }

  /**
   * Recovers from a `fault`: restarts a faulty server once its last client has exited, or a lost daemon, with the
   * options of its start.
   * @throws MpsError `MPS_FAULT` if clients remain after `graceMs`
   */
  async recover({ graceMs = 10_000 }: StopOptions = {}): Promise<void> {
    const before = await this.status()
    if (before.state !== 'fault') return
    if (before.daemon === null) {
      await this.start(this.#started)
      return
    }
    const deadlineMs = systemClock.now() + graceMs
    for (const { pid } of before.servers.filter((server) => server.status === 'FAULT')) {
      while ((await this.clients(pid)).length > 0) {
        if (systemClock.now() >= deadlineMs) {
          const clients = (await this.clients(pid)).join(', ')
          throw new MpsError('MPS_FAULT', `clients ${clients} have not left the faulty server ${pid}; end them first`)
        }
        await systemClock.sleep(POLL_MS)
      }
      await this.control.askIfKnown(`shutdown_server ${pid} -f`)
    }
    await this.#startServer(this.place.record()?.uid ?? process.getuid?.() ?? 0, systemClock.now() + graceMs)
    this.#state = 'active'
  }

  /**
   * Ends a daemon that this package started, and restores compute modes. Clients have `graceMs` to finish and are then
   * terminated. If the daemon does not quit, its process is ended by pid.
   * @throws MpsError `MPS_FOREIGN_DAEMON`; `MPS_TIMEOUT` if the daemon survives SIGKILL
   */
  async stop({ graceMs = 10_000 }: StopOptions = {}): Promise<'quit' | 'ended' | 'killed' | 'not-running'> {
    const { daemon, isOurs } = this.#identify()
    if (daemon && !isOurs) throw this.#foreign(daemon)
    const servers = this.#serversOf(daemon ? [daemon] : [])
    if (daemon) this.#state = 'draining'
    const how = !daemon ? 'not-running' : (await this.#quit(daemon, graceMs)) ? 'quit' : await this.#end(daemon, 2000)
    // A server that outlives its daemon serves no clients, but the board remains in use.
    await Promise.all(servers.map((server) => endsWithin(server, 1000)))
    await this.#clear(servers)
    return how
  }

  /**
   * Ends at once all processes of this place, without waiting for clients: also a daemon that the record does not name
   * because its start was interrupted. Only for a place that nobody else uses.
   * @throws MpsError `MPS_TIMEOUT` if a process survives SIGKILL
   */
  async cutOff(): Promise<void> {
    const daemons = this.place.processes()
    const servers = this.#serversOf(daemons)
    // The daemon ends before its servers; otherwise it would start new ones.
    await Promise.all(daemons.map((each) => this.#end(each, CUT_OFF_MS)))
    await this.#clear(servers)
    // A control program that was just starting may have started further processes in the meantime.
    if (this.place.processes().length > 0) await this.cutOff()
  }

  /** Asks the daemon to quit, and returns whether it has. Clients that remain after `graceMs` are terminated. */
  async #quit(daemon: ProcessIdentity, graceMs: number): Promise<boolean> {
    // The daemon's timeout is in whole seconds. 5 s are added for its answer.
    const seconds = Math.max(1, Math.ceil(graceMs / 1000))
    const isThere = (await this.servers().catch(ifSilent)) !== null
    const asked = isThere && (await this.control.ask(`quit -t ${seconds}`, 1000 * seconds + 5000).catch(ifSilent))
    return asked !== false && asked !== null && endsWithin(daemon, 3000)
  }

  async #end(daemon: ProcessIdentity, graceMs: number): Promise<'ended' | 'killed'> {
    const outcome = await endProcess(daemon, graceMs)
    if (outcome === 'ended' || outcome === 'killed') return outcome
    const why = outcome === 'survived' ? 'does not end' : 'is not ours to end'
    throw new MpsError('MPS_TIMEOUT', `the MPS daemon (process ${daemon.pid}) ${why}`)
  }

  /** Ends the servers of a daemon that has ended, removes its files, and restores the boards' compute modes. */
  async #clear(servers: readonly ProcessIdentity[]): Promise<void> {
    await Promise.all(servers.map((server) => endProcess(server, CUT_OFF_MS)))
    this.place.removeStale()
    this.place.removeRecord()
    const leases = this.#exclusive
    this.#exclusive = []
    for (const lease of leases) {
      await lease.resetComputeMode().catch((error: unknown) => {
        // If the lease was released, it has already restored the mode.
        if ((error as { readonly code?: string }).code !== 'LEASE_RELEASED') throw error
      })
    }
    this.#state = 'stopped'
  }

  /** Returns the MPS servers that these daemons have started, for this user or the one whom the daemon serves. */
  #serversOf(daemons: readonly ProcessIdentity[]): ProcessIdentity[] {
    const users = [process.geteuid?.(), this.place.record()?.uid]
    return daemons
      .flatMap(({ pid }) => childrenOf(pid))
      .filter(({ pid }) => users.includes(userOf(pid) ?? -1) && /nvidia-cuda-mps/.test(commandLineOf(pid) ?? ''))
  }

  /** Returns the daemon that the pid file names, and whether the record matches it. */
  #identify(): { readonly daemon: ProcessIdentity | null; readonly isOurs: boolean } {
    const daemon = this.place.daemon()
    const ours = this.place.record()?.daemon
    return { daemon, isOurs: daemon !== null && ours?.pid === daemon.pid && ours.startTime === daemon.startTime }
  }

  /** @throws MpsError `MPS_ALREADY_RUNNING`, `MPS_FOREIGN_DAEMON` */
  async #assertFree(): Promise<void> {
    const { state, reason, daemon, isOurs, servers } = await this.status()
    if (daemon === null && state !== 'active') return
    if (!isOurs) throw this.#foreign(daemon)
    const clients = servers.reduce((sum, server) => sum + server.clients.length, 0)
    const what = `an MPS daemon that was started here runs already (${reason ?? `process ${daemon?.pid}, ${clients} clients`})`
    throw new MpsError('MPS_ALREADY_RUNNING', `${what}; use it, or \`pctodl mps stop\` it`)
  }

  #foreign(daemon: ProcessIdentity | null): MpsError {
    const who = daemon ? `process ${daemon.pid}` : 'not visible from here'
    const why = `the MPS daemon at ${this.place.pipeDirectory} (${who}) was started by somebody else`
    return new MpsError('MPS_FOREIGN_DAEMON', `${why}; leave it to them, or use another --directory`)
  }

  async #startServer(uid: number, deadlineMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    await this.control.ask(`start_server -uid ${uid}`, undefined, signal)
    const look = async () => {
      for (const server of await this.servers()) if ((await statusOf(this.control, server)) === 'ACTIVE') return true
      return null
    }
    await this.#until(deadlineMs, `a server of user ${uid} is ACTIVE`, look, signal)
  }

  /** Waits for a condition. @throws MpsError `MPS_TIMEOUT`; the signal's reason */
  async #until<T>(deadlineMs: number, what: string, look: () => Promise<T | null>, signal?: AbortSignal): Promise<T> {
    for (;;) {
      signal?.throwIfAborted()
      const found = await look()
      if (found !== null) return found
      const why = `the MPS daemon was started, but not in time so far that ${what}; see ${this.place.logDirectory}`
      if (systemClock.now() >= deadlineMs) throw new MpsError('MPS_TIMEOUT', why)
      await systemClock.sleep(POLL_MS)
    }
  }
}

const isUuid = (name: string) => /^(GPU|MIG)-[\da-f-]{36}$/i.test(name)

/** A number, or a memory limit in MiB: `2G` equals `2048M`; NaN for other texts. */
function numberIn(text: string): number {
  const [, value, unit] = /^([\d.]+)\s*([MG])?B?$/i.exec(text) ?? []
  return Number(value) * (unit?.toUpperCase() === 'G' ? 1024 : 1)
}

/** Returns null for the error of a daemon that does not answer; rethrows other errors. */
function ifSilent(error: unknown): null {
  if (error instanceof MpsError && (error.code === 'MPS_NO_DAEMON' || error.code === 'MPS_TIMEOUT')) return null
  throw error
}
