import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { localFile, specifiersOf } from './local-imports.js'

/** The test files of a package that import a source file, themselves or through others, the nearest first. */
export class RelatedTests {
  readonly #root: string
  readonly #imports = new Map<string, readonly string[]>()

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
      if (ring.includes(to)) return distance
      ring = ring.flatMap((file) => this.#importsOf(file)).filter((file) => !seen.has(file) && seen.add(file))
    }
    return Number.POSITIVE_INFINITY
  }

  #importsOf(file: string): readonly string[] {
    let found = this.#imports.get(file)
    if (!found) {
      found = /\.[cm]?[jt]sx?$/.test(file)
        ? specifiersOf(readFileSync(file, 'utf8'))
            .map((specifier) => localFile(this.#root, file, specifier))
            .filter((imported) => imported !== undefined)
        : []
      this.#imports.set(file, found)
    }
    return found
  }
}
