import { given, readBoardFile, type Terminal, UsageError, withNvmlOptions } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { type Command, Option } from 'commander'
import { describeChange } from '../control/board-change.js'
import { boardFacts } from '../describe/board-facts.js'
import { specOfBoard } from '../describe/spec-of-board.js'
import { changesBack, type RestoreOutcome } from '../lease/restore.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { NvmlError } from '../nvml/nvml-error.js'
import { loadNvml, type Nvml } from '../nvml/nvml-library.js'
import { boardAccess, NvmlGpu, putRight } from '../nvml-gpu.js'
import { reasonOf } from '../reason-of.js'

/** Options of every subcommand that reads boards. */
export interface BoardOptions {
  readonly gpu?: string
  readonly library?: string
  readonly leaseDir?: string
  readonly json?: boolean
}

/** Options of every subcommand that changes boards. */
export interface ChangeOptions extends BoardOptions {
  readonly platformFile?: string
  readonly access: 'auto' | 'service' | 'direct'
}

export function withBoardOptions(command: Command, gpu: string): Command {
  return withNvmlOptions(command.option('--gpu <id>', gpu)).option('--json', 'print JSON')
}

export function withChangeOptions(command: Command): Command {
  return command
    .option('--platform-file <file>', 'board type as written by describe (default: what NVML and this release know)')
    .addOption(
      new Option(
        '--access <way>',
        'who changes the board; auto: the node service where there is one, this process where not',
      )
        .choices(['auto', 'service', 'direct'])
        .default('auto'),
    )
}

/** Load NVML, restore the boards that killed programs left changed, and report what was restored. */
export async function openNvml(options: BoardOptions, terminal: Terminal): Promise<Nvml> {
  const nvml = nvmlOf(options)
  await sayWhatWasPutRight(nvml, options, terminal)
  return nvml
}

async function sayWhatWasPutRight(nvml: Nvml, options: BoardOptions, terminal: Terminal): Promise<void> {
  let outcomes: RestoreOutcome[]
  try {
    outcomes = await putRight(nvml, leaseOptions(options))
  } catch (error) {
    // Reading boards needs no lease folder, but the user must be told that the folder is unusable.
    if (!(error instanceof PctodlError && error.code === 'LEASE_FOLDER')) throw error
    terminal.stderr.write(`pctodl gpu: ${error.message}\n`)
    return
  }
  for (const outcome of outcomes) {
    if (outcome.outcome === 'restored' || outcome.outcome === 'failed') {
      terminal.stderr.write(`pctodl gpu: ${describeOutcome(outcome)}\n`)
    }
  }
}

export function nvmlOf({ library }: BoardOptions): Nvml {
  return loadNvml(given({ libraryPath: library }))
}

export function leaseOptions({ leaseDir }: BoardOptions): { readonly leaseFolder?: string } {
  return given({ leaseFolder: leaseDir })
}

/** A requested board that cannot be read. The output lists it as unreadable, next to the boards that can be read. */
export interface UnreadableBoard {
  /** Index of the board, or its name as given with `--gpu`. */
  readonly gpu: string
  readonly error: string
  readonly code: string
}

/**
 * Read the boards given with `--gpu`, or all boards. A lost board does not prevent reading the others.
 *
 * @throws errors that do not concern a single board
 */
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
  const spec = options.platformFile === undefined ? undefined : await readBoardFile(options.platformFile)
  const nvml = nvmlOf(options)
  if (options.gpu === undefined && nvml.deviceCount > 1) {
    throw new UsageError(`there are ${nvml.deviceCount} boards; name one with --gpu <index, UUID or PCI bus id>`)
  }
  const device = nvml.device(options.gpu ?? 0)
  const settings = { access: options.access, ...leaseOptions(options) }
  const access = await boardAccess(device, settings)
  if (access.kind === 'direct') await sayWhatWasPutRight(nvml, options, terminal)
  return new NvmlGpu(nvml, device, spec ?? specOfBoard(boardFacts(device)), settings, access)
}

/** Describes one restoration, e.g. `restored GPU-...: SM clock reset (left by process 123, node train.js)`. */
export function describeOutcome({ uuid, record, outcome, error }: RestoreOutcome): string {
  if (outcome === 'failed') return `${uuid}: not restored: ${reasonOf(error)}`
  if (!record || outcome === 'in-use') return `${uuid}: in use by process ${record?.owner.pid ?? '(unknown)'}`
  const owner = `left by process ${record.owner.pid}, ${record.owner.program}`
  if (outcome === 'rebooted') return `${uuid}: journal of an earlier boot removed (${owner})`
  return `restored ${uuid}: ${changesBack(record).map(describeChange).join(', ')} (${owner})`
}

export function printJson(terminal: Terminal, value: unknown): void {
  terminal.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
