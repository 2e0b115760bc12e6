import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execa } from 'execa'
import { afterAll, describe, expect, it } from 'vitest'
import { LimitUnavailableError } from '../src/job-profile.js'
import {
  allowedCpus,
  cgroupRoot,
  containerCommand,
  createMemoryGroup,
  dataInContainer,
  dataOnHost,
  isOnPath,
  parseCpuList,
  withCpus,
} from '../src/profile/run-limits.js'
import { launchCommand, optionAmong, trainingCommand } from '../src/profile/run-training.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'pctodl-limits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const searchPath = process.env['PATH'] ?? ''
const noTaskset = !isOnPath('taskset', searchPath)

describe('CPU cores', () => {
  it('reads lists of the kernel', () => {
    expect(parseCpuList('0-2,5')).toEqual([0, 1, 2, 5])
    expect(() => parseCpuList('a-b')).toThrow(/CPU list/)
  })

  it.skipIf(noTaskset)(
    `a command sees the cores that it is given and no others${noTaskset ? ' (skipped: no taskset)' : ''}`,
    async () => {
      const cpus = allowedCpus()
      const [program, ...args] = withCpus(['nproc'], cpus, 1, searchPath)
      expect((await execa(program!, args)).stdout).toBe('1')
      const [all, ...allArgs] = withCpus(['nproc'], cpus, cpus.length, searchPath)
      expect((await execa(all!, allArgs)).stdout).toBe(String(cpus.length))
    },
  )

  it('is refused where there are not so many, no taskset, or no Linux', () => {
    expect(() => withCpus(['true'], [0, 1], 3, searchPath)).toThrow(/cpus: got 3, expected an integer from 1 to 2/)
    expect(() => withCpus(['true'], [0, 1], 1, folder)).toThrow(LimitUnavailableError)
    expect(() => allowedCpus(path.join(folder, 'nothing'))).toThrow(/profile on Linux/)
  })
})

/** Whether memory can really be limited here: as root, on a machine whose cgroup v2 hands its memory controller on. */
const canLimitMemory = (() => {
  try {
    return (
      readFileSync(path.join(cgroupRoot(), 'cgroup.subtree_control'), 'utf8').includes('memory') &&
      process.getuid?.() === 0
    )
  } catch {
    return false
  }
})()

describe('memory', () => {
  it.skipIf(!canLimitMemory)(
    `ends a process that takes more than its group has${canLimitMemory ? '' : ' (skipped: no memory controller in cgroup v2 here)'}`,
    async () => {
      const group = createMemoryGroup(0.125)
      try {
        const [program, ...args] = group.wrap([process.execPath, '-e', 'Buffer.alloc(2 ** 29, 1)'])
        const result = await execa(program!, args, { reject: false })
        expect(result.signal).toBe('SIGKILL')
      } finally {
        await group.release()
      }
    },
  )

  it('is refused where cgroup v2 is absent or does not control it, and nothing is left behind', () => {
    expect(() => createMemoryGroup(1, path.join(folder, 'nowhere'))).toThrow(LimitUnavailableError)
    const parent = path.join(folder, 'group')
    mkdirSync(parent)
    writeFileSync(path.join(parent, 'cgroup.subtree_control'), 'cpu pids\n')
    expect(() => createMemoryGroup(1, parent)).toThrow(/does not delegate its memory controller; omit --memory/)
    const mounts = path.join(folder, 'mounts')
    writeFileSync(mounts, 'tmpfs /sys/fs/cgroup tmpfs rw 0 0\n')
    expect(() => cgroupRoot(mounts)).toThrow(/cgroup v2 is not mounted/)
    writeFileSync(mounts, 'x / ext4 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n')
    expect(cgroupRoot(mounts)).toBe('/sys/fs/cgroup')
  })

  it('writes the limit, starts the command inside, and says so when the group cannot be removed', async () => {
    const parent = path.join(folder, 'delegated')
    mkdirSync(parent)
    writeFileSync(path.join(parent, 'cgroup.subtree_control'), 'memory\n')
    let waits = 0
    const clock = { now: () => 0, date: () => new Date(0), sleep: async () => void waits++ }
    const group = createMemoryGroup(1.5, parent, clock)
    const [program, ...args] = group.wrap(['sh', '-c', 'echo started'])
    expect((await execa(program!, args)).stdout).toBe('started')
    const made = args[2]!
    expect(readFileSync(path.join(made, 'memory.max'), 'utf8')).toBe(String(1.5 * 2 ** 30))
    expect(Number(readFileSync(path.join(made, 'cgroup.procs'), 'utf8'))).toBeGreaterThan(0)
    // On a real cgroup these files vanish with the folder; here they keep it, as processes that do not end would.
    await expect(group.release()).rejects.toThrow(/processes in it do not end/)
    expect(waits).toBe(50)
    expect(existsSync(made)).toBe(true)
  })
})

