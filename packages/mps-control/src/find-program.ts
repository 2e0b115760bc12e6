import { existsSync } from 'node:fs'
import path from 'node:path'
import { closedFolder, reasonOf, trustedFile } from '@pctodl/nvml-control'
import { MpsError } from './mps-errors.js'

/** The path of a program, and the search path for programs that it starts. */
export interface FoundProgram {
  readonly file: string
  readonly searchPath: string
}

/**
 * Finds a program by its path, or by its name on a search path.
 *
 * Root accepts only a program that no other user can write, and skips folders that other users can write, also in the
 * search path that is returned. For other users, the system's own rules apply, because a planted program would gain no
 * further rights.
 *
 * @param program a path, or a name to search for
 * @param searchPath folders, separated by colons
 * @throws MpsError `MPS_NO_PROGRAM`; `MPS_UNTRUSTED_PROGRAM` if others can change every program found
 */
export function findProgram(program: string, searchPath: string): FoundProgram {
  if (process.geteuid?.() !== 0) return { file: program, searchPath }
  const folders = searchPath.split(':').filter((folder) => path.isAbsolute(folder))
  const places = program.includes('/') ? [path.resolve(program)] : folders.map((folder) => path.join(folder, program))
  const trusted = folders.filter((folder) => whyNot(() => closedFolder(folder)) === null)
  const leftOut: string[] = []
  for (const place of places) {
    if (!existsSync(place)) continue
    const reason = whyNot(() => trustedFile(place))
    if (reason === null) return { file: place, searchPath: trusted.join(':') }
    leftOut.push(`${place}: ${reason}`)
  }
  if (leftOut.length > 0) {
    throw new MpsError(
      'MPS_UNTRUSTED_PROGRAM',
      `root does not run a ${program} that others could have put there (${leftOut.join('; ')}); give it, and the folder it is in, ` +
        'to root alone, or name another with --mps-program (pctodld) or --program (pctodl mps)',
    )
  }
  throw new MpsError(
    'MPS_NO_PROGRAM',
    `${program} is not ${program.includes('/') ? 'there' : 'on PATH'}; it comes with the NVIDIA driver (Debian, Ubuntu: ` +
      '`apt install nvidia-cuda-mps`)',
  )
}

function whyNot(check: () => unknown): string | null {
  try {
    check()
    return null
  } catch (error) {
    return reasonOf(error)
  }
}
