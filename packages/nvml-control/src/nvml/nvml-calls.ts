import { type LibraryHandle, load, opaque, out, pointer } from 'koffi'

/** A function of the library: returns NVML's code, 0 for success. */
export type NvmlCall = (...args: unknown[]) => number

// An opaque handle, without a name: koffi's names are global to the process. Out-parameters are plain pointers: typed arrays go through without copies.
const device = pointer(opaque())

/** Type of an argument, as koffi takes it. */
type Argument = string | ReturnType<typeof pointer> | ReturnType<typeof out>

const system = ['void *', 'uint32_t'] as const
const one = [device, 'void *'] as const
const two = [device, 'void *', 'void *'] as const
const text = [device, 'void *', 'uint32_t'] as const
const number = [device, 'uint32_t'] as const
const pair = [device, 'uint32_t', 'uint32_t'] as const
const select = [device, 'uint32_t', 'void *'] as const
const handle = out(pointer(device))

/** Arguments of every call that this package makes (nvml.h); all of them return an `nvmlReturn_t`. */
const signatures = callTable({
  nvmlInit_v2: [],
  nvmlShutdown: [],
  nvmlSystemGetDriverVersion: system,
  nvmlSystemGetNVMLVersion: system,
  nvmlDeviceGetCount_v2: ['void *'],
  nvmlDeviceGetHandleByIndex_v2: ['uint32_t', handle],
  nvmlDeviceGetHandleByUUID: ['str', handle],
  nvmlDeviceGetHandleByPciBusId_v2: ['str', handle],
  nvmlDeviceGetIndex: one,
  nvmlDeviceGetName: text,
  nvmlDeviceGetUUID: text,
  nvmlDeviceGetPciInfo_v3: one,
  nvmlDeviceGetArchitecture: one,
  nvmlDeviceGetCudaComputeCapability: two,
  nvmlDeviceGetNumGpuCores: one,
  nvmlDeviceGetMemoryBusWidth: one,
  nvmlDeviceGetMemoryInfo: one,
  nvmlDeviceGetSupportedMemoryClocks: two,
  nvmlDeviceGetSupportedGraphicsClocks: [device, 'uint32_t', 'void *', 'void *'],
  nvmlDeviceGetMaxClockInfo: select,
  nvmlDeviceGetDefaultApplicationsClock: select,
  nvmlDeviceGetTemperatureThreshold: select,
  nvmlDeviceGetPowerManagementLimit: one,
  nvmlDeviceGetPowerManagementDefaultLimit: one,
  nvmlDeviceGetPowerManagementLimitConstraints: two,
  nvmlDeviceGetEnforcedPowerLimit: one,
  nvmlDeviceGetPowerUsage: one,
  nvmlDeviceGetFieldValues: [device, 'int', 'void *'],
  nvmlDeviceGetTotalEnergyConsumption: one,
  nvmlDeviceGetUtilizationRates: one,
  nvmlDeviceGetClockInfo: select,
  nvmlDeviceGetTemperature: select,
  nvmlDeviceGetCurrentClocksEventReasons: one,
  nvmlDeviceGetCurrentClocksThrottleReasons: one,
  nvmlDeviceGetComputeRunningProcesses_v3: two,
  nvmlDeviceGetMPSComputeRunningProcesses_v3: two,
  nvmlDeviceGetComputeMode: one,
  nvmlDeviceGetPersistenceMode: one,
  nvmlDeviceGetMigMode: two,
  nvmlDeviceGetMaxMigDeviceCount: one,
  nvmlDeviceGetMigDeviceHandleByIndex: [device, 'uint32_t', handle],
  nvmlDeviceGetGpuInstanceId: one,
  nvmlDeviceGetComputeInstanceId: one,
  nvmlDeviceGetAttributes_v2: one,
  nvmlDeviceSetPowerManagementLimit: number,
  nvmlDeviceSetGpuLockedClocks: pair,
  nvmlDeviceResetGpuLockedClocks: [device],
  nvmlDeviceSetMemoryLockedClocks: pair,
  nvmlDeviceResetMemoryLockedClocks: [device],
  nvmlDeviceSetComputeMode: number,
  nvmlDeviceSetPersistenceMode: number,
})

function callTable<Name extends string>(
  table: Readonly<Record<Name, readonly Argument[]>>,
): Readonly<Record<Name, readonly Argument[]>> {
  return table
}

export type NvmlCallName = keyof typeof signatures

export const nvmlCallNames = Object.keys(signatures) as readonly NvmlCallName[]

const FUNCTION_NOT_FOUND = 13

interface BoundCall {
  readonly call: NvmlCall
  readonly inBackground: (...args: unknown[]) => Promise<number>
}

/** The functions of one loaded library, bound when first used. One that the driver lacks answers FUNCTION_NOT_FOUND. */
export class NvmlCalls {
  readonly #library: LibraryHandle
  readonly #bound = new Map<NvmlCallName, BoundCall>()

  /** @throws Error where there is no such library */
  constructor(libraryPath: string) {
    this.#library = load(libraryPath)
  }

  get(name: NvmlCallName): NvmlCall {
    return this.#bind(name).call
  }

  /** The same call on another thread, for what takes the driver milliseconds: the event loop goes on meanwhile. */
  inBackground(name: NvmlCallName, ...args: unknown[]): Promise<number> {
    return this.#bind(name).inBackground(...args)
  }

  #bind(name: NvmlCallName): BoundCall {
    const known = this.#bound.get(name)
    if (known) return known
    const bound = this.#find(name)
    this.#bound.set(name, bound)
    return bound
  }

  #find(name: NvmlCallName): BoundCall {
    let found: ReturnType<LibraryHandle['func']>
    try {
      found = this.#library.func(name, 'uint32_t', [...signatures[name]])
    } catch {
      return { call: () => FUNCTION_NOT_FOUND, inBackground: async () => FUNCTION_NOT_FOUND }
    }
    return {
      call: found as NvmlCall,
      inBackground: (...args) =>
        new Promise((resolve, reject) => {
          found.async(...args, (error: unknown, code: number) => (error ? reject(error) : resolve(code)))
        }),
    }
  }
}
