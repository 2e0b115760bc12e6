import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

// What a build reads and turbo does not know of could change, and the next build would bring the old code from the cache.

const root = path.resolve(import.meta.dirname, '..')

interface Task {
  readonly package: string
  readonly directory: string
  /** Hashes by file, relative to the package. */
  readonly inputs: Readonly<Record<string, string>>
}

it('turbo builds a package again when anything changes that its sources import', () => {
  const turbo = path.join(root, 'node_modules', 'turbo', 'bin', 'turbo')
  const plan = execFileSync(process.execPath, [turbo, 'run', 'build', '--dry=json'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
  })
  const { tasks } = JSON.parse(plan) as { readonly tasks: readonly Task[] }
  expect(tasks.length).toBeGreaterThan(20)
  const unknown: string[] = []
  let outside = 0
  for (const { package: name, directory, inputs } of tasks) {
    const sources = path.join(root, directory, 'src')
    for (const file of readdirSync(sources, { recursive: true }) as string[]) {
      if (!file.endsWith('.ts')) continue
      const text = readFileSync(path.join(sources, file), 'utf8')
      for (const [, specifier] of text.matchAll(/\b(?:from|import\()\s*'(\.{1,2}\/[^']*)'/g)) {
        const imported = path.relative(
          path.join(root, directory),
          path.resolve(sources, path.dirname(file), specifier!),
        )
        // A module of the package itself: `./x.js` is `x.ts`, and all of `src/` is known.
        if (imported.startsWith('src')) continue
        outside++
        if (!Object.hasOwn(inputs, imported.replaceAll('\\', '/'))) unknown.push(`${name}: ${imported}`)
      }
    }
  }
  expect(outside).toBeGreaterThan(20)
  expect(unknown).toEqual([])
})
