import { LimitUnavailableError } from '../../errors.js'

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
