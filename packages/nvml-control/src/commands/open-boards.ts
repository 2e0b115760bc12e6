import { readFileSync } from 'node:fs'
import { type Terminal, UsageError } from '@pctodl/command-line'
import { type GpuSpec, parsePlatformFile } from '@pctodl/platform'
import { type Command, Option } from 'commander'
import { describeChange } from '../control/board-change.js'
import type { ControlOptions } from '../control/select-control.js'
import { boardFacts } from '../describe/board-facts.js'
import { specOfBoard } from '../describe/spec-of-board.js'
import { changesBack } from '../lease/restore.js'
import type { RestoreOutcome } from '../lease/restore-leftovers.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { loadNvml, type Nvml } from '../nvml/nvml-library.js'
import { NvmlGpu, putRight } from '../nvml-gpu.js'

/** Options that every subcommand with boards has. */
export interface BoardOptions {
  readonly gpu?: string
  readonly library?: string
  readonly leaseDir?: string
  readonly json?: boolean
}

/** Options of those that change boards. */
export interface ChangeOptions extends BoardOptions {
  readonly platformFile?: string
  readonly path: 'auto' | 'nvml' | 'nvidia-smi'
}

export function withBoardOptions(command: Command, gpu: string): Command {
  return command
    .option('--gpu <id>', gpu)
    .option('--library <path>', "NVML's library (default: where drivers put it)")
    .option('--lease-dir <folder>', 'where leases are kept (default: $PCTODL_LEASE_DIR, or /var/lib/pctodl/leases)')
    .option('--json', 'print JSON')
}

export function withChangeOptions(command: Command): Command {
  return command
    .option('--platform-file <file>', 'board type as written by describe (default: what NVML and this release know)')
    .addOption(
      new Option('--path <path>', 'how the board is changed; auto: NVML, or sudo -n nvidia-smi where NVML may not')
        .choices(['auto', 'nvml', 'nvidia-smi'])
        .default('auto'),
    )
}

/** Load NVML and put right what killed programs left behind, with a word about it. */
export async function openNvml(options: BoardOptions, terminal: Terminal): Promise<Nvml> {
  const nvml = loadNvml(options.library === undefined ? {} : { libraryPath: options.library })
  const outcomes = await putRight(nvml, leaseOptions(options))
  for (const outcome of outcomes) {
    if (outcome.outcome === 'restored' || outcome.outcome === 'failed') {
      terminal.stderr.write(`pctodl-gpu: ${describeOutcome(outcome)}\n`)
    }
  }
  return nvml
}

export function leaseOptions({ leaseDir }: BoardOptions): { readonly leaseFolder?: string } {
  return leaseDir === undefined ? {} : { leaseFolder: leaseDir }
}

/** The boards that `--gpu` names, or all. */
export function selectDevices(nvml: Nvml, { gpu }: BoardOptions): NvmlDevice[] {
  return gpu === undefined ? nvml.devices() : gpu.split(',').map((id) => nvml.device(id.trim()))
}

/** One board to change. @throws UsageError where there are several and none is named */
export async function openOne(options: ChangeOptions, terminal: Terminal): Promise<NvmlGpu> {
  const spec = options.platformFile === undefined ? undefined : readPlatformFile(options.platformFile)
  const nvml = await openNvml(options, terminal)
  if (options.gpu === undefined && nvml.deviceCount > 1) {
    throw new UsageError(`there are ${nvml.deviceCount} boards; name one with --gpu <index, UUID or PCI bus id>`)
  }
  const device = nvml.device(options.gpu ?? 0)
  const control: ControlOptions = { path: options.path }
  return new NvmlGpu(nvml, device, spec ?? specOfBoard(boardFacts(device)), { control, ...leaseOptions(options) })
}

export function readPlatformFile(file: string): GpuSpec {
  return parsePlatformFile(readFileSync(file, 'utf8'), file)
}

/** `restored GPU-...: SM clock reset, power limit 350 W (left by process 123, node train.js)` */
export function describeOutcome({ uuid, record, outcome, error }: RestoreOutcome): string {
  if (outcome === 'failed') return `${uuid}: not restored: ${error instanceof Error ? error.message : String(error)}`
  if (!record || outcome === 'in-use') return `${uuid}: in use by process ${record?.owner.pid ?? '(unknown)'}`
  const owner = `left by process ${record.owner.pid}, ${record.owner.command.slice(0, 80)}`
  if (outcome === 'rebooted') return `${uuid}: journal of an earlier boot removed (${owner})`
  return `restored ${uuid}: ${changesBack(record).map(describeChange).join(', ')} (${owner})`
}

export function printJson(terminal: Terminal, value: unknown): void {
  terminal.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
