import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BoardPhysics, type FaultScenario, loadName, SimulatedGpu } from '@pctodl/gpu-sim'
import {
  assertTenants,
  findGpuSpec,
  findMigProfile,
  given,
  InvalidInputError,
  PctodlError,
  systemClock,
  type Tenant,
} from '@pctodl/platform'
import type { BoardEventType, Privilege } from './board-file-layout.js'
import { type Attachment, ControlService } from './control-service.js'
import { HostBoard } from './host-board.js'
import { HostFolder, hostPrograms } from './host-folder.js'
import { controlSocket, settersSocket } from './host-folder-layout.js'
import { lspciScript } from './lspci-script.js'
import { nativeLibrary } from './native-library.js'
import { StandInProcess } from './stand-in-process.js'

export interface HostTenantLoad extends Tenant {
  /** Index of the board. Default 0. */
  readonly gpuIndex?: number
}

export interface SimulatedHostOptions {
  /** Key, product name or alias of the board. */
  readonly board: string
  /** Number of boards, 1 to 16. Default 1. */
  readonly gpus?: number
  /** Seed of the first board; each further board has the next integer as its seed. Default 1. */
  readonly seed?: number
  /**
   * Name of the host. Boards of hosts with different names have different UUIDs, so that these hosts can run side by
   * side with separate leases, journals and MPS folders. Without a name, UUIDs depend only on board and seed.
   */
  readonly name?: string
  /** Inference processes that run as long as the host. */
  readonly load?: readonly HostTenantLoad[]
  /** Who may change a board. Default `root`, as with the driver. */
  readonly privilege?: Privilege
  /** Faults and their times, for every board. Default: none. For one board: `host.gpus[0].strike`. */
  readonly faults?: FaultScenario
  /** Coefficients of the board's model that replace the defaults, for example the start time of a process. */
  readonly physics?: BoardPhysics
  /** MIG profiles into which each board is divided at the start, e.g. `3g.20gb`. Default: MIG mode is off. */
  readonly mig?: readonly string[]
  /** Folder in which the compiled library is cached. Default: a folder in the user's cache. */
  readonly cacheFolder?: string
  /** Folder of the built host programs. Default: the build output of this package. */
  readonly programsFolder?: string
}

/** Interval at which the host checks the board files for requests, ms. */
const REQUEST_PERIOD_MS = 5
/** Number of request intervals per published state: one state every 20 ms. */
const PERIODS_PER_STATE = 4

/** Maximum wait for the first sensor readings, ms. Sensors refresh ten times a second. */
const SENSOR_WAIT_MS = 1000

const exec = promisify(execFile)

/**
 * Runs simulated boards in wall-clock time. Programs started with the variables of `environment` see the boards through
 * `libnvidia-ml.so.1`, `nvidia-smi` and `nvidia-cuda-mps-control`.
 */
export class SimulatedHost {
  /** Environment variables with which a program sees the simulated boards. */
  readonly environment: Readonly<Record<string, string>>
  /** Path of the host's private folder. */
  readonly folder: string
  readonly gpus: readonly SimulatedGpu[]
  readonly #place: HostFolder
  readonly #boards: readonly HostBoard[]
  readonly #control: ControlService
  readonly #standIns: StandInProcess[] = []
  #load: { readonly attachment: Attachment; readonly standIn: StandInProcess }[] = []
  #timer: NodeJS.Timeout | undefined
  #closed = false

  private constructor(
    place: HostFolder,
    gpus: readonly SimulatedGpu[],
    boards: readonly HostBoard[],
    privilege: Privilege,
  ) {
    this.#place = place
    this.folder = place.path
    this.gpus = gpus
    this.#boards = boards
    this.environment = environmentOf(place)
    const startServer = () => this.#standIn('nvidia-cuda-mps-server', () => {})
    this.#control = new ControlService({ boards, privilege, startServer })
  }

