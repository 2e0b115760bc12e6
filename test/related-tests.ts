import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { localFile, type ModuleUse, usesOf } from './local-imports.js'

/** The files to which a file's imports resolve. */
interface Imports {
  /** Files whose code the importing file runs. */
  readonly files: readonly string[]
  /** Files that only re-export the imported names. */
  readonly passed: readonly string[]
}

/**
 * Finds the test files of a package that use a source file, directly or through other files; the closest come first. If
 * a name is imported from a module that re-exports it (`index.ts`), the file that defines it counts. Type imports do
 * not count: types are erased, so they cannot change a test, and the type checker checks them.
 */
export class RelatedTests {
  readonly #root: string
  readonly #uses = new Map<string, readonly ModuleUse[]>()
  readonly #imports = new Map<string, Imports>()

  /** @param root root folder of the repository */
  constructor(root: string) {
    this.#root = root
  }

  testsOf(packageName: string): string[] {
    return this.testsIn(`packages/${packageName}`)
  }

  /** @param folder folder below the root; its `test/` is searched */
  testsIn(folder: string): string[] {
    const tests = path.join(this.#root, folder, 'test')
    if (!existsSync(tests)) return []
    return readdirSync(tests, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => path.join(tests, file))
      .sort()
  }

  /** @param file absolute path */
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

  /** Finds the files that define a module's names, through modules that re-export them. */
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
