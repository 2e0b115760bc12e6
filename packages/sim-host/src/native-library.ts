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
import { dirname, join } from 'node:path'
import { readOwnFile, trustedPath } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { boardFileHeaderC } from './board-file-layout.js'

export const NVML_LIBRARY = 'libnvidia-ml.so.1'
const MAX_LIBRARY_BYTES = 2 ** 24

/** @internal */
export const compilerArguments: readonly string[] = [
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
  /** Folder with the package's prebuilt libraries. Default: none, so the library is compiled. */
  readonly prebuiltFolder?: string
  /**
   * Folder in which compiled libraries are cached. Default: `$XDG_CACHE_HOME/pctodl-gpu-sim`, or
   * `~/.cache/pctodl-gpu-sim`.
   */
  readonly cacheFolder?: string
  /**
   * C compiler. If this option or `$CC` names one, the library is always compiled. Default: `cc`, used only if no
   * prebuilt library fits.
   */
  readonly compiler?: string
}

/**
 * Returns the path of the NVML library: a prebuilt one if it was made from these sources for this system, else one that
 * is compiled now and cached per user. The cache key is a hash of the sources, the layout of the board files and the
 * compiler.
 *
 * @throws PctodlError `NO_COMPILER` if there is no C compiler, or it fails
 * @throws PctodlError `NOT_OWN` if other users could replace the library, or it belongs to another user
 */
export function nativeLibrary({ sourceFolder, prebuiltFolder, cacheFolder, compiler }: NativeLibraryOptions): string {
  const prebuilt = prebuiltFolder === undefined ? null : prebuiltLibrary(sourceFolder, prebuiltFolder)
  const wanted = compiler ?? (process.env['CC'] || undefined)
  if (prebuilt !== null && wanted === undefined) return prebuilt
  const cc = wanted ?? 'cc'
  const hash = createHash('sha256').update(
    `${process.arch}\0${cc}\0${compilerArguments.join('\0')}\0${sourcesHash(sourceFolder)}`,
  )
  const root = cacheFolder ?? join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'pctodl-gpu-sim')
  const wantedFolder = join(root, hash.digest('hex').slice(0, 24))
  mkdirSync(wantedFolder, { recursive: true, mode: 0o755 })
  // Host programs load this library, so no other user may be able to change it.
  const folder = trustedPath(wantedFolder)
  const library = join(folder, NVML_LIBRARY)
  if (readOwnFile(library, MAX_LIBRARY_BYTES) !== null) return library

  // Two hosts may compile at the same time. Each compiles in a folder of its own, then moves the finished file into
  // place.
  const build = mkdtempSync(join(folder, 'build-'))
  try {
    const output = join(build, NVML_LIBRARY)
    compileLibrary({ sourceFolder, compiler: cc, output })
    renameSync(output, library)
  } finally {
    rmSync(build, { recursive: true, force: true })
  }
  return library
}

/**
 * Compiles the library from its sources.
 *
 * @param options.output path of the library; a C header is written into the same folder
 * @throws PctodlError `NO_COMPILER` if there is no C compiler, or it fails
 */
export function compileLibrary({
  sourceFolder,
  compiler,
  output,
}: {
  readonly sourceFolder: string
  readonly compiler: string
  readonly output: string
}): void {
  const beside = dirname(output)
  writeFileSync(join(beside, 'board_file.h'), boardFileHeaderC())
  const sources = readdirSync(sourceFolder)
    .filter((name) => name.endsWith('.c'))
    .sort()
    .map((name) => join(sourceFolder, name))
  compile(compiler, [...compilerArguments, `-I${beside}`, `-I${sourceFolder}`, '-o', output, ...sources])
}

/** Returns a hash of the C sources and the layout of the board files. */
export function sourcesHash(sourceFolder: string): string {
  const hash = createHash('sha256').update(boardFileHeaderC())
  for (const name of readdirSync(sourceFolder).sort())
    hash.update(`\0${name}\0`).update(readFileSync(join(sourceFolder, name)))
  return hash.digest('hex')
}

/** Name of the file, next to the prebuilt libraries, that contains the hash of their sources. */
export const PREBUILT_HASH_FILE = 'sources.sha256'

/** Path of a platform's library in a folder of prebuilt libraries. */
export function prebuiltPath(folder: string, platform: string): string {
  return join(folder, platform, NVML_LIBRARY)
}

/** Returns the prebuilt library; null if none was built from these sources for this processor and C library. */
function prebuiltLibrary(sourceFolder: string, folder: string): string | null {
  const library = prebuiltPath(folder, `linux-${process.arch}`)
  const hashFile = join(folder, PREBUILT_HASH_FILE)
  if (!existsSync(library) || !existsSync(hashFile) || !hasGlibc()) return null
  return readFileSync(hashFile, 'utf8').trim() === sourcesHash(sourceFolder) ? library : null
}

/**
 * Whether the system uses the GNU C library, which the prebuilt libraries need. They need version 2.17 (2012) or newer;
 * the version is not checked. Alpine, for example, uses another C library.
 */
function hasGlibc(): boolean {
  const { header } = process.report.getReport() as unknown as {
    readonly header: { readonly glibcVersionRuntime?: string }
  }
  return header.glibcVersionRuntime !== undefined
}

function compile(cc: string, args: readonly string[]): void {
  try {
    execFileSync(cc, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (cause) {
    const { code, stderr } = cause as NodeJS.ErrnoException & { readonly stderr?: Buffer }
    if (code === 'ENOENT' || code === 'EACCES') {
      throw new PctodlError(
        'NO_COMPILER',
        `host mode compiles a small C library, and there is no C compiler '${cc}' on PATH; install one ` +
          '(Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc glibc-devel) or name it in CC',
        { cause },
      )
    }
    throw new PctodlError(
      'NO_COMPILER',
      `'${cc}' could not compile the simulated NVML library (C headers missing? Debian, Ubuntu: apt install libc6-dev; ` +
        `Fedora: dnf install glibc-devel):\n${stderr?.toString().trim() ?? String(cause)}`,
      { cause },
    )
  }
}
