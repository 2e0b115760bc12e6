import { InvalidInputError } from '@pctodl/platform'
import type { PlanFile } from './plan-file.js'

/** One training process of a plan: what to start, in which environment, and under which limit. */
export interface ShardCommand {
  readonly gpu: string
  /** Index or UUID: what both NVML and CUDA take. */
  readonly device: string
  readonly rank: number
  readonly share: number
  readonly powerLimitW: number
  /** To be locked, MHz; null: the firmware chooses. */
  readonly smClockMhz: number | null
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

export interface ShardOptions {
  /** `{share}`, `{rank}`, `{world}` and `{weight}` stand for those of the process. */
  readonly command: readonly string[]
  /** Name of a GPU in the plan -> which GPU of its machine it is: all by index, or all by UUID. CUDA knows no PCI bus ids. */
  readonly devices: ReadonlyMap<string, string>
  readonly masterAddress: string
  readonly masterPort: number
}

/**
 * The processes of a plan, with the environment that `torchrun` gives its workers (`RANK`, `LOCAL_RANK`, `WORLD_SIZE`, ...), so that
 * `init_process_group` finds them, and what makes their shares uneven:
 *
 * - `PCTODL_SHARE`: samples of this process in each step, `PCTODL_BATCH_BEGIN` to `PCTODL_BATCH_END` of the shuffled global batch.
 * - `PCTODL_MICRO_BATCHES`: in how many parts, as even as there are, its memory can do the share; their gradients are accumulated.
 * - `PCTODL_LOSS_SCALE`: factor for the mean loss of the share. Data-parallel training averages the gradients of all processes
 *   alike; the gradient of the whole batch is the sum of (share / batch) * gradient, so each loss counts world size * share / batch.
 *
 * GPUs that the plan leaves out get no process.
 *
 * @throws InvalidInputError for a GPU without a device, and for devices that `CUDA_VISIBLE_DEVICES` does not take
 */
export function shardCommands(plan: PlanFile, options: ShardOptions): ShardCommand[] {
  const { command, devices, masterAddress, masterPort } = options
  const active = plan.gpus.flatMap((gpu) =>
    gpu.powerLimitW === null ? [] : [{ ...gpu, powerLimitW: gpu.powerLimitW }],
  )
  const world = active.length
  const visible = visibleDevices(active.map(({ name }) => deviceOf(name, devices)))
  let begin = 0
  return active.map(({ name, share, powerLimitW, smClockMhz = null, microBatches = 1 }, rank): ShardCommand => {
    const weight = share / plan.globalBatch
    const values: Readonly<Record<string, string>> = {
      '{share}': String(share),
      '{rank}': String(rank),
      '{world}': String(world),
      '{weight}': String(weight),
    }
    const environment = {
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      CUDA_VISIBLE_DEVICES: visible,
      RANK: String(rank),
      LOCAL_RANK: String(rank),
      WORLD_SIZE: String(world),
      LOCAL_WORLD_SIZE: String(world),
      MASTER_ADDR: masterAddress,
      MASTER_PORT: String(masterPort),
      PCTODL_GLOBAL_BATCH: String(plan.globalBatch),
      PCTODL_SHARE: String(share),
      PCTODL_BATCH_BEGIN: String(begin),
      PCTODL_BATCH_END: String(begin + share),
      PCTODL_LOSS_SCALE: String(world * weight),
      PCTODL_MICRO_BATCHES: String(microBatches),
    }
    begin += share
    return {
      gpu: name,
      device: deviceOf(name, devices),
      rank,
      share,
      powerLimitW,
      smClockMhz,
      command: command.map((word) =>
        word.replace(/\{(share|rank|world|weight)\}/g, (placeholder) => values[placeholder]!),
      ),
      environment,
    }
  })
}

/** What CUDA takes: indices in the order of PCI bus ids, or UUIDs; a list of both ends at the first of the other kind. */
function visibleDevices(devices: readonly string[]): string {
  const isUuid = (device: string) => /^(GPU|MIG)-/.test(device)
  for (const device of devices) {
    if (isUuid(device) || /^\d+$/.test(device)) continue
    throw new InvalidInputError(
      'devices',
      device,
      "an index or a UUID, which is all that CUDA takes; 'nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv' tells the UUID " +
        'of a PCI bus id, and --run finds it by itself',
    )
  }
  if (new Set(devices.map(isUuid)).size > 1) {
    throw new InvalidInputError(
      'devices',
      devices.join(', '),
      'all by index or all by UUID: CUDA takes no list of both',
    )
  }
  const twice = devices.find((device, i) => devices.indexOf(device) !== i)
  if (twice !== undefined) throw new InvalidInputError('devices', `${twice} twice`, 'a GPU of its own for each process')
  return devices.join(',')
}

export function deviceOf(name: string, devices: ReadonlyMap<string, string>): string {
  const device = devices.get(name)
  if (device === undefined) {
    throw new InvalidInputError(
      'devices',
      [...devices.keys()].join(', ') || 'none',
      `a device for the plan's GPU ${name}`,
    )
  }
  return device
}
