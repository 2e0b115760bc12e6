import { type LibraryHandle, load, opaque, out, pointer } from 'koffi'

/** A function of the NVML library. Returns NVML's return code, 0 for success. */
export type NvmlCall = (...args: unknown[]) => number

// Type of an NVML handle. It has no name, because koffi's type names are global to the process. Output parameters are
// plain pointers, so that typed arrays are passed without copying.
const device = pointer(opaque())

/** Argument type as koffi accepts it. */
type Argument = string | ReturnType<typeof pointer> | ReturnType<typeof out>

const handle = out(pointer(device))

/** Argument lists that several functions share. */
const argumentLists = {
  nothing: [],
  pointer: ['void *'],
  buffer: ['void *', 'uint32_t'],
  index: ['uint32_t', handle],
  word: ['str', handle],
  alone: [device],
  one: [device, 'void *'],
  two: [device, 'void *', 'void *'],
  text: [device, 'void *', 'uint32_t'],
  number: [device, 'uint32_t'],
  pair: [device, 'uint32_t', 'uint32_t'],
  select: [device, 'uint32_t', 'void *'],
  selectTwo: [device, 'uint32_t', 'void *', 'void *'],
  fields: [device, 'int', 'void *'],
  part: [device, 'uint32_t', handle],
  made: [handle],
  register: [device, 'uint64_t', device],
} satisfies Readonly<Record<string, readonly Argument[]>>

/** Argument lists of all NVML functions that this package calls (nvml.h). Every function returns `nvmlReturn_t`. */
const signatures = {
  nvmlInit_v2: 'nothing',
  nvmlShutdown: 'nothing',
  nvmlSystemGetDriverVersion: 'buffer',
  nvmlSystemGetNVMLVersion: 'buffer',
  nvmlDeviceGetCount_v2: 'pointer',
  nvmlDeviceGetHandleByIndex_v2: 'index',
  nvmlDeviceGetHandleByUUID: 'word',
  nvmlDeviceGetHandleByPciBusId_v2: 'word',
  nvmlDeviceGetIndex: 'one',
  nvmlDeviceGetName: 'text',
  nvmlDeviceGetUUID: 'text',
  nvmlDeviceGetPciInfo_v3: 'one',
  nvmlDeviceGetArchitecture: 'one',
  nvmlDeviceGetCudaComputeCapability: 'two',
  nvmlDeviceGetNumGpuCores: 'one',
  nvmlDeviceGetMemoryBusWidth: 'one',
  nvmlDeviceGetMemoryInfo: 'one',
  nvmlDeviceGetSupportedMemoryClocks: 'two',
  nvmlDeviceGetSupportedGraphicsClocks: 'selectTwo',
  nvmlDeviceGetDefaultApplicationsClock: 'select',
  nvmlDeviceGetTemperatureThreshold: 'select',
  nvmlDeviceGetPowerManagementLimit: 'one',
  nvmlDeviceGetPowerManagementDefaultLimit: 'one',
  nvmlDeviceGetPowerManagementLimitConstraints: 'two',
  nvmlDeviceGetEnforcedPowerLimit: 'one',
  nvmlDeviceGetPowerUsage: 'one',
  nvmlDeviceGetFieldValues: 'fields',
  nvmlDeviceGetTotalEnergyConsumption: 'one',
  nvmlDeviceGetUtilizationRates: 'one',
  nvmlDeviceGetClockInfo: 'select',
  nvmlDeviceGetTemperature: 'select',
  nvmlDeviceGetCurrentClocksEventReasons: 'one',
  nvmlDeviceGetCurrentClocksThrottleReasons: 'one',
  nvmlDeviceGetComputeRunningProcesses_v3: 'two',
  nvmlDeviceGetMPSComputeRunningProcesses_v3: 'two',
  nvmlDeviceGetComputeMode: 'one',
  nvmlDeviceGetPersistenceMode: 'one',
  nvmlDeviceGetMigMode: 'two',
  nvmlDeviceGetMaxMigDeviceCount: 'one',
  nvmlDeviceGetMigDeviceHandleByIndex: 'part',
  nvmlDeviceGetGpuInstanceId: 'one',
  nvmlDeviceGetComputeInstanceId: 'one',
  nvmlDeviceGetAttributes_v2: 'one',
  nvmlDeviceSetPowerManagementLimit: 'number',
  nvmlDeviceSetGpuLockedClocks: 'pair',
  nvmlDeviceResetGpuLockedClocks: 'alone',
  nvmlDeviceSetMemoryLockedClocks: 'pair',
  nvmlDeviceResetMemoryLockedClocks: 'alone',
  nvmlDeviceSetComputeMode: 'number',
  nvmlDeviceSetPersistenceMode: 'number',
  nvmlEventSetCreate: 'made',
  nvmlDeviceRegisterEvents: 'register',
  nvmlEventSetWait_v2: 'text',
  nvmlEventSetFree: 'alone',
} as const

export type NvmlCallName = keyof typeof signatures

export const nvmlCallNames: readonly NvmlCallName[] = Object.keys(signatures) as NvmlCallName[]

const FUNCTION_NOT_FOUND = 13

type BoundFunction = NvmlCall & { async(...args: unknown[]): void }

/** Takes the place of a function that the driver lacks. */
const missing: BoundFunction = Object.assign(() => FUNCTION_NOT_FOUND, {
  async: (...args: unknown[]) => (args.at(-1) as (error: null, code: number) => void)(null, FUNCTION_NOT_FOUND),
})

/** The functions of one loaded library. Each function is bound on first use. */
export class NvmlCalls {
  readonly #library: LibraryHandle
  readonly #bound = new Map<NvmlCallName, BoundFunction>()

  /** @throws Error if the library cannot be loaded */
  constructor(libraryPath: string) {
    this.#library = load(libraryPath)
  }

  get(name: NvmlCallName): NvmlCall {
    return this.#bind(name)
  }

  /** Calls a function on another thread, so that a call that takes milliseconds does not block the event loop. */
  inBackground(name: NvmlCallName, ...args: unknown[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#bind(name).async(...args, (error: unknown, code: number) => (error ? reject(error) : resolve(code)))
    })
  }

  #bind(name: NvmlCallName): BoundFunction {
    const known = this.#bound.get(name)
    if (known) return known
    let bound = missing
    try {
      bound = this.#library.func(name, 'uint32_t', [...argumentLists[signatures[name]]]) as BoundFunction
    } catch {
      // The driver is too old for this function.
    }
    this.#bound.set(name, bound)
    return bound
  }
}