describe('containers', () => {
  const options = {
    runtime: 'docker',
    image: 'img:1',
    mount: '/datadrive/',
    dataFolder: '/data/imagenet',
    gpus: 'all',
  } as const
  const limits = { name: 'pctodl-1', cpus: [0, 1, 4], memoryGb: 100, workingFolder: '/job', env: { RANK: '0' } }

  it('get cores, memory, two folders and no privileges', () => {
    const words = containerCommand(['python3', 'train.py'], options, limits).join(' ')
    expect(words).toBe(
      'docker run --rm --init --name pctodl-1 --cpuset-cpus 0,1,4 --memory 100g --memory-swap 100g --ipc host --gpus all ' +
        '--volume /job:/job --workdir /job --volume /data/imagenet:/datadrive/data/imagenet:ro --env RANK=0 ' +
        'img:1 python3 train.py',
    )
    expect(words).not.toContain('privileged')
    const podman = containerCommand(['x'], { ...options, runtime: 'podman', gpus: '0' }, { ...limits, memoryGb: null })
    expect(podman.join(' ')).toContain('--device nvidia.com/gpu=0')
    expect(podman).not.toContain('--memory')
    expect(containerCommand(['x'], { ...options, gpus: 'none' }, limits)).not.toContain('--gpus')
  })

  it('name data sets as mount point plus path, and take such names back', () => {
    expect(dataInContainer(options)).toBe('/datadrive/data/imagenet')
    expect(dataOnHost('/datadrive/data/imagenet', '/datadrive/')).toBe('/data/imagenet')
    expect(dataOnHost('/data/imagenet', '/datadrive/')).toBe('/data/imagenet')
    expect(dataOnHost('/datadrive2/x', '/datadrive')).toBe('/datadrive2/x')
  })
})

describe('the command of a job', () => {
  const job = {
    name: 'j',
    script: 'train.py',
    args: ['--amp', '-b', '1', '--data', "it's here"],
    gpus: 1,
    batchPerGpu: 64,
    maxIterations: 50,
    nodes: 1,
    nodeRank: 0,
    masterAddress: '127.0.0.1',
    masterPort: 29500,
  }

  it("keeps the script's arguments and sets its own last", () => {
    expect(trainingCommand(job, 3, 0)).toEqual([
      'python3',
      'train.py',
      '--amp',
      '-b',
      '1',
      '--data',
      "it's here",
      '--batch-size',
      '64',
      '--workers',
      '3',
      '--max-iterations',
      '50',
      '--job-name',
      'j',
    ])
    expect(trainingCommand({ ...job, script: 'run' }, 1, 0)[0]).toBe('./run')
    expect(launchCommand(job, 3).env).toMatchObject({
      WORLD_SIZE: '1',
      RANK: '0',
      LOCAL_RANK: '0',
      MASTER_PORT: '29500',
    })
  })

  it('starts a process a GPU, each with its rank, and fails when one does', async () => {
    const script = path.join(folder, 'rank.sh')
    writeFileSync(script, 'echo "$RANK of $WORLD_SIZE $LOCAL_RANK: $*"\n[ "$LOCAL_RANK" != "$FAIL" ]\n')
    const { command } = launchCommand({ ...job, script, gpus: 2, nodes: 2, nodeRank: 1 }, 3)
    const [program, ...args] = command
    const { stdout } = await execa(program!, args)
    expect(
      stdout
        .split('\n')
        .sort()
        .map((line) => line.split(':')[0]),
    ).toEqual(['2 of 4 0', '3 of 4 1'])
    expect(stdout).toContain("it's here")
    expect(stdout).toContain('--local_rank 1')
    expect((await execa(program!, args, { env: { FAIL: '0' }, reject: false })).exitCode).toBe(1)
  })

  it("finds an option among the script's arguments, the last one", () => {
    expect(optionAmong(['--data', 'a', '--data=b'], '--data')).toBe('b')
    expect(optionAmong(['-b', '4'], '-b', '--batch-size')).toBe('4')
    expect(optionAmong(['-b'], '-b')).toBeNull()
  })
})
