import { readFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { cacheFolder, missingCompiler } from './built-host.js'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

it('the example of the README is the one that runs here', () => {
  expect(read('README.md')).toContain(`\`\`\`ts\n${read('examples/set-a-limit.ts')}\`\`\``)
})

it.skipIf(missingCompiler)('the example sets a limit with nvidia-smi and reads it', async () => {
  vi.stubEnv('XDG_CACHE_HOME', cacheFolder)
  const printed: unknown[] = []
  vi.spyOn(console, 'log').mockImplementation((value) => printed.push(value))
  await import('../examples/set-a-limit.js')
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  expect(printed).toEqual(['NVIDIA A100-PCIE-40GB, 200.00 W'])
})
