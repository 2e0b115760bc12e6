import { existsSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import {
  asUsage,
  exampleText,
  integerFrom,
  listOf,
  newSubcommand,
  numberBetween,
  oneOf,
  positiveNumber,
  type Terminal,
  writeFileAtomically,
} from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import type { Command } from 'commander'
import { measureDataset, measureMemoryGBps, measureStorageMBps } from '../profile/measure-machine.js'
import { profileJob } from '../profile/profile-job.js'
import {
  allowedCpus,
  assertContainerRuntime,
  type ContainerOptions,
  createMemoryGroup,
  dataInContainer,
  dataOnHost,
  withCpus,
} from '../profile/run-limits.js'
import { RunLog } from '../profile/run-report.js'
import { optionAmong, type RunSetting, runTraining, type TrainingJob } from '../profile/run-training.js'
import { formatMatrixTable } from './tables.js'

export function addProfileCommand(parent: Command, terminal: Terminal): void {
  const command = newSubcommand(
    parent,
    'profile',
    'Run a training job under CPU and memory limits and write its sensitivity matrix.',
    terminal,
  )
    .helpOption('-h, --help', 'show this help')
    .argument('<script>', 'training script: .py, .js, .mjs, .sh or an executable')
    .argument('[args...]', "the script's own arguments, unchanged; the profiler's options override them")
    .passThroughOptions()
    .option('--docker-img <image>', 'run the job in a container of this image')
    .option('--container-runtime <name>', 'docker or podman', oneOf('docker', 'podman'), 'docker')
    .option('--container-mnt <folder>', 'where data sets are mounted in the container', '/datadrive/')
    .option('--container-gpus <which>', 'GPUs visible in the container: all, device=0,1 ... or none', 'all')
    .option('--num-gpus <n>', 'GPUs of the job, one process each', integerFrom(1), 1)
    .option('--job-name <name>', 'names the report file and the output', 'job-0')
    .option('--nnodes <n>', 'nodes of the job; this command profiles one of them', integerFrom(1), 1)
    .option('--node_rank <n>', 'number of this node', integerFrom(0), 0)
    .option('--master_addr <address>', 'address of the first node', '127.0.0.1')
    .option('--master_port <port>', 'free port on the first node', integerFrom(1, 65535), 29500)
    .option('--cpu <n>', 'maximum CPU cores to try; 0: all available to this process', integerFrom(0), 0)
    .option('--memory <GB>', 'limit the memory of each run (default: none)', positiveNumber('GB'))
    .option('--cgroup <folder>', 'cgroup v2 folder under which memory is limited (default: where cgroup2 is mounted)')
    .option('-b, --batch-size <n>', "batch of each GPU (default: the script's own, else 256)", integerFrom(1))
    .option('--max-iterations <n>', "iterations of each run (default: the script's own, else 50)", integerFrom(1))
    .option('--data <folder>', "data set (default: the script's own --data)")
    .option('--dataset-gb <GB>', 'size of the data set (default: measured)', positiveNumber('GB'))
    .option('--num-samples <n>', 'samples in the data set (default: number of files)', integerFrom(1))
    .option('--resident-gb <GB>', 'memory of the job itself, without its data cache', numberBetween(0, 1e6), 0)
    .option('--memory-points <percents>', 'cached fractions (default 0,10,...,100)', listOf(numberBetween(0, 100)))
    .option('--server-gpus <n>', 'GPUs of this server, for the fair share (default: --num-gpus)', integerFrom(1))
    .option('--storage-mbps <MB/s>', 'storage read rate (default: measured)', positiveNumber('MB/s'))
    .option('--mem-gbps <GB/s>', 'memory read rate (default: measured per core count)', positiveNumber('GB/s'))
    .option('--tolerance <percent>', 'error bound of every core count at which to stop', positiveNumber('percent'), 5)
    .option('--run-timeout <s>', 'time limit of a run', numberBetween(0.001, 1e6), 3600)
    .option('--output <file>', 'matrix file (default: profiles/<job-name>/profile.json); runs are kept beside it')
    .option('--json', 'print the matrix on standard output')
    .addHelpText(
      'after',
      exampleText(
        'pctodl sensitivity profile --job-name res18 --cpu 24 --num-gpus 4 -b 512 train.py --data /mnt/imagenet --amp',
      ),
    )
  command.action(async (script: string, args: string[]) => {
    const raw = command.opts<RawOptions>()
    const request = asUsage(() => resolveRequest(raw, script, args, terminal.env))
    const { setting, output } = request
    const { stdout, stderr, env, signal } = terminal
    await assertLimits(setting)
    const log = new RunLog(`${output}.runs.jsonl`, request.identity)
    const matrix = await profileJob({
      ...request.options,
      storageMBps: raw.storageMbps ?? (await measureStorageMBps(request.dataFiles(), signal)),
      run: async (cpus) => {
        const known = log.get(cpus)
        const report = known ?? (await runTraining(setting, cpus, signal))
        if (known === undefined) log.add(cpus, report)
        const origin = known === undefined ? '' : ' (from an earlier call)'
        stderr.write(`${cpus} cores: ${report.iterationS.mean.toFixed(4)} s per iteration${origin}\n`)
        return report
      },
      memoryGBps: async (cpus) => raw.memGbps ?? measureMemoryGBps(setting.cpus, cpus, env, signal),
    })
    const text = `${JSON.stringify(matrix, null, 2)}\n`
    writeFileAtomically(output, text)
    stdout.write(raw.json === true ? text : `${formatMatrixTable(matrix)}\nwritten: ${path.relative('.', output)}\n`)
  })
}

/** Reject limits that cannot be enforced here before anything is run, measured or written. */
async function assertLimits({ container, memoryGb, cgroup, cpus, env }: RunSetting): Promise<void> {
  if (container !== null) return assertContainerRuntime(container.runtime)
  withCpus([], cpus, cpus.length, env['PATH'] ?? '')
  if (memoryGb === null) return
  await createMemoryGroup(memoryGb, cgroup ?? undefined).release()
}

/** Values of the options as parsed, by their types. */
interface RawOptions
  extends Readonly<Record<'containerMnt' | 'containerGpus' | 'jobName' | 'master_addr', string>>,
    Readonly<Record<'numGpus' | 'nnodes' | 'node_rank' | 'master_port' | 'cpu', number>>,
    Readonly<Record<'residentGb' | 'tolerance' | 'runTimeout', number>>,
    Readonly<Partial<Record<'dockerImg' | 'cgroup' | 'data' | 'output', string>>>,
    Readonly<Partial<Record<'memory' | 'batchSize' | 'maxIterations' | 'datasetGb' | 'numSamples', number>>>,
    Readonly<Partial<Record<'serverGpus' | 'storageMbps' | 'memGbps', number>>> {
  readonly containerRuntime: 'docker' | 'podman'
  readonly memoryPoints?: number[]
  readonly json?: boolean
}

/** Everything that can be determined without a run. @throws InvalidInputError, LimitUnavailableError */
function resolveRequest(
  raw: RawOptions,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
) {
  if (!existsSync(script) || !statSync(script).isFile()) {
    throw new InvalidInputError('script', script, 'a file: the training script comes first after the options')
  }
  if (!/^(?!\.+$)[\w.-]+$/.test(raw.jobName)) {
    throw new InvalidInputError('job-name', raw.jobName, 'letters, digits, dots, dashes: it becomes part of file names')
  }
  if (raw.node_rank >= raw.nnodes) {
    throw new InvalidInputError('node_rank', raw.node_rank, 'a number below --nnodes')
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
  const maxCpus = Math.min(raw.cpu || cpus.length, cpus.length)
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

function containerOf(raw: RawOptions, dataFolder: string | null): ContainerOptions | null {
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
