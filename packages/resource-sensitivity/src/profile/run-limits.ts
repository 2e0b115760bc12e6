import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Clock, InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { LimitUnavailableError } from '../errors.js'

/**
 * CPU cores available to this process.
 *
 * @throws LimitUnavailableError if the system does not report them (not Linux)
 */
export function allowedCpus(statusFile = '/proc/self/status'): number[] {
  const status = existsSync(statusFile) ? readFileSync(statusFile, 'utf8') : ''
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1]
  if (list !== undefined) return parseCpuList(list)
  throw new LimitUnavailableError('CPU cores', `${statusFile} has no Cpus_allowed_list`, 'profile on Linux')
}

/** Parses a list such as `0-2,5`. */
export function parseCpuList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range.trim())
    if (match === null) throw new InvalidInputError('CPU list', list, 'numbers and ranges such as 0-2,5')
    const from = Number(match[1])
    const to = Number(match[2] ?? from)
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  })
}

/**
 * Command prefix that pins a command to the first `count` of `cpus`.
 *
 * @throws LimitUnavailableError if taskset is missing
 */
export function withCpus(
  command: readonly string[],
  cpus: readonly number[],
  count: number,
  searchPath: string,
): string[] {
  if (!(Number.isInteger(count) && count >= 1 && count <= cpus.length)) {
    const expected = `an integer from 1 to ${cpus.length}, the cores available to this process`
    throw new InvalidInputError('cpus', count, expected)
  }
  if (!isOnPath('taskset', searchPath)) {
    throw new LimitUnavailableError('CPU cores', 'taskset is not installed', 'install util-linux, or use --docker-img')
  }
  return ['taskset', '--cpu-list', cpus.slice(0, count).join(','), ...command]
}

export function isOnPath(program: string, searchPath: string): boolean {
  return searchPath.split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** A cgroup (v2) for one run, with a memory limit and no swap. */
export interface MemoryGroup {
  /** Command prefix that starts a command inside the group. */
  wrap(command: readonly string[]): string[]
  /** End all processes inside and remove the group. */
  release(): Promise<void>
}

let groups = 0

/**
 * Creates a memory group under `parent`: the root of the cgroup2 mount, or a folder delegated to this user.
 *
 * @throws LimitUnavailableError without cgroup v2, without its memory controller, or without permission
 */
export function createMemoryGroup(
  memoryGb: number,
  parent: string = cgroupRoot(),
  clock: Clock = systemClock,
): MemoryGroup {
  const remedy =
    'omit --memory, use --docker-img, or set --cgroup to a folder delegated to you with its memory controller'
  const controls = read(path.join(parent, 'cgroup.subtree_control'))
  if (!controls?.split(/\s+/).includes('memory')) {
    const why = controls === null ? 'is not a cgroup v2 folder' : 'does not delegate its memory controller'
    throw new LimitUnavailableError('memory', `${parent} ${why}`, remedy)
  }
  const folder = path.join(parent, `pctodl-${process.pid}-${groups++}`)
  try {
    mkdirSync(folder)
    writeFileSync(path.join(folder, 'memory.max'), String(Math.floor(memoryGb * 2 ** 30)))
    if (existsSync(path.join(folder, 'memory.swap.max'))) writeFileSync(path.join(folder, 'memory.swap.max'), '0')
  } catch (error) {
    if (existsSync(folder)) rmdirSync(folder)
    const why = `${folder} cannot be created (${(error as Error).message})`
    throw new LimitUnavailableError('memory', why, remedy, error)
  }
  return {
    wrap: (command) => ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder, ...command],
    async release() {
      // An aborted run may leave data loaders behind; the kernel kills them all at once.
      if (existsSync(path.join(folder, 'cgroup.kill'))) writeFileSync(path.join(folder, 'cgroup.kill'), '1')
      for (let tries = 0; ; tries++) {
        try {
          rmdirSync(folder)
          return
        } catch (error) {
          const why = `cannot remove ${folder}: processes in it do not end`
          if (tries === 50) throw new PctodlError('CGROUP_LEFT', why, { cause: error })
          await clock.sleep(100)
        }
      }
    },
  }
}

