import { InvalidInputError } from '@pctodl/platform'

/** Input for profiling one workload with Nsight Compute, kernel by kernel, during one steady step. */
export interface ProfilingRequest {
  readonly workload: string
  /** The program and its arguments; it runs one step per NVTX range. */
  readonly command: readonly string[]
  /**
   * NVTX range that marks the profiled step. Default `step10`: by then caches, allocator and autotuning have settled.
   */
  readonly nvtxRange?: string
  /** Folder for the report. Default `.`. */
  readonly folder?: string
}

export interface ProfilingCommands {
  /** Runs the workload under the profiler; needs permission to read performance counters. */
  readonly profile: string
  /** Converts the report to the CSV that `parseNsightComputeCsv` reads. */
  readonly exportCsv: string
  readonly csvFile: string
}

/**
 * Commands that profile one workload, quoted for a POSIX shell.
 *
 * @throws InvalidInputError without a command
 */
export function profilingCommands({
  workload,
  command,
  nvtxRange = 'step10',
  folder = '.',
}: ProfilingRequest): ProfilingCommands {
  if (command.length === 0) throw new InvalidInputError('command', command, 'a program and its arguments')
  const report = `${folder}/${workload}.ncu-rep`
  const csvFile = `${folder}/${workload}.csv`
  const options = ['--set', 'full', '--nvtx', '--nvtx-include', `${nvtxRange}/`, '--target-processes', 'all']
  const print = ['ncu', '--import', report, '--csv', '--page', 'details', '--print-units', 'base']
  return {
    profile: shellWords(['ncu', ...options, '--force-overwrite', '--export', report, ...command]),
    exportCsv: `${shellWords(print)} > ${shellWords([csvFile])}`,
    csvFile,
  }
}

function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')
}
