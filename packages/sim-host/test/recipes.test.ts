import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import { type BuiltPrograms, buildPrograms, missingCompiler, outcome, startHost } from './built-host.js'

const page = readFileSync(fileURLToPath(new URL('../../../docs/test-without-a-gpu.md', import.meta.url)), 'utf8')
const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)![1]!
const python = missingCompiler ? undefined : pythonWith(['nvidia-ml-py==13.615.71'], ['pynvml'])

describe.skipIf(missingCompiler)(`the recipes${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let built: BuiltPrograms

  beforeAll(async () => {
    built = await buildPrograms()
  })
  afterAll(() => built?.remove())

  it.skipIf(!python)(`have a Python test that passes${python ? '' : ' (no Python with nvidia-ml-py)'}`, async () => {
    const { host, env } = await startHost(built.programs, { board: 'A100', gpus: 2, privilege: 'everyone' })
    try {
      const file = join(built.folder, 'test_board.py')
      writeFileSync(file, block('python'))
      const { code, stdout, stderr } = await outcome(python!, [file], env)
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toBe("['NVIDIA A100-PCIE-40GB', 'NVIDIA A100-PCIE-40GB']\n")
    } finally {
      host.close()
    }
  })

  it('name boards and options that there are, in the CI job and in the container', async () => {
    const fromYaml = [...block('yaml').matchAll(/pctodl sim (host .*?) -- /g)].map(([, words]) => words!.split(' '))
    const entry: string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(block('dockerfile'))![1]!)
    const commands = [...fromYaml, entry.slice(2, -1)]
    expect(commands).toHaveLength(3)
    const faults = join(built.folder, 'faults.json')
    writeFileSync(faults, /`(\{"faults".*?\})`/.exec(page)![1]!)
    for (const words of commands) {
      const own = words.map((word) => (word === 'faults.json' ? faults : word))
      // Without a command it says that one is missing, and only that.
      const { code, stderr } = await outcome(process.execPath, [built.cli, ...own], process.env)
      expect([code, stderr.split('\n')[0]]).toEqual([2, 'pctodl sim: no command to run; put it after --'])
    }
  })
})
