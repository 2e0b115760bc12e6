import { given, readBoardFile, type Terminal, UsageError } from '@pctodl/command-line'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { NvmlError } from '../nvml/nvml-error.js'
import { loadNvml, type Nvml } from '../nvml/nvml-library.js'
import { type NvmlGpu, openGpu, putRightFirst } from '../nvml-gpu.js'

export interface BoardOptions {
  readonly gpu?: string
  readonly library?: string
  readonly leaseDir?: string
  readonly json?: boolean
}

export interface ChangeOptions extends BoardOptions {
  readonly platformFile?: string
  readonly access: 'auto' | 'service' | 'direct'
}

/** Loads NVML, restores the boards that killed programs left changed, and reports what was restored. */
export async function openNvml(options: BoardOptions, terminal: Terminal): Promise<Nvml> {
  const nvml = nvmlOf(options)
  await putRightFirst(nvml, { ...leaseOptions(options), onMessage: sayTo(terminal) })
  return nvml
}

function sayTo({ stderr }: Terminal) {
  return (message: string) => void stderr.write(`pctodl gpu: ${message}\n`)
}

export function nvmlOf({ library }: BoardOptions): Nvml {
  return loadNvml(given({ libraryPath: library }))
}

export function leaseOptions({ leaseDir }: BoardOptions): { readonly leaseFolder?: string } {
  return given({ leaseFolder: leaseDir })
}

/** A requested board that cannot be read, by its index or its name as given with `--gpu`. */
export interface UnreadableBoard {
  readonly gpu: string
  readonly error: string
  readonly code: string
}

/** Reads the boards given with `--gpu`, or all boards. A lost board does not prevent reading the others. */
export function readBoards<T>(
  nvml: Nvml,
  options: BoardOptions,
  read: (device: NvmlDevice) => T,
): { readonly boards: T[]; readonly unreadable: UnreadableBoard[] } {
  const boards: T[] = []
  const unreadable: UnreadableBoard[] = []
  for (const gpu of boardIds(nvml, options)) {
    try {
      boards.push(read(nvml.device(gpu)))
    } catch (error) {
      if (!(error instanceof NvmlError)) throw error
      unreadable.push({ gpu, error: error.message, code: error.code })
    }
  }
  return { boards, unreadable }
}

export function unreadableText({ gpu, error }: UnreadableBoard): string {
  return `GPU ${gpu} cannot be read: ${error}\n`
}

/** Returns the boards given with `--gpu`, or all boards. @throws NvmlError for a lost board */
export function selectDevices(nvml: Nvml, options: BoardOptions): NvmlDevice[] {
  return boardIds(nvml, options).map((id) => nvml.device(id))
}

function boardIds(nvml: Nvml, { gpu }: BoardOptions): string[] {
  return gpu === undefined
    ? Array.from({ length: nvml.deviceCount }, (_, index) => String(index))
    : gpu.split(',').map((id) => id.trim())
}

/** Open the board to change. @throws UsageError if the machine has several boards and `--gpu` is missing */
export async function openOne(options: ChangeOptions, terminal: Terminal): Promise<NvmlGpu> {
  const { gpu, library, access, platformFile } = options
  const spec = platformFile === undefined ? undefined : await readBoardFile(platformFile)
  const { deviceCount } = nvmlOf(options)
  if (gpu === undefined && deviceCount > 1)
    throw new UsageError(`there are ${deviceCount} boards; name one with --gpu <index, UUID or PCI bus id>`)
  const settings = { access, ...leaseOptions(options), ...given({ spec, libraryPath: library }) }
  return openGpu(gpu, { ...settings, onMessage: sayTo(terminal) })
}

export function printJson(terminal: Pick<Terminal, 'stdout'>, value: unknown): void {
  terminal.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
