import { assertSuccess, meansAbsent, orNull } from './nvml-error.js'
import { NvmlHandle } from './nvml-handle.js'

export interface MigInstanceInfo {
  /** UUID of the instance, `MIG-...`, which `CUDA_VISIBLE_DEVICES` accepts. */
  readonly uuid: string
  /** Name of the instance, e.g. `NVIDIA A100-SXM4-40GB MIG 3g.20gb`. */
  readonly name: string
  readonly gpuInstanceId: number | null
  readonly computeInstanceId: number | null
  /** Number of SMs; null if the driver does not report it. */
  readonly smCount: number | null
  readonly memoryBytes: number | null
  readonly gpuInstanceSlices: number | null
  readonly computeInstanceSlices: number | null
}

export interface MigState {
  readonly enabled: boolean
  /** Whether MIG will be enabled after the next reset of the board. */
  readonly pendingEnabled: boolean
  readonly instances: readonly MigInstanceInfo[]
}

const NOT_FOUND = 6
const INVALID_ARGUMENT = 2

/** Reads the MIG mode and instances of a board; null if the board or the driver does not support MIG. */
export function readMigState(device: NvmlHandle): MigState | null {
  const [current, pending] = [new Uint32Array(1), new Uint32Array(1)]
  const mode = orNull(() => {
    device.check('nvmlDeviceGetMigMode', current, pending)
    return { enabled: current[0] === 1, pendingEnabled: pending[0] === 1 }
  })
  if (mode === null) return null
  return { ...mode, instances: mode.enabled ? instances(device) : [] }
}

function instances(device: NvmlHandle): MigInstanceInfo[] {
  const count = device.number('nvmlDeviceGetMaxMigDeviceCount')
  const found: MigInstanceInfo[] = []
  for (let i = 0; i < count; i++) {
    const handle: [unknown] = [null]
    const call = 'nvmlDeviceGetMigDeviceHandleByIndex'
    const code = device.calls.get(call)(device.handle, i, handle)
    // The count is an upper bound. For an unused index, most drivers return "not found", and some "invalid argument".
    if (code === NOT_FOUND || code === INVALID_ARGUMENT || meansAbsent(code)) continue
    assertSuccess(call, code, device.subject)
    found.push(describe(new NvmlHandle(device.calls, handle[0], `MIG device ${i} of ${device.subject}`)))
  }
  return found
}

function describe(instance: NvmlHandle): MigInstanceInfo {
  // Fields of `nvmlDeviceAttributes_t`: SM count, five engine counts, GPU and compute instance slices, and memory in
  // MiB.
  const attributes = orNull(() => instance.bytes('nvmlDeviceGetAttributes_v2', 40))
  return {
    uuid: instance.uuid,
    name: instance.name,
    gpuInstanceId: orNull(() => instance.number('nvmlDeviceGetGpuInstanceId')),
    computeInstanceId: orNull(() => instance.number('nvmlDeviceGetComputeInstanceId')),
    smCount: attributes?.readUInt32LE(0) ?? null,
    memoryBytes: attributes ? Number(attributes.readBigUInt64LE(32)) * 1024 ** 2 : null,
    gpuInstanceSlices: attributes?.readUInt32LE(24) ?? null,
    computeInstanceSlices: attributes?.readUInt32LE(28) ?? null,
  }
}