  /**
   * Starts a host.
   *
   * @throws PctodlError `NO_COMPILER` if the native library cannot be built
   * @throws UnknownNameError if the board cannot be simulated
   */
  static async start(options: SimulatedHostOptions): Promise<SimulatedHost> {
    const { gpus: gpuCount = 1, seed = 1, load = [], privilege = 'root' } = options
    if (!Number.isInteger(gpuCount) || gpuCount < 1 || gpuCount > 16) {
      throw new InvalidInputError('gpus', gpuCount, 'an integer of 1 to 16')
    }
    const stray = load.find(({ gpuIndex = 0 }) => gpuIndex >= gpuCount)
    if (stray) throw new InvalidInputError('load[].gpuIndex', stray.gpuIndex, `a board of 0 to ${gpuCount - 1}`)
    if (load.length > 0) assertTenants(load, { oversubscribe: true })
    for (const { model } of load) loadName(model)
    if (options.mig && load.length > 0) throw new InvalidInputError('load', load.length, 'none on divided boards')
    if (process.platform !== 'linux') {
      throw new PctodlError(
        'HOST_PROGRAM_MISSING',
        `host mode needs Linux, this is ${process.platform}; use SimulatedGpu in process`,
      )
    }
    const spec = findGpuSpec(options.board)
    for (const profile of options.mig ?? []) findMigProfile(spec, profile)
    const gpus = Array.from(
      { length: gpuCount },
      (_, i) =>
        new SimulatedGpu(spec, {
          clock: systemClock,
          seed: seed + i,
          mps: 'off',
          ...given({ physics: options.physics, faults: options.faults }),
        }),
    )
    const library = nativeLibrary({
      sourceFolder: join(packageFolder(), 'native'),
      prebuiltFolder: join(packageFolder(), 'prebuilt'),
      ...given({ cacheFolder: options.cacheFolder }),
    })
    const place = new HostFolder({
      library,
      programsFolder: options.programsFolder ?? builtPrograms(),
    })
    try {
      // If only root may change a board, no other user may write the file: a writer could also block readers.
      const fileMode = process.geteuid?.() !== 0 ? 0o600 : privilege === 'everyone' ? 0o666 : 0o644
      const boards = await Promise.all(
        gpus.map((gpu, gpuIndex) =>
          HostBoard.create(gpu, {
            folder: place.path,
            gpuIndex,
            gpuCount,
            seed: seed + gpuIndex,
            hostName: options.name,
            privilege,
            fileMode,
          }),
        ),
      )
      const lspci = lspciScript(
        boards.map((board) => board.identity),
        process.env['PATH'] ?? '',
      )
      writeFileSync(join(place.programs, 'lspci'), lspci, { mode: 0o755 })
      const host = new SimulatedHost(place, gpus, boards, privilege)
      try {
        for (const board of boards) if (options.mig) board.divide(options.mig)
        await host.#open(load)
      } catch (error) {
        host.close()
        throw error
      }
      return host
    } catch (error) {
      place.remove()
      throw error
    }
  }

  /** UUID, name and bus id of each board, as the driver reports them. */
  get boards(): readonly { readonly uuid: string; readonly name: string; readonly busId: string }[] {
    return this.#boards.map(({ identity: { uuid, name, busId } }) => ({ uuid, name, busId }))
  }

  /** Ends the host and removes its folder. Programs that still run lose their boards. A second call does nothing. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#control.close()
    for (const board of this.#boards) board.close()
    for (const standIn of this.#standIns.splice(0)) standIn.stop()
    this.#place.remove()
  }

  /**
   * Makes a board fall off the bus: every NVML call for it then returns `NVML_ERROR_GPU_IS_LOST`. Other boards are not
   * affected.
   */
  async loseBoard(gpuIndex: number): Promise<void> {
    await this.#board(gpuIndex).setAbsence('lost')
  }

  /** Resets a lost board. The board becomes available again with the driver's default settings. */
  async findBoard(gpuIndex: number): Promise<void> {
    await this.#board(gpuIndex).setAbsence(null)
  }

  /**
   * Raises an NVML event without any other effect on the board.
   *
   * @param data number of the XID for an XID event
   */
  raiseEvent(gpuIndex: number, event: BoardEventType, data = 0): void {
    this.#board(gpuIndex).raise(event, data)
  }

