import { readFileSync } from 'node:fs'
import * as platform from '@pctodl/platform'
import { expect, it } from 'vitest'

it('the example of the README prints what its comments say', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, example] = /```ts\n([\s\S]*?)```/.exec(readme)!
  const promised = [...example!.matchAll(/console\.log\(.*\) \/\/ ([^:\n]+)/g)].map(([, text]) => text!.trim())
  const body = example!
    .replace(/import \{(.*)\} from '@pctodl\/platform'/, 'const {$1} = platform')
    .replaceAll('!\n', '\n')
  const printed: string[] = []
  const log = (...values: unknown[]) => printed.push(values.join(' '))
  new Function('platform', 'console', body)(platform, { log })
  expect(printed).toEqual(promised)
  expect(promised.length).toBeGreaterThan(2)
})