/** Mount point of cgroup v2. */
export function cgroupRoot(mountsFile = '/proc/self/mounts'): string {
  const place = /^\S+ (\S+) cgroup2 /m.exec(read(mountsFile) ?? '')?.[1]
  if (place !== undefined) return place
  throw new LimitUnavailableError('memory', 'cgroup v2 is not mounted', 'omit --memory, or use --docker-img')
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

export interface ContainerOptions {
  readonly runtime: 'docker' | 'podman'
  readonly image: string
  /** Folder in the container where the data set is mounted read-only. */
  readonly mount: string
  readonly dataFolder: string
  /** Value of `--gpus` (docker) or the device (podman); `none` for no GPU. */
  readonly gpus: string
}

export interface ContainerLimits {
  readonly name: string
  readonly cpus: readonly number[]
  readonly memoryGb: number | null
  /** The job's working directory, mounted at the same path: its report appears there. */
  readonly workingFolder: string
  readonly env: Readonly<Record<string, string>>
}

/** Arguments of `docker run`. The container has no privileges and sees two folders of the host. */
export function containerCommand(
  command: readonly string[],
  options: ContainerOptions,
  limits: ContainerLimits,
): string[] {
  const { runtime, image, gpus, dataFolder } = options
  const gpuWords =
    gpus === 'none' ? [] : runtime === 'docker' ? ['--gpus', gpus] : ['--device', `nvidia.com/gpu=${gpus}`]
  return [
    ...[runtime, 'run', '--rm', '--init', '--name', limits.name],
    ...['--cpuset-cpus', limits.cpus.join(',')],
    ...(limits.memoryGb === null ? [] : ['--memory', `${limits.memoryGb}g`, '--memory-swap', `${limits.memoryGb}g`]),
    // Data loaders pass batches in shared memory.
    ...['--ipc', 'host'],
    ...gpuWords,
    ...['--volume', `${limits.workingFolder}:${limits.workingFolder}`, '--workdir', limits.workingFolder],
    ...['--volume', `${dataFolder}:${dataInContainer(options)}:ro`],
    ...Object.entries(limits.env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    image,
    ...command,
  ]
}

/**
 * Path of the data set in the container: mount point plus host path. The published profiler mounts the whole host under
 * the mount point, so scripts may use such paths.
 */
export function dataInContainer({ mount, dataFolder }: Pick<ContainerOptions, 'mount' | 'dataFolder'>): string {
  return `${mount.replace(/\/+$/, '')}${dataFolder}`
}

/** Host path of a path in a script's arguments. */
export function dataOnHost(named: string, mount: string): string {
  const prefix = mount.replace(/\/+$/, '')
  return named.startsWith(`${prefix}/`) ? named.slice(prefix.length) : named
}

/** @throws LimitUnavailableError if the runtime is missing or does not answer */
export async function assertContainerRuntime(runtime: 'docker' | 'podman'): Promise<void> {
  const { execa } = await import('execa')
  const result = await execa(runtime, ['info', '--format', '{{json .}}'], { reject: false, timeout: 20_000 })
  if (result.exitCode === 0) return
  const why = (result.stderr || result.shortMessage || 'no answer').split('\n').filter(Boolean).at(-1)!
  throw new LimitUnavailableError(
    'CPU cores and memory by container',
    `${runtime} cannot be used (${why})`,
    'start it, or omit --docker-img to run the job directly',
  )
}

export async function removeContainer(runtime: 'docker' | 'podman', name: string): Promise<void> {
  const { execa } = await import('execa')
  await execa(runtime, ['rm', '--force', name], { reject: false, timeout: 60_000 })
}
