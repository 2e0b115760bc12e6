import { homedir } from 'node:os'
import path from 'node:path'
import { MpsDaemon } from '@pctodl/mps-control'
import { type NvmlGpu, openGpu } from '@pctodl/nvml-control'
import { findGpuSpec, PctodlError, systemClock } from '@pctodl/platform'
import {
  commandWorker,
  InferencePool,
  type InferencePoolOptions,
  imageFolder,
  onnxWorker,
  RequestDesk,
  syntheticImages,
  torchWorker,
  type WorkerKind,
} from '@pctodl/tenants'
import type { Backend, TrafficOf } from './backend.js'
import { detectGpus } from './detect-gpus.js'
import { MpsTenants } from './mps-tenants.js'
import { type OpenedMps, openMps } from './opened-mps.js'
import { realOccupancy } from './real-occupancy.js'
import { visibleGpus } from './visible-gpus.js'
import { workerWords } from './worker-words.js'

export interface RealBackendOptions {
  /** Index, UUID, PCI bus id, or name of the board. */
  readonly gpu: string
  /**
   * `torch`, `onnx`, or a command that implements the protocol of `@pctodl/tenants`; see `workerWords`. Default
   * `torch`.
   */
  readonly worker?: string
  /** Folder of images. Default: synthetic images. */
  readonly dataset?: string
  /** PyTorch workers reuse inputs that stay in GPU memory instead of copying them for each batch. Default false. */
  readonly residentInputs?: boolean
  /**
   * Whether to refuse an MPS client that the driver does not list on the board. Set it to false if the driver hides the
   * processes of containers; `occupancy` then shows which tenants are on the board. Default true.
   */
  readonly verifyBoard?: boolean
  /** Seed of the images. Default 1. */
  readonly seed?: number
  /** Request traffic of each service. If set, the result has a `desk`. Default: tenants run batches continuously. */
  readonly trafficOf?: TrafficOf
  /** Share the board through MPS. Without MPS, shares have no effect. Default true. */
  readonly mps?: boolean
  /** Folder of prepared images. Default: a folder in the user's cache. */
  readonly cacheFolder?: string
  /** Called with messages about workers and images. */
  readonly onMessage?: (message: string) => void
  /** Further options of the pool, such as its timeouts and log folder. */
  readonly pool?: Partial<Omit<InferencePoolOptions, 'worker' | 'images' | 'mps' | 'desk'>>
}

/**
 * Opens a real board through NVML, with an MPS daemon and inference processes, in real time. The MPS daemon belongs to
 * the node service if the service holds the board's lease, else to this process. The daemon and the processes start
 * with the first tenants. Clocks and limits change only through a lease.
 *
 * @throws PctodlError `NO_BOARD` without such a board or without a driver; NvmlError if the driver fails
 */
export async function openReal(options: RealBackendOptions): Promise<Backend> {
  const { worker: workerName = 'torch', dataset, seed = 1, trafficOf, mps = true, onMessage = () => {} } = options
  const gpu = await openGpu(boardId(options.gpu))
  const { index, uuid } = await gpu.info()
  const worker = workerKind(workerName, options.residentInputs ?? false)
  const folder =
    options.cacheFolder ??
    path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'pctodl-tenants', 'images')
  const images = await (dataset === undefined
    ? syntheticImages({ folder, seed })
    : imageFolder({ dataset: path.resolve(dataset), folder, seed }))
  const desk = trafficOf ? new RequestDesk({ trafficOf }) : undefined
  const makePool = async (opened: OpenedMps | null) => {
    onMessage(`tenants: ${worker.name} on ${images.description}`)
    return new InferencePool({
      ...options.pool,
      worker,
      images,
      ...(desk ? { desk } : {}),
      ...(opened ? { mps: opened } : {}),
      // The daemon already restricts its clients to this board. Inside a client, CUDA_VISIBLE_DEVICES would select
      // among the boards that the daemon shows.
      environment: { ...process.env, CUDA_VISIBLE_DEVICES: opened ? undefined : uuid },
      onEvent: (event) => {
        options.pool?.onEvent?.(event)
        if (event.kind !== 'ended')
          onMessage(`tenant ${event.tenant.model} (${event.tenant.mpsPercent} %) ${event.kind}: ${event.message}`)
      },
    })
  }
  const device = options.verifyBoard === false ? {} : { device: gpu.device }
  const tenants = new MpsTenants({
    openMps: mps ? () => openMps(gpu, new MpsDaemon({ board: uuid, ...device }), onMessage) : null,
    makePool,
  })
  return {
    kind: 'nvml',
    description: `${gpu.spec.name} (board ${index}, ${uuid}), ${mps ? 'MPS' : 'without MPS'}, ${worker.name}, real time, ${way(gpu.access)}`,
    inputs: `${worker.name}, ${images.description}, ${mps ? 'MPS' : 'without MPS'}`,
    gpu,
    tenants,
    occupancy: () => realOccupancy(gpu, tenants),
    clock: systemClock,
    ...(desk ? { desk } : {}),
    livesInProcess: false,
    close: () => {
      desk?.close()
      return tenants.close()
    },
  }
}

function way({ kind, reason }: NvmlGpu['access']): string {
  return kind === 'service' ? 'changed through the node service' : `changed by this program (${reason})`
}

function workerKind(name: string, residentInputs: boolean): WorkerKind {
  if (name === 'torch') return torchWorker({ residentInputs })
  if (name === 'onnx') return onnxWorker()
  return commandWorker(workerWords(name))
}

/**
 * Returns the index, UUID or bus id by which NVML finds a board. A UUID or bus id is returned as given, and an index
 * must exist. A name selects the first board of that type among those that `CUDA_VISIBLE_DEVICES` leaves to this
 * process.
 *
 * @throws PctodlError `NO_BOARD`, UnknownNameError
 */
function boardId(gpu: string): string | number {
  if (isRealBoardId(gpu) && !isIndex(gpu)) return gpu
  const { gpus, notes } = detectGpus()
  const visible = process.env['CUDA_VISIBLE_DEVICES']
  const found = isIndex(gpu)
    ? gpus.find(({ index }) => index === Number(gpu))
    : visibleGpus(gpus, visible).find(({ key }) => key === findGpuSpec(gpu).key)
  if (found) return found.index
  const wanted = isIndex(gpu) ? `board ${gpu}` : findGpuSpec(gpu).name
  const present = gpus.map(({ index, name }) => `${index}: ${name}`).join(', ')
  const left = visible === undefined || visible === '' ? [] : [`CUDA_VISIBLE_DEVICES is ${visible}`]
  throw new PctodlError(
    'NO_BOARD',
    `no ${wanted} is in this machine (${[present === '' ? 'there is none' : `there: ${present}`, ...left, ...notes].join('; ')})`,
  )
}

function isIndex(gpu: string): boolean {
  return /^\d+$/.test(gpu)
}

/** True if `gpu` is an index, UUID or PCI bus id, and so names a board of this machine and not a board type. */
export function isRealBoardId(gpu: string): boolean {
  return isIndex(gpu) || /^GPU-|:/.test(gpu)
}
