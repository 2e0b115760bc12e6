import { NvmlNotFoundError } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'

/** Returns a phrase that says why this machine has no working NVIDIA driver. Rethrows errors with another cause. */
export function whyNoDriver(error: unknown): string {
  if (error instanceof NvmlNotFoundError) return 'no NVIDIA driver library was found'
  if (error instanceof PctodlError && error.code === 'DRIVER_NOT_LOADED') return 'the NVIDIA driver is not loaded'
  throw error
}
