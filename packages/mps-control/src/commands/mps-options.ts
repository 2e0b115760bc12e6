import { given, type Terminal, UsageError } from '@pctodl/command-line'
import { loadNvml } from '@pctodl/nvml-control'
import type { Command } from 'commander'
import { MpsDaemon } from '../mps-daemon.js'
import { mpsPlaces } from '../mps-place.js'

export interface PlaceOptions {
  /** Board, by index, UUID or PCI bus id. */
  readonly gpu?: string
  readonly directory?: string
  readonly pipeDirectory?: string
  readonly logDirectory?: string
  readonly program?: string
  readonly json?: boolean
}

export function withPlaceOptions(command: Command): Command {
  return command
    .option(
      '--directory <folder>',
      'folder of the daemon (default: one per board, in $PCTODL_MPS_DIR or a runtime folder)',
    )
    .option('--pipe-directory <folder>', "CUDA_MPS_PIPE_DIRECTORY (default: pipe in the daemon's folder)")
    .option('--log-directory <folder>', "CUDA_MPS_LOG_DIRECTORY (default: log in the daemon's folder)")
    .option(
      '--program <path>',
      'nvidia-cuda-mps-control (default: from PATH; root accepts only a file that root alone can write)',
    )
    .option('--json', 'print JSON')
}

/** Returns the daemon of the named board, or the only one. @throws UsageError if there are several and none is named */
export function daemonOf(options: PlaceOptions): MpsDaemon {
  const { gpu, directory, pipeDirectory, logDirectory, program } = options
  const board = directory === undefined ? (gpu === undefined ? onlyPlace() : loadNvml().device(gpu).uuid) : undefined
  return new MpsDaemon(given({ board, directory, pipeDirectory, logDirectory, program }))
}

function onlyPlace(): string | undefined {
  const boards = mpsPlaces()
    .filter((place) => (place.daemon()?.pid ?? place.pidInFile()) !== null)
    .map((place) => place.board)
  if (boards.length > 1) throw new UsageError(`there are daemons for ${boards.join(', ')}; name the board with --gpu`)
  return boards[0]
}

export function printJson(terminal: Terminal, value: unknown): void {
  terminal.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
