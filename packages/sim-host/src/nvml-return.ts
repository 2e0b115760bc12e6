/** Those NVML return codes that host mode uses. */
export const nvmlReturn = {
  success: 0,
  invalidArgument: 2,
  notSupported: 3,
  noPermission: 4,
  notFound: 6,
  gpuIsLost: 15,
  inUse: 19,
  insufficientResources: 23,
  unknown: 999,
} as const

/** NVML's bit for each clocks event reason. */
export const eventReasonBits = {
  'gpu-idle': 0x1,
  'application-clocks': 0x2,
  'sw-power-cap': 0x4,
  'hw-slowdown': 0x8,
  'sw-thermal-slowdown': 0x20,
  'hw-thermal-slowdown': 0x40,
} as const

/** Returns the text of `nvmlErrorString`, which messages of `nvidia-smi` contain. */
export function nvmlErrorText(code: number): string {
  return errorTexts[code] ?? 'Unknown Error'
}

const errorTexts: Readonly<Record<number, string>> = {
  2: 'Invalid Argument',
  3: 'Not Supported',
  4: 'Insufficient Permissions',
  6: 'Not Found',
  15: 'GPU is lost',
  19: 'In use by another client',
  23: 'Insufficient Resources',
}

export const computeModes = { DEFAULT: 0, EXCLUSIVE_THREAD: 1, PROHIBITED: 2, EXCLUSIVE_PROCESS: 3 } as const

/** GPU architectures, by NVML's number. */
export const architectures: readonly string[] =
  ',,Kepler,Maxwell,Pascal,Volta,Turing,Ampere,Ada Lovelace,Hopper,Blackwell'.split(',')

/** NVML's numbers of product brands. */
export const brands = { Tesla: 2, GeForce: 5, NVIDIA: 14 } as const
