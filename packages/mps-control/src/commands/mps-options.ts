import type { Terminal } from '@pctodl/command-line'
import type { Command } from 'commander'
import { MpsDaemon } from '../mps-daemon.js'

export interface PlaceOptions {
  readonly directory?: string
  readonly pipeDirectory?: string
  readonly logDirectory?: string
  readonly program?: string
  readonly json?: boolean
}

export function withPlaceOptions(command: Command): Command {
  return command
    .option('--directory <folder>', 'the place of the daemon (default: $PCTODL_MPS_DIR, or /tmp/pctodl-mps-<uid>)')
    .option('--pipe-directory <folder>', 'CUDA_MPS_PIPE_DIRECTORY (default: pipe in the place)')
    .option('--log-directory <folder>', 'CUDA_MPS_LOG_DIRECTORY (default: log in the place)')
    .option('--program <path>', 'nvidia-cuda-mps-control (default: the one on PATH)')
    .option('--json', 'print JSON')
}

export function daemonOf(options: PlaceOptions): MpsDaemon {
  const { directory, pipeDirectory, logDirectory, program } = options
  return new MpsDaemon({
    ...(directory === undefined ? {} : { directory }),
    ...(pipeDirectory === undefined ? {} : { pipeDirectory }),
    ...(logDirectory === undefined ? {} : { logDirectory }),
    ...(program === undefined ? {} : { program }),
  })
}

export function printJson(terminal: Terminal, value: unknown): void {
  terminal.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
