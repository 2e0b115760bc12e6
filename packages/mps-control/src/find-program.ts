import { existsSync } from 'node:fs'
import path from 'node:path'
import { closedFolder, reasonOf, trustedFile } from '@pctodl/nvml-control'
import { MpsError } from './mps-errors.js'

export interface FoundProgram {
  readonly file: string
  readonly searchPath: string
}

/**
 * Finds a program by its path, or by its name on a search path.
 * Root accepts only a program that no other user can write, and skips folders that other users can write, also in the
 * search path that is returned. For other users, a planted program would gain no further rights.
 * @throws MpsError `MPS_NO_PROGRAM`; `MPS_UNTRUSTED_PROGRAM` if others can change every program found
 */
export function findProgram(program: string, searchPath: string): FoundProgram {
  if (process.geteuid?.() !== 0) return { file: program, searchPath }
  const folders = searchPath.split(':').filter((folder) => path.isAbsolute(folder))
  const isPath = program.includes('/')
  const places = isPath ? [path.resolve(program)] : folders.map((folder) => path.join(folder, program))
  const found = places.filter((place) => existsSync(place))
  const reasons = found.map((place) => whyNot(() => trustedFile(place)))
  const trusted = found[reasons.indexOf(null)]
  if (trusted !== undefined) {
    const closed = folders.filter((folder) => whyNot(() => closedFolder(folder)) === null)
    return { file: trusted, searchPath: closed.join(':') }
  }
  if (found.length === 0) throw noProgram(program, isPath ? 'there' : 'on PATH')
  throw new MpsError(
    'MPS_UNTRUSTED_PROGRAM',
    `root does not run a ${program} that others could have put there ` +
      `(${found.map((place, i) => `${place}: ${reasons[i]}`).join('; ')}); give it, and the folder it is in, ` +
      'to root alone, or name another with --mps-program (pctodld) or --program (pctodl mps)',
  )
}

/** @param place where the program was not found, e.g. `on PATH` */
export function noProgram(program: string, place: string, cause?: unknown): MpsError {
  const source = 'it comes with the NVIDIA driver (Debian, Ubuntu: `apt install nvidia-cuda-mps`)'
  return new MpsError('MPS_NO_PROGRAM', `${program} is not ${place}; ${source}`, { cause })
}

function whyNot(check: () => unknown): string | null {
  try {
    check()
    return null
  } catch (error) {
    return reasonOf(error)
  }
}
