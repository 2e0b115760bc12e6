import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { LimitUnavailableError } from '../../errors.js'

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
    const to = match[2] === undefined ? from : Number(match[2])
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