  /** Unloads the driver: no board responds, and programs cannot open any. */
  async stopDriver(): Promise<void> {
    for (const board of this.#boards) await board.setAbsence('stopped')
  }

  /** Loads the driver again: all boards become available with the default settings. */
  async startDriver(): Promise<void> {
    for (const board of this.#boards) await board.setAbsence(null)
  }

  #board(gpuIndex: number): HostBoard {
    const board = this.#boards[gpuIndex]
    if (!board) throw new InvalidInputError('gpuIndex', gpuIndex, `a board of 0 to ${this.#boards.length - 1}`)
    return board
  }

  async #open(load: readonly HostTenantLoad[]): Promise<void> {
    // The first state is published only when the sensors have readings, because a reading of 0 W would be wrong. The
    // wait is limited, because a fault scenario may prevent readings.
    for (let waitedMs = 0; waitedMs < SENSOR_WAIT_MS; waitedMs += REQUEST_PERIOD_MS) {
      if ((await Promise.all(this.#boards.map((board) => board.isMeasuring()))).every(Boolean)) break
      await systemClock.sleep(REQUEST_PERIOD_MS)
    }
    for (const board of this.#boards) await board.publish()
    await this.#control.listen(controlSocket(this.folder), settersSocket(this.folder))
    this.#schedule(0)
    if (load.some((tenant) => tenant.mpsPercent < 100)) await this.#startMps()
    for (const tenant of load) this.#launch(tenant)
  }

  #schedule(period: number): void {
    this.#timer = setTimeout(async () => {
      for (const board of this.#boards) {
        if (this.#closed) return
        await board.serveRequests()
        if (!this.#closed && period % PERIODS_PER_STATE === 0) await board.publish()
        this.#control.strike(board)
      }
      this.#endFailedLoad()
      if (!this.#closed) this.#schedule(period + 1)
    }, REQUEST_PERIOD_MS)
  }

  /** Starts the MPS daemon, which a load with shares below 100 % needs. */
  async #startMps(): Promise<void> {
    const env = { ...process.env, ...this.environment }
    await exec(join(this.#place.programs, 'nvidia-cuda-mps-control'), ['-d'], { env })
  }

  #launch({ gpuIndex = 0, model, mpsPercent, batchSize }: HostTenantLoad): void {
    const name = `simulated-${model}`
    let detach = () => {}
    const standIn = this.#standIn(name, () => detach())
    const attachment = this.#control.attach(
      {
        kind: 'attach',
        pid: standIn.pid,
        uid: process.getuid?.() ?? 0,
        name,
        gpu: String(gpuIndex),
        pipeDirectory: this.#place.mpsPipes,
        tenant: { model, mpsPercent, batchSize },
        stepwise: false,
      },
      () => standIn.stop(),
    )
    detach = () => attachment.detach()
    this.#load.push({ attachment, standIn })
  }

  /** Ends the processes whose simulated work failed (out of memory, or a fault), as a real process would end. */
  #endFailedLoad(): void {
    const failed = this.#load.filter(({ attachment }) => attachment.tenant.process.state === 'failed')
    if (failed.length === 0) return
    this.#load = this.#load.filter((each) => !failed.includes(each))
    for (const { attachment, standIn } of failed) {
      attachment.detach()
      standIn.stop()
    }
  }

  #standIn(name: string, onExit: () => void): StandInProcess {
    const standIn = new StandInProcess(this.#place.standIns, name, onExit)
    this.#standIns.push(standIn)
    return standIn
  }
}

function environmentOf(place: HostFolder): Record<string, string> {
  const before = (folder: string, variable: string) => {
    const present = process.env[variable]
    return present ? `${folder}:${present}` : folder
  }
  return {
    PATH: before(place.programs, 'PATH'),
    LD_LIBRARY_PATH: before(place.libraries, 'LD_LIBRARY_PATH'),
    // Programs must use this host's MPS daemon, not the daemon of the machine.
    CUDA_MPS_PIPE_DIRECTORY: place.mpsPipes,
    CUDA_MPS_LOG_DIRECTORY: place.mpsLogs,
    PCTODL_GPU_SIM_FOLDER: place.path,
    // Lock files that normally apply to the whole machine apply only to this host.
    PCTODL_LOCK_DIR: join(place.path, 'locks'),
  }
}

/** Returns the package's folder, for modules in `src` and in `dist`. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'native', 'nvml_abi.h'))) {
    if (folder === dirname(folder)) {
      throw new PctodlError(
        'HOST_PROGRAM_MISSING',
        'the C sources of the simulated NVML library are missing; reinstall @pctodl/sim-host',
      )
    }
    folder = dirname(folder)
  }
  return folder
}

function builtPrograms(): string {
  const beside = join(dirname(fileURLToPath(import.meta.url)), 'programs')
  const built = join(packageFolder(), 'dist', 'programs')
  const missingIn = (folder: string) => hostPrograms.find((program) => !existsSync(join(folder, `${program}.cjs`)))
  if (!missingIn(beside)) return beside
  const missing = missingIn(built)
  if (missing)
    throw new PctodlError(
      'HOST_PROGRAM_MISSING',
      `${join(built, `${missing}.cjs`)} is missing; build @pctodl/sim-host first`,
    )
  return built
}
