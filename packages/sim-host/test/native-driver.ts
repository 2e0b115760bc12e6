import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { boardFileHeaderC } from '../src/board-file-layout.js'

const run = promisify(execFile)

/** What `native-driver.c` answers in the place of the system: then time and users are the test's. */
const wrapped = ['clock_gettime', 'nanosleep', 'kill', 'geteuid', 'getpid', 'open', 'memcpy']
const common = ['-std=gnu11', '-g', '-O1', '-w', '-fno-builtin-memcpy', '-fsanitize=address,undefined']
const compilerWords = [...common, '-fno-sanitize-recover=all']

/** The library's sources and the driver as one program, with a part compiled once for all variants. */
export class NativeDriver {
  readonly folder: string = mkdtempSync(path.join(tmpdir(), 'native-driver-'))
  readonly #sources: string
  readonly #cc = process.env['CC'] || 'cc'

  /** @param sources the folder of the library's C sources */
  constructor(sources: string) {
    this.#sources = sources
    mkdirSync(path.join(this.folder, 'lib'))
    writeFileSync(path.join(this.folder, 'board_file.h'), boardFileHeaderC())
  }

  /** @returns null, or what the compiler said against it */
  async build(): Promise<string | null> {
    const driver = path.join(import.meta.dirname, 'native-driver.c')
    const files = readdirSync(this.#sources).filter((name) => name.endsWith('.c'))
    for (const file of [driver, ...files.map((name) => path.join(this.#sources, name))]) {
      const refusal = await this.compile(file, this.#sources)
      if (refusal !== null) return refusal
    }
    return null
  }

  /** One file to its object. @param headers where its headers lie */
  async compile(file: string, headers: string): Promise<string | null> {
    const object = path.join(this.folder, `${path.basename(file)}.o`)
    return this.#call([...compilerWords, `-I${this.folder}`, `-I${headers}`, '-c', '-o', object, file])
  }

  async link(): Promise<string | null> {
    const objects = readdirSync(this.folder).filter((name) => name.endsWith('.o'))
    return this.#call([
      ...compilerWords,
      ...wrapped.map((name) => `-Wl,--wrap=${name}`),
      '-pthread',
      '-o',
      path.join(this.folder, 'driver'),
      ...objects.map((name) => path.join(this.folder, name)),
    ])
  }

  /** @returns the exit code and all that it said */
  async run(...words: string[]): Promise<{ readonly code: number; readonly said: string }> {
    const options = { cwd: path.join(this.folder, 'lib'), timeout: 120_000 }
    return run(path.join(this.folder, 'driver'), words, options).then(
      ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ code: typeof code === 'number' ? code : -1, said: `${stdout}${stderr}` }),
    )
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #call(words: readonly string[]): Promise<string | null> {
    return run(this.#cc, [...words]).then(
      () => null,
      (error) => String(error.stderr ?? error),
    )
  }
}
