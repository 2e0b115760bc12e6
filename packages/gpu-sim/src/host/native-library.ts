import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { boardFileHeaderC } from './board-file-layout.js'
import { CompilerError } from './host-errors.js'

export const NVML_LIBRARY = 'libnvidia-ml.so.1'

const compilerArguments = [
  '-std=gnu11',
  '-O2',
  '-Wall',
  '-Wextra',
  '-fPIC',
  '-fvisibility=hidden',
  '-shared',
  '-pthread',
  `-Wl,-soname,${NVML_LIBRARY}`,
]

export interface NativeLibraryOptions {
  /** Folder of the C sources. */
  readonly sourceFolder: string
  /** Default: `pctodl-gpu-sim` in `$XDG_CACHE_HOME` or `~/.cache`. */
  readonly cacheFolder?: string
  /** Default: `$CC`, or `cc`. */
  readonly compiler?: string
}

/**
 * Path of the compiled library; it is built at first use and kept per user under a hash of its sources, the layout of the
 * board files and the compiler.
 *
 * @throws CompilerError where there is no C compiler, or it fails
 */
export function nativeLibrary({ sourceFolder, cacheFolder, compiler }: NativeLibraryOptions): string {
  const cc = compiler ?? (process.env['CC'] || 'cc')
  const names = readdirSync(sourceFolder).sort()
  const header = boardFileHeaderC()
  const hash = createHash('sha256').update(`${process.arch}\0${cc}\0${compilerArguments.join('\0')}\0${header}`)
  for (const name of names) hash.update(`\0${name}\0`).update(readFileSync(join(sourceFolder, name)))
  const root = cacheFolder ?? join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'pctodl-gpu-sim')
  const folder = join(root, hash.digest('hex').slice(0, 24))
  const library = join(folder, NVML_LIBRARY)
  if (existsSync(library)) return library

  mkdirSync(folder, { recursive: true })
  // Two hosts may build at the same time: each in a folder of its own, and the finished file is moved into place.
  const build = mkdtempSync(join(folder, 'build-'))
  try {
    writeFileSync(join(build, 'board_file.h'), header)
    const sources = names.filter((name) => name.endsWith('.c')).map((name) => join(sourceFolder, name))
    const output = join(build, NVML_LIBRARY)
    compile(cc, [...compilerArguments, `-I${build}`, `-I${sourceFolder}`, '-o', output, ...sources, '-ldl'])
    renameSync(output, library)
  } finally {
    rmSync(build, { recursive: true, force: true })
  }
  return library
}

function compile(cc: string, args: readonly string[]): void {
  try {
    execFileSync(cc, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (cause) {
    const { code, stderr } = cause as NodeJS.ErrnoException & { readonly stderr?: Buffer }
    if (code === 'ENOENT') {
      throw new CompilerError(
        `host mode compiles a small C library, and there is no C compiler '${cc}' on PATH; install one ` +
          '(Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc glibc-devel) or name it in CC',
        { cause },
      )
    }
    throw new CompilerError(
      `'${cc}' could not compile the simulated NVML library (C headers missing? Debian, Ubuntu: apt install libc6-dev; ` +
        `Fedora: dnf install glibc-devel):\n${stderr?.toString().trim() ?? String(cause)}`,
      { cause },
    )
  }
}
