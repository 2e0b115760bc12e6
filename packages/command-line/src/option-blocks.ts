import type { Command } from 'commander'
import { integerFrom, oneOf } from './option-values.js'

/** Adds the options of every command that opens real boards. The parsed values are `library` and `leaseDir`. */
export function withNvmlOptions(command: Command): Command {
  return command
    .option('--library <path>', "NVML's library (default: where drivers put it)")
    .option(
      '--lease-dir <folder>',
      'where leases are kept (default: $PCTODL_LEASE_DIR, or /var/lib/pctodl/leases for root)',
    )
}

/** Values of the options that `withExecutorOptions` adds. */
export interface ExecutorOptions {
  readonly executor: 'local' | 'slurm'
  readonly slurmElements: number
  readonly slurmArgument?: string[]
}

/** Settings of a Slurm job array, named as in `SlurmExecutor` of `@pctodl/job-array`. */
export interface SlurmOptions {
  /** Number of elements of the job array; the work is divided among them. */
  readonly elements: number
  readonly sbatchArguments: readonly string[]
}

/** Adds the options of every command that can divide its work over a cluster. */
export function withExecutorOptions(command: Command): Command {
  return command
    .option('--executor <name>', 'local or slurm', oneOf('local', 'slurm'), 'local')
    .option('--slurm-elements <n>', 'elements of the job array; the work is spread over them', integerFrom(1), 8)
    .option('--slurm-argument <argument...>', 'arguments of sbatch, e.g. --slurm-argument=--gres=gpu:a100:1')
}

/** @returns undefined if this machine does all the work */
export function slurmOptions(raw: ExecutorOptions): SlurmOptions | undefined {
  if (raw.executor === 'local') return undefined
  return { elements: raw.slurmElements, sbatchArguments: raw.slurmArgument ?? [] }
}
