import { InvalidInputError } from '@pctodl/platform'

/** How one workload is profiled: by Nsight Compute, kernel by kernel, during one steady step. */
export interface ProfilingRequest {
  readonly workload: string
  /** The program and its arguments; it runs one step per NVTX range. */
  readonly command: readonly string[]
  /** NVTX range that marks the step to profile. Default `step10`: the caches, the allocator and autotuning have settled. */
  readonly nvtxRange?: string
  /** Folder for the report. Default `.`. */
  readonly folder?: string
}

export interface ProfilingCommands {
  /** Runs the workload under the profiler; it needs permission to read performance counters. */
  readonly profile: string
  /** Turns the report into the CSV that `parseNsightComputeCsv` reads. */
  readonly exportCsv: string
  readonly csvFile: string
}

/**
 * The exact commands that profile one workload, quoted for a POSIX shell.
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
