import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Clock, PctodlError, systemClock } from '@pctodl/platform'
import { LimitUnavailableError } from '../../errors.js'

/** A cgroup (v2) for one run, with a memory limit and no swap. */
export interface MemoryGroup {
  /** Command prefix that starts a command inside the group. */
  wrap(command: readonly string[]): string[]
  /** End all processes inside and remove the group. */
  release(): Promise<void>
}

let groups = 0

/**
 * Create such a group under `parent`: the root of the cgroup2 mount, or a folder delegated to this user.
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
    const cause = error instanceof Error ? error.message : String(error)
    throw new LimitUnavailableError('memory', `${folder} cannot be created (${cause})`, remedy, { cause: error })
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

/**
 * Mount point of cgroup v2.
 *
 * @throws LimitUnavailableError if it is not mounted
 */
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
