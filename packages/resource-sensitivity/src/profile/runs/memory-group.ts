import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Clock, PctodlError, systemClock } from '@pctodl/platform'
import { LimitUnavailableError } from '../../errors.js'

/** A cgroup (version 2) of its own for one run, with a limit on memory and no swap. */
export interface MemoryGroup {
  /** The command line under which a command starts inside the group. */
  wrap(command: readonly string[]): string[]
  /** End whatever is left inside and remove the group. */
  release(): Promise<void>
}

let groups = 0

/**
 * Make such a group under `parent`: the root of the cgroup2 mount, or a folder that was delegated to you.
 *
 * @throws LimitUnavailableError where there is no cgroup v2, it does not control memory, or it may not be changed
 */
export function createMemoryGroup(
  memoryGb: number,
  parent: string = cgroupRoot(),
  clock: Clock = systemClock,
): MemoryGroup {
  const remedy =
    'leave out --memory, give --docker-img, or give --cgroup a folder delegated to you with its memory controller on'
  const controls = read(path.join(parent, 'cgroup.subtree_control'))
  if (controls === null) throw new LimitUnavailableError('memory', `${parent} is no cgroup v2 folder`, remedy)
  if (!controls.split(/\s+/).includes('memory')) {
    throw new LimitUnavailableError('memory', `${parent} does not hand its memory controller on`, remedy)
  }
  const folder = path.join(parent, `pctodl-${process.pid}-${groups++}`)
  try {
    mkdirSync(folder)
    writeFileSync(path.join(folder, 'memory.max'), String(Math.floor(memoryGb * 2 ** 30)))
    if (existsSync(path.join(folder, 'memory.swap.max'))) writeFileSync(path.join(folder, 'memory.swap.max'), '0')
  } catch (error) {
    if (existsSync(folder)) rmdirSync(folder)
    const cause = error instanceof Error ? error.message : String(error)
    throw new LimitUnavailableError('memory', `${folder} cannot be made (${cause})`, remedy, { cause: error })
  }
  return {
    wrap: (command) => ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder, ...command],
    async release() {
      // A run that was cut short may leave loaders behind; the kernel ends them all at once.
      if (existsSync(path.join(folder, 'cgroup.kill'))) writeFileSync(path.join(folder, 'cgroup.kill'), '1')
      for (let tries = 0; ; tries++) {
        try {
          rmdirSync(folder)
          return
        } catch (error) {
          if (tries === 50) {
            throw new PctodlError('CGROUP_LEFT', `cannot remove ${folder}: processes in it do not end`, {
              cause: error,
            })
          }
          await clock.sleep(100)
        }
      }
    },
  }
}

/**
 * Where cgroup v2 is mounted.
 *
 * @throws LimitUnavailableError where it is not
 */
export function cgroupRoot(mountsFile = '/proc/self/mounts'): string {
  const mounts = read(mountsFile) ?? ''
  for (const line of mounts.split('\n')) {
    const [, place, kind] = line.split(' ')
    if (kind === 'cgroup2' && place !== undefined) return place
  }
  throw new LimitUnavailableError('memory', 'cgroup v2 is not mounted', 'leave out --memory, or give --docker-img')
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
