import type { CommandFunction } from '@pctodl/command-line'
import { binaries } from './binaries.js'

/** One command of `pctodl`. */
export interface CommandEntry {
  readonly name: string
  /** What it does, in one line. */
  readonly summary: string
  /** The same command as a binary of its own package; null for those that are only here. */
  readonly binary: string | null
  /** Loads the package behind it, which nothing else does. */
  readonly load: () => Promise<CommandFunction>
}

/** In the order of the work: model, measure, run, control, neighbours, this machine. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'predict',
    summary: 'throughput, power and utilisation of tenants on a board',
    binary: binaries.predict,
    load: async () => (await import('@pctodl/perf-model/commands')).predict,
  },
  {
    name: 'fit',
    summary: 'fit the predictor to measured traces',
    binary: binaries.fit,
    load: async () => (await import('@pctodl/perf-model/commands')).fit,
  },
  {
    name: 'add-network',
    summary: 'give the predictor a network from its ONNX file and a few rows',
    binary: binaries['add-network'],
    load: async () => (await import('@pctodl/perf-model/commands')).pctodlAddNetwork,
  },
  {
    name: 'partition',
    summary: 'shares, batches and clocks with the most throughput under a power cap',
    binary: binaries.partition,
    load: async () => (await import('@pctodl/greedy-partition/commands')).pctodlPartition,
  },
  {
    name: 'profile',
    summary: 'measure a board over shares, batches and clocks; writes traces',
    binary: binaries.profile,
    load: async () => (await import('@pctodl/profiler/commands')).pctodlProfile,
  },
  {
    name: 'sweep',
    summary: 'the SM clock or power limit at which a board does most for a watt',
    binary: binaries.sweep,
    load: async () => (await import('@pctodl/profiler/commands')).pctodlSweep,
  },
  {
    name: 'run',
    summary: 'hold a power cap with one policy, on a real or simulated board',
    binary: binaries.run,
    load: async () => (await import('@pctodl/run/commands')).pctodlRun,
  },
  {
    name: 'bench',
    summary: "compare policies over the paper's 30 tasks; report and compare results",
    binary: binaries.bench,
    load: async () => (await import('@pctodl/bench-runner/commands')).benchRunner,
  },
  {
    name: 'report',
    summary: 'judge and compare runs by their logs, whoever made them; one page',
    binary: binaries.report,
    load: async () => (await import('@pctodl/report/commands')).pctodlReport,
  },
  {
    name: 'playground',
    summary: 'plan, cap and watch simulated boards in a browser: one page, offline',
    binary: binaries.playground,
    load: async () => (await import('@pctodl/playground/commands')).pctodlPlayground,
  },
  {
    name: 'gpu',
    summary: 'look at real boards; hold clocks and power limits, and put them back',
    binary: binaries.gpu,
    load: async () => (await import('@pctodl/nvml-control/commands')).gpu,
  },
  {
    name: 'mps',
    summary: 'start, watch and stop the CUDA MPS daemon',
    binary: binaries.mps,
    load: async () => (await import('@pctodl/mps-control/commands')).mps,
  },
  {
    name: 'node',
    summary: 'the service that changes the boards of a node for others, within a policy',
    binary: 'pctodld',
    load: async () => (await import('@pctodl/node-service/commands')).node,
  },
  {
    name: 'sim',
    summary: 'run a command on a host with simulated boards',
    binary: binaries.sim,
    load: async () => (await import('@pctodl/sim-host/commands')).sim,
  },
  {
    name: 'export-onnx',
    summary: 'write one of the networks as an ONNX file with random weights',
    binary: binaries['export-onnx'],
    load: async () => (await import('@pctodl/model-zoo/commands')).exportOnnx,
  },
  {
    name: 'segments',
    summary: 'pack services onto MIG instances with MPS inside',
    binary: binaries.segments,
    load: async () => (await import('@pctodl/mig-segments/commands')).segments,
  },
  {
    name: 'colocate',
    summary: 'choose who shares a board with whom, from kernel metrics',
    binary: binaries.colocate,
    load: async () => (await import('@pctodl/colocation/commands')).pctodlColocate,
  },
  {
    name: 'hetero',
    summary: 'split one training job over unequal boards',
    binary: binaries.hetero,
    load: async () => (await import('@pctodl/hetero-training/commands')).pctodlHetero,
  },
  {
    name: 'sensitivity',
    summary: 'size CPU cores and memory beside the board; schedule a cluster with them',
    binary: binaries.sensitivity,
    load: async () => (await import('@pctodl/resource-sensitivity/commands')).sensitivity,
  },
  {
    name: 'published',
    summary: 'PctoDL as published: its predictor, its search, the import of its parameters',
    binary: null,
    load: async () => (await import('@pctodl/published/commands')).published,
  },
  {
    name: 'doctor',
    summary: 'what works on this machine, and what to do for the rest',
    binary: null,
    load: async () => (await import('./doctor/doctor-command.js')).doctor,
  },
  {
    name: 'cleanup',
    summary: 'end and put right what a crashed run of yours left behind',
    binary: null,
    load: async () => (await import('./cleanup/cleanup-command.js')).cleanup,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    binary: null,
    load: async () => (await import('./completion/completion-command.js')).completion,
  },
]

export function commandNamed(name: string): CommandEntry | undefined {
  return commands.find((entry) => entry.name === name)
}
