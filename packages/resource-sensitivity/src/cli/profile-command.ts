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
import type { Command } from 'commander'
import { profileJob } from '../profile/profile-job.js'
import { assertContainerRuntime } from '../profile/runs/container.js'
import { withCpus } from '../profile/runs/cpu-affinity.js'
import { measureMemoryGBps, measureStorageMBps } from '../profile/runs/measure-machine.js'
import { createMemoryGroup } from '../profile/runs/memory-group.js'
import { RunLog } from '../profile/runs/run-log.js'
import { type RunSetting, runTraining } from '../profile/runs/run-training.js'
import { type ProfileRequest, type RawProfileOptions, resolveProfileRequest } from './profile-request.js'
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
    .option(
      '--memory-points <percents>',
      'cached fractions of the data set (default 0,10,...,100)',
      listOf(numberBetween(0, 100)),
    )
    .option(
      '--server-gpus <n>',
      'GPUs of this server, for the GPU-proportional share (default: --num-gpus)',
      integerFrom(1),
    )
    .option('--storage-mbps <MB/s>', 'storage read rate (default: measured)', positiveNumber('MB/s'))
    .option('--mem-gbps <GB/s>', 'memory read rate (default: measured per core count)', positiveNumber('GB/s'))
    .option(
      '--tolerance <percent>',
      'stop when the error bound of every core count is below this',
      positiveNumber('percent'),
      5,
    )
    .option('--run-timeout <s>', 'time limit of a run', positiveNumber('seconds'), 3600)
    .option('--output <file>', 'matrix file (default: profiles/<job-name>/profile.json); runs are kept beside it')
    .option('--json', 'print the matrix on standard output')
    .addHelpText(
      'after',
      exampleText(
        'pctodl sensitivity profile --job-name res18 --cpu 24 --num-gpus 4 -b 512 train.py --data /mnt/imagenet --amp',
      ),
    )
  command.action(async (script: string, args: string[]) => {
    const raw = command.opts<RawProfileOptions>()
    const request = asUsage(() => resolveProfileRequest(raw, script, args, terminal.env))
    await profile(request, raw, terminal)
  })
}

async function profile(
  request: ProfileRequest,
  raw: RawProfileOptions,
  { stdout, stderr, env, signal }: Terminal,
): Promise<void> {
  const { setting, output } = request
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
}

/** Reject limits that cannot be enforced here before anything is run, measured or written. */
async function assertLimits({ container, memoryGb, cgroup, cpus, env }: RunSetting): Promise<void> {
  if (container !== null) return assertContainerRuntime(container.runtime)
  withCpus([], cpus, cpus.length, env['PATH'] ?? '')
  if (memoryGb === null) return
  await createMemoryGroup(memoryGb, cgroup ?? undefined).release()
}
