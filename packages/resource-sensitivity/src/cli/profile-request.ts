import { existsSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import type { ProfileOptions } from '../profile/profile-job.js'
import { type ContainerOptions, dataInContainer, dataOnHost } from '../profile/runs/container.js'
import { allowedCpus } from '../profile/runs/cpu-affinity.js'
import { measureDataset } from '../profile/runs/measure-machine.js'
import type { RunSetting } from '../profile/runs/run-training.js'
import { optionAmong, type TrainingJob } from '../profile/runs/training-command.js'

export interface RawProfileOptions {
  readonly dockerImg?: string
  readonly containerRuntime: 'docker' | 'podman'
  readonly containerMnt: string
  readonly containerGpus: string
  readonly numGpus: number
  readonly jobName: string
  readonly nnodes: number
  readonly node_rank: number
  readonly master_addr: string
  readonly master_port: number
  readonly cpu: number
  readonly memory?: number
  readonly cgroup?: string
  readonly batchSize?: number
  readonly maxIterations?: number
  readonly data?: string
  readonly datasetGb?: number
  readonly numSamples?: number
  readonly residentGb: number
  readonly memoryPoints?: number[]
  readonly serverGpus?: number
  readonly storageMbps?: number
  readonly memGbps?: number
  readonly tolerance: number
  readonly runTimeout: number
  readonly output?: string
  readonly json?: boolean
}

/** A checked `profile` call: everything that can be determined without a run. */
export interface ProfileRequest {
  readonly setting: RunSetting
  readonly options: Omit<ProfileOptions, 'storageMBps' | 'run' | 'memoryGBps'>
  /** Files of the data set, for the measurement of the storage rate. */
  dataFiles(): string[]
  /** Everything that affects a run's result. */
  readonly identity: unknown
  readonly output: string
}

/** @throws InvalidInputError, LimitUnavailableError */
export function resolveProfileRequest(
  raw: RawProfileOptions,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ProfileRequest {
  if (!existsSync(script) || !statSync(script).isFile()) {
    throw new InvalidInputError('script', script, 'a file: the training script comes first after the options')
  }
  if (!/^[\w.-]+$/.test(raw.jobName)) {
    throw new InvalidInputError('job-name', raw.jobName, 'letters, digits, dots, dashes: it becomes part of file names')
  }
  const cpus = allowedCpus()
  const named = raw.data ?? optionAmong(args, '--data')
  const dataFolder = named === null ? null : path.resolve(dataOnHost(named, raw.containerMnt))
  const container = containerOf(raw, dataFolder)
  // A container sees the data set under another path. If a script gets several `--data`, the last one counts.
  const data = container === null ? raw.data : dataInContainer(container)
  const job: TrainingJob = {
    ...{ name: raw.jobName, script, args: data === undefined ? args : [...args, '--data', data], gpus: raw.numGpus },
    batchPerGpu: raw.batchSize ?? integerAmong(args, 'batch-size', 256, '-b', '--batch-size', '--batch'),
    maxIterations: raw.maxIterations ?? integerAmong(args, 'max-iterations', 50, '--max-iterations'),
    ...{ nodes: raw.nnodes, nodeRank: raw.node_rank, masterAddress: raw.master_addr, masterPort: raw.master_port },
  }
  const memoryGb = raw.memory ?? null
  let measured: ReturnType<typeof measureDataset> | undefined
  const dataset = () => {
    if (dataFolder === null) {
      const expected = 'a data set: --data, or --dataset-gb, --num-samples and --storage-mbps'
      throw new InvalidInputError('data', undefined, expected)
    }
    measured ??= measureDataset(dataFolder)
    return measured
  }
  const part = raw.numGpus / (raw.serverGpus ?? raw.numGpus)
  if (part > 1) throw new InvalidInputError('server-gpus', raw.serverGpus, `at least --num-gpus (${raw.numGpus})`)
  const percents = raw.memoryPoints ?? Array.from({ length: 11 }, (_, i) => i * 10)
  const maxCpus = raw.cpu === 0 ? cpus.length : Math.min(raw.cpu, cpus.length)
  return {
    setting: {
      ...{ job, cpus, memoryGb, cgroup: raw.cgroup ?? null, container },
      ...{ workingFolder: process.cwd(), timeoutS: raw.runTimeout, env },
    },
    options: {
      ...{ job: job.name, gpus: job.gpus, batchPerGpu: job.batchPerGpu, residentGb: raw.residentGb },
      dataset: { gb: raw.datasetGb ?? dataset().gb, samples: raw.numSamples ?? dataset().samples },
      fairShare: { cpus: cpus.length * part, memoryGb: (memoryGb ?? os.totalmem() / 2 ** 30) * part },
      // Every matrix includes the measured column.
      memoryPercents: [...new Set([...percents, 100])].sort((a, b) => a - b),
      search: { maxCpus, tolerancePercent: raw.tolerance },
    },
    dataFiles: () => dataset().files,
    identity: { job, script: path.resolve(script), container, memoryGb },
    output: path.resolve(raw.output ?? path.join('profiles', job.name, 'profile.json')),
  }
}

function containerOf(raw: RawProfileOptions, dataFolder: string | null): ContainerOptions | null {
  const { dockerImg: image, containerRuntime: runtime, containerMnt: mount, containerGpus: gpus } = raw
  if (image === undefined) return null
  if (dataFolder !== null) return { runtime, image, mount, dataFolder, gpus }
  throw new InvalidInputError('data', undefined, 'the data set to mount in the container: --data')
}

/** An integer among the script's own arguments. */
function integerAmong(args: readonly string[], field: string, otherwise: number, ...names: string[]): number {
  const text = optionAmong(args, ...names)
  const value = text === null ? otherwise : Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  const expected = `an integer of at least 1 among the script's arguments; or give --${field}`
  throw new InvalidInputError(field, text, expected)
}
