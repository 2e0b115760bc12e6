import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { localFile, type ModuleUse, usesOf } from './local-imports.js'

/** Where the imports of a file lead. */
interface Imports {
  /** The files that run because of it. */
  readonly files: readonly string[]
  /** Those that only hand on what it takes by name. */
  readonly passed: readonly string[]
}

/**
 * The test files of a package that use a source file, themselves or through others, the nearest first. What is imported by name
 * from a module that hands it on (`index.ts`) is looked for where it is written, and types are no use: what is erased changes no
 * test, and the type-checker reads it.
 */
export class RelatedTests {
  readonly #root: string
  readonly #uses = new Map<string, readonly ModuleUse[]>()
  readonly #imports = new Map<string, Imports>()

  /** @param root of the repository */
  constructor(root: string) {
    this.#root = root
  }

  testsOf(packageName: string): string[] {
    return this.testsIn(`packages/${packageName}`)
  }

  /** @param folder below the root, whose `test/` is looked through */
  testsIn(folder: string): string[] {
    const tests = path.join(this.#root, folder, 'test')
    if (!existsSync(tests)) return []
    return readdirSync(tests, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => path.join(tests, file))
      .sort()
  }

  /** @param file absolute */
  importersOf(file: string, tests: readonly string[]): string[] {
    return tests
      .map((test) => ({ test, distance: this.#distance(test, file) }))
      .filter(({ distance }) => distance < Number.POSITIVE_INFINITY)
      .sort((a, b) => a.distance - b.distance)
      .map(({ test }) => test)
  }

  #distance(from: string, to: string): number {
    const seen = new Set([from])
    let ring = [from]
    for (let distance = 0; ring.length > 0; distance++) {
      if (ring.includes(to) || ring.some((file) => this.#importsOf(file).passed.includes(to))) return distance
      ring = ring.flatMap((file) => this.#importsOf(file).files).filter((file) => !seen.has(file) && seen.add(file))
    }
    return Number.POSITIVE_INFINITY
  }

  #importsOf(file: string): Imports {
    let found = this.#imports.get(file)
    if (!found) {
      const each = this.#usesOf(file).map((use) => this.#writtenIn(file, use, [...(use.names?.values() ?? [])]))
      found = { files: each.flatMap(({ files }) => files), passed: each.flatMap(({ passed }) => passed) }
      this.#imports.set(file, found)
    }
    return found
  }

  /** The files that a module's names are written in, past modules that hand them on. */
  #writtenIn(file: string, { specifier, names }: ModuleUse, wanted: readonly string[]): Imports {
    const target = localFile(this.#root, file, specifier)
    if (target === undefined) return { files: [], passed: [] }
    if (names === undefined) return { files: [target], passed: [] }
    const files: string[] = []
    const passed: string[] = []
    const handedOn = new Set<string>()
    for (const use of this.#usesOf(target)) {
      if (!use.handsOn || use.names === undefined) continue
      const here = wanted.filter((name) => use.names!.has(name))
      if (here.length === 0) continue
      const there = this.#writtenIn(
        target,
        use,
        here.map((name) => use.names!.get(name)!),
      )
      files.push(...there.files)
      passed.push(target, ...there.passed)
      for (const name of here) handedOn.add(name)
    }
    if (wanted.some((name) => !handedOn.has(name))) files.push(target)
    return { files, passed }
  }

  #usesOf(file: string): readonly ModuleUse[] {
    let uses = this.#uses.get(file)
    if (!uses) {
      uses = /\.[cm]?[jt]sx?$/.test(file) ? usesOf(readFileSync(file, 'utf8')) : []
      this.#uses.set(file, uses)
    }
    return uses
  }
}
