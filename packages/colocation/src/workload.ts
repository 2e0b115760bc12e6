import { UnknownNameError } from '@pctodl/platform'
import { assertInput, isPositive } from './input-checks.js'

/** Metrics of one step's kernels, as means weighted by kernel duration. */
export interface KernelMetrics {
  /** Threads of the launched grid. */
  readonly threads: number
  /** Compute (SM) throughput, percent of the peak. */
  readonly smThroughputPercent: number
  /** DRAM throughput, percent of the peak. */
  readonly dramThroughputPercent: number
  /** Memory throughput (the busiest of DRAM, L2 and L1), percent of the peak. */
  readonly memoryThroughputPercent: number
  /** Registers over the whole grid. */
  readonly registers: number
  /** Static shared memory over the whole grid, in the unit of the profiler's report (the same for all workloads). */
  readonly staticSharedMemory: number
}

/** A job measured alone on the board: a network, a batch size and a mode. */
export interface Workload extends KernelMetrics {
  readonly name: string
  readonly batchSize: number
  readonly training: boolean
  /** Throughput alone on the board, samples/s. */
  readonly exclusiveThroughput: number
  /** Share of time in which a kernel ran, from `nvidia-smi pmon`, percent. */
  readonly smUtilPercent: number
  /** Share of time in which device memory was read or written, from `nvidia-smi pmon`, percent. */
  readonly memUtilPercent: number
  /** Peak device memory use, GiB. */
  readonly memoryGib: number
  /** Mean power of the board while the workload runs alone, W; absent if it was not measured. */
  readonly powerW?: number
}

export type MetricName = Exclude<keyof Workload, 'name' | 'batchSize' | 'training' | 'powerW'>

/** Columns of the table of workloads and the fields that they set. The published table has the same columns. */
export const metricColumns: readonly (readonly [column: string, field: MetricName])[] = [
  ['Threads', 'threads'],
  ['Compute (SM) Throughput', 'smThroughputPercent'],
  ['DRAM Throughput', 'dramThroughputPercent'],
  ['Memory Throughput', 'memoryThroughputPercent'],
  ['Registers', 'registers'],
  ['Static Shared Memory', 'staticSharedMemory'],
  ['exclusive_throughput', 'exclusiveThroughput'],
  ['sm%', 'smUtilPercent'],
  ['mem%', 'memUtilPercent'],
  ['memcap', 'memoryGib'],
]

/** @throws InvalidInputError naming the workload and the field */
export function assertWorkload(workload: Workload): void {
  assertInput(workload.name !== '', 'workload.name', '', 'a name')
  const assert = (field: keyof Workload, isGood: boolean, expected: string) =>
    assertInput(isGood, `${workload.name}: ${field}`, workload[field], expected)
  const { exclusiveThroughput, powerW, batchSize } = workload
  assert('exclusiveThroughput', isPositive(exclusiveThroughput), 'a number from 1e-15 to 1e15')
  for (const [, field] of metricColumns) {
    assert(field, workload[field] === 0 || isPositive(workload[field]), 'a number from 0 to 1e15')
  }
  assert('powerW', powerW === undefined || isPositive(powerW), 'a number of watts above 0, or none')
  assert('batchSize', Number.isSafeInteger(batchSize) && batchSize > 0, 'an integer of at least 1')
}

/** Contents of a workload name such as `bert-base-cased_batch8-train`. */
export interface WorkloadName extends Pick<Workload, 'batchSize' | 'training'> {
  readonly model: string
}

/** @returns null for a name in another format */
export function workloadNameOf(name: string): WorkloadName | null {
  const match = /^(.+)_batch([1-9]\d*)-(train|inf)$/.exec(name)
  return match && { model: match[1]!, batchSize: Number(match[2]), training: match[3] === 'train' }
}

/** @throws InvalidInputError for a name in another format */
export function parseWorkloadName(name: string): WorkloadName {
  const parsed = workloadNameOf(name)
  assertInput(parsed !== null, 'workload name', name, "the form '<model>_batch<size>-<train|inf>'")
  return parsed
}

/** Key of a network and mode, such as `bert-base-cased-train`. A name in another format is its own key. */
export function kinOf(name: string): string {
  return name.replace(/_batch[1-9]\d*-(train|inf)$/, '-$1')
}

/** Workloads by name, in the order of their table. */
export class WorkloadCatalog implements Iterable<Workload> {
  readonly #byName = new Map<string, Workload>()

  /** @throws InvalidInputError for an invalid workload, or two with one name */
  constructor(workloads: Iterable<Workload>) {
    for (const workload of workloads) {
      assertWorkload(workload)
      assertInput(!this.#byName.has(workload.name), 'workload.name', workload.name, 'a unique name')
      this.#byName.set(workload.name, workload)
    }
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  [Symbol.iterator](): Iterator<Workload> {
    return this.#byName.values()
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  /** @throws UnknownNameError listing the known names */
  get(name: string): Workload {
    const workload = this.#byName.get(name)
    if (!workload) throw new UnknownNameError('workload', name, this.names)
    return workload
  }

  /** @throws UnknownNameError */
  all(names: readonly string[]): Workload[] {
    return names.map((name) => this.get(name))
  }
}
