import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** The test files of a package that import a source file, themselves or through others, the nearest first. */
export class RelatedTests {
  readonly #root: string
  readonly #imports = new Map<string, readonly string[]>()

  /** @param root of the repository */
  constructor(root: string) {
    this.#root = root
  }

  testsOf(packageName: string): string[] {
    const folder = path.join(this.#root, 'packages', packageName, 'test')
    if (!existsSync(folder)) return []
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => path.join(folder, file))
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
      const source = readFileSync(file, 'utf8')
      found = [...source.matchAll(/(?:from\s*|import\s*\(?\s*)['"]([^'"]+)['"]/g)]
        .map(([, specifier]) => this.#resolve(file, specifier!))
        .filter((imported) => imported !== undefined)
      this.#imports.set(file, found)
    }
    return found
  }

  #resolve(file: string, specifier: string): string | undefined {
    const ofFamily = /^@pctodl\/([a-z-]+)(?:\/([a-z-]+))?$/.exec(specifier)
    const candidate = ofFamily
      ? path.join(this.#root, 'packages', ofFamily[1]!, 'src', `${ofFamily[2] ?? 'index'}.ts`)
      : path.resolve(path.dirname(file), specifier)
    if (!ofFamily && !specifier.startsWith('.')) return undefined
    const sources = [candidate.replace(/\.js$/, '.ts'), candidate.replace(/\.js$/, '.tsx'), candidate]
    return sources.find((source) => existsSync(source) && statSync(source).isFile())
  }
}
