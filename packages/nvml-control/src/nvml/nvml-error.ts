import { PctodlError } from '@pctodl/platform'

/** NVML's name without `NVML_ERROR_`, this project's error code, the meaning, and the remedy. */
type ReturnCode = readonly [nvmlName: string, code: string, meaning: string, remedy: string]

const asRoot = 'run as root, or have the operator run the node service (pctodld) and allow it in its policy'
const reboot =
  'end the processes on it, reset it (`nvidia-smi -r -i <index>`) or reboot, and look at `dmesg | grep NVRM`'
const updatePackage = 'update this package'
const reinstall = 'the driver was updated without a restart: reboot, or unload and load its modules'

/** All NVML return codes (nvml.h, `nvmlReturn_t`), each with a remedy for the caller. */
const returnCodes: Readonly<Record<number, ReturnCode>> = {
  1: ['UNINITIALIZED', 'NVML_CLOSED', 'NVML is not initialised', 'load it again; it was closed'],
  2: ['INVALID_ARGUMENT', 'NVML_INVALID_ARGUMENT', 'the driver refuses the argument', 'see `pctodl gpu describe`'],
  3: ['NOT_SUPPORTED', 'NOT_SUPPORTED', 'this board or driver does not have it', 'do without it on this board'],
  4: ['NO_PERMISSION', 'NO_PERMISSION', 'this user may not do it', asRoot],
  5: ['ALREADY_INITIALIZED', 'NVML_ALREADY_INITIALIZED', 'NVML is initialised already', 'close the other use first'],
  6: ['NOT_FOUND', 'NOT_FOUND', 'the driver does not know it', 'see `pctodl gpu list` for the boards that exist'],
  7: ['INSUFFICIENT_SIZE', 'NVML_INSUFFICIENT_SIZE', 'the answer did not fit', 'try again; it grew between two calls'],
  8: ['INSUFFICIENT_POWER', 'NVML_INSUFFICIENT_POWER', 'the power cables are not properly attached', 'check them'],
  9: ['DRIVER_NOT_LOADED', 'DRIVER_NOT_LOADED', 'the driver is not loaded', '`modprobe nvidia`, or install it'],
  10: ['TIMEOUT', 'NVML_TIMEOUT', 'the driver did not answer in time', 'try again; look at `dmesg` if it stays'],
  11: ['IRQ_ISSUE', 'NVML_IRQ_ISSUE', 'the kernel has a problem with an interrupt of the board', 'look at `dmesg`'],
  12: ['LIBRARY_NOT_FOUND', 'NVML_LIBRARY_NOT_FOUND', 'NVML lacks a library of its own', 'reinstall the driver'],
  13: ['FUNCTION_NOT_FOUND', 'NVML_FUNCTION_NOT_FOUND', 'the driver is too old for the call', 'update the driver'],
  14: ['CORRUPTED_INFOROM', 'NVML_CORRUPTED_INFOROM', "the board's infoROM is corrupted", 'have the board looked at'],
  15: ['GPU_IS_LOST', 'GPU_LOST', 'the board has fallen off the bus or is inaccessible', reboot],
  16: ['RESET_REQUIRED', 'GPU_NEEDS_RESET', 'the board must be reset before it can be used', reboot],
  17: ['OPERATING_SYSTEM', 'NVML_OPERATING_SYSTEM', 'the operating system or a cgroup blocks it', 'allow the device'],
  18: ['LIB_RM_VERSION_MISMATCH', 'DRIVER_VERSION_MISMATCH', 'library and kernel module differ', reinstall],
  19: ['IN_USE', 'NVML_IN_USE', 'somebody else uses it', 'end the processes that `pctodl gpu status` names'],
  20: ['MEMORY', 'NVML_OUT_OF_MEMORY', 'NVML is out of host memory', 'free some'],
  21: ['NO_DATA', 'NVML_NO_DATA', 'there is nothing to report yet', 'ask again later'],
  22: ['VGPU_ECC_NOT_SUPPORTED', 'NVML_VGPU_ECC', 'not available on a vGPU with ECC', 'do without it'],
  23: ['INSUFFICIENT_RESOURCES', 'NVML_INSUFFICIENT_RESOURCES', 'the board has too few resources', 'free some'],
  24: ['FREQ_NOT_SUPPORTED', 'NVML_FREQUENCY_NOT_SUPPORTED', 'no such frequency', 'see `pctodl gpu describe`'],
  25: ['ARGUMENT_VERSION_MISMATCH', 'NVML_ARGUMENT_VERSION', 'the driver has another structure', updatePackage],
  26: ['DEPRECATED', 'NVML_DEPRECATED', 'this driver has dropped the call', updatePackage],
  27: ['NOT_READY', 'NVML_NOT_READY', 'the system is not ready', 'try again'],
  28: ['GPU_NOT_FOUND', 'GPU_NOT_FOUND', 'there is no GPU', 'see `pctodl gpu list`'],
  29: ['INVALID_STATE', 'NVML_INVALID_STATE', 'the board is not in a state for it', 'look at `pctodl gpu status`'],
  30: ['RESET_TYPE_NOT_SUPPORTED', 'NVML_RESET_TYPE', 'this kind of reset is not possible', 'take another kind'],
  31: ['UNABLE_TO_RELOAD_DRIVER', 'NVML_RELOAD_FAILED', 'the driver could not be loaded again', 'reboot'],
  999: ['UNKNOWN', 'NVML_UNKNOWN', 'the driver reports an internal error', 'look at `dmesg | grep NVRM`'],
}

export const nvmlReturnCodes: readonly number[] = Object.keys(returnCodes).map(Number)

/** A failed NVML call. `code` is this project's error code, for example `NO_PERMISSION` or `GPU_LOST`. */
export class NvmlError extends PctodlError {
  /** @param subject name of the board or other object in the error message */
  constructor(
    readonly call: string,
    readonly nvmlCode: number,
    subject?: string,
  ) {
    const unknown = [`CODE_${nvmlCode}`, 'NVML_UNKNOWN', 'a code newer than this package', 'update it'] as const
    const [nvmlName, code, meaning, remedy] = returnCodes[nvmlCode] ?? unknown
    const about = subject === undefined ? '' : ` for ${subject}`
    super(code, `${call}${about}: ${meaning} (NVML_ERROR_${nvmlName}, ${nvmlCode}); ${remedy}`)
  }
}

/** @throws NvmlError unless an NVML function has succeeded */
export function assertSuccess(call: string, nvmlCode: number, subject?: string): void {
  if (nvmlCode !== 0) throw new NvmlError(call, nvmlCode, subject)
}

/** Return codes for a feature that the board or the driver lacks. A field that depends on it is null. */
const absent = new Set([3, 13, 21, 22, 25, 26])

/** Return codes after which no field of the board can be read. */
const boardGone = new Set([1, 9, 15, 16, 18])

export function meansAbsent(nvmlCode: number): boolean {
  return absent.has(nvmlCode)
}

export function meansGone(nvmlCode: number): boolean {
  return boardGone.has(nvmlCode)
}

/** Returns null instead of the error if the board or driver lacks the feature. */
export function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof NvmlError && meansAbsent(error.nvmlCode)) return null
    throw error
  }
}
