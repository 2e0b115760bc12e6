import type { CommandFunction } from '@pctodl/command-line'

/** One command of `pctodl`. */
export interface CommandEntry {
  readonly name: string
  /** Description in one line. */
  readonly summary: string
  /** Name of the separate program that the package installs for this command; absent if there is none. */
  readonly binary?: string
  /** Loads the package of the command. Packages of other commands are not loaded. */
  readonly load: () => Promise<CommandFunction>
}

/** All commands, grouped by their use: model, measure, run, control, other planners, this machine. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'predict',
    summary: 'throughput, power and utilisation of tenants on a board',
    load: async () => (await import('@pctodl/perf-model/commands')).predict,
  },
  {
    name: 'llm',
    summary: 'tokens/s, latency and watts of a language model on a board',
    load: async () => (await import('@pctodl/perf-model/commands')).llm,
  },
  {
    name: 'fit',
    summary: 'fit the predictor to measured traces',
    load: async () => (await import('@pctodl/perf-model/commands')).fit,
  },
  {
    name: 'add-network',
    summary: 'add a network from its ONNX file and a few measured rows',
    load: async () => (await import('@pctodl/perf-model/commands')).pctodlAddNetwork,
  },
  {
    name: 'partition',
    summary: 'shares, batches and clocks with the best throughput under a cap',
    load: async () => (await import('@pctodl/greedy-partition/commands')).pctodlPartition,
  },
  {
    name: 'profile',
    summary: 'measure a board over shares, batches and clocks; writes traces',
    load: async () => (await import('@pctodl/profiler/commands')).pctodlProfile,
  },
  {
    name: 'sweep',
    summary: 'the SM clock or power limit with the highest efficiency',
    load: async () => (await import('@pctodl/profiler/commands')).pctodlSweep,
  },
  {
    name: 'prove',
    summary: 'measure a board and report the errors of predictions',
    load: async () => (await import('@pctodl/profiler/commands')).pctodlProve,
  },
  {
    name: 'run',
    summary: 'hold a power cap with one policy, on a real or simulated board',
    load: async () => (await import('@pctodl/run/commands')).pctodlRun,
  },
  {
    name: 'bench',
    binary: 'bench-runner',
    summary: "compare policies over the paper's 30 tasks",
    load: async () => (await import('@pctodl/bench-runner/commands')).benchRunner,
  },
  {
    name: 'report',
    summary: 'judge and compare runs from their logs, on one page',
    load: async () => (await import('@pctodl/report/commands')).pctodlReport,
  },
  {
    name: 'playground',
    summary: 'plan, cap and watch simulated boards in a browser',
    load: async () => (await import('@pctodl/playground/commands')).pctodlPlayground,
  },
  {
    name: 'gpu',
    summary: 'inspect real boards; hold clocks and limits, then restore them',
    load: async () => (await import('@pctodl/nvml-control/commands')).gpu,
  },
  {
    name: 'govern',
    summary: 'set the clock for running Triton and vLLM servers by objectives',
    load: async () => (await import('@pctodl/govern/commands')).govern,
  },
  {
    name: 'energy',
    summary: 'energy of each service and request, from the log of govern',
    load: async () => (await import('@pctodl/govern/commands')).energy,
  },
  {
    name: 'mps',
    summary: 'start, watch and stop the CUDA MPS daemon',
    load: async () => (await import('@pctodl/mps-control/commands')).mps,
  },
  {
    name: 'node',
    binary: 'pctodld',
    summary: "the service that changes a node's boards, within a policy",
    load: async () => (await import('@pctodl/node-service/commands')).node,
  },
  {
    name: 'sim',
    summary: 'run a command on a host with simulated boards',
    load: async () => (await import('@pctodl/sim-host/commands')).sim,
  },
  {
    name: 'segments',
    summary: 'pack services onto MIG instances with MPS inside',
    load: async () => (await import('@pctodl/mig-segments/commands')).segments,
  },
  {
    name: 'colocate',
    summary: 'choose jobs to share a board, from kernel metrics',
    load: async () => (await import('@pctodl/colocation/commands')).pctodlColocate,
  },
  {
    name: 'hetero',
    summary: 'split one training job over unequal boards',
    load: async () => (await import('@pctodl/hetero-training/commands')).pctodlHetero,
  },
  {
    name: 'sensitivity',
    summary: 'schedule cluster jobs by their need for CPU cores and memory',
    load: async () => (await import('@pctodl/resource-sensitivity/commands')).sensitivity,
  },
  {
    name: 'published',
    summary: 'PctoDL as published: predictor, search, import of parameters',
    load: async () => (await import('@pctodl/published/commands')).published,
  },
  {
    name: 'doctor',
    summary: 'what works on this machine, and how to fix the rest',
    load: async () => (await import('./doctor/doctor-command.js')).doctor,
  },
  {
    name: 'cleanup',
    summary: 'remove what your crashed runs left behind',
    load: async () => (await import('./cleanup/cleanup-command.js')).cleanup,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./completion/completion-command.js')).completion,
  },
]

export function commandNamed(name: string): CommandEntry | undefined {
  return commands.find((entry) => entry.name === name)
}
