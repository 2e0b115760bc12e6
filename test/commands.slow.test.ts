import { execSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../packages/cli/src/index.js'
import { workspacePackages } from '../scripts/pack-packages.js'
import {
  binaries,
  call,
  commandsOfLine,
  commandsOfPage,
  commandsOfSource,
  helpOf,
  isOurs,
  mistakeIn,
  type WrittenCommand,
} from './family-commands.js'
import { someOf } from './long-tests.js'

// Every command that any text of ours shows can be typed.

const root = path.resolve(import.meta.dirname, '..')
const packageFolders = workspacePackages().map(({ folder }) => folder)
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync(path.join(root, 'docs')).flatMap((file) => (file.endsWith('.md') ? [`docs/${file}`] : [])),
  ...packageFolders.map((folder) => `${folder}/README.md`),
]
const sources = packageFolders.flatMap((folder) =>
  (readdirSync(path.join(root, folder, 'src'), { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/src/${file}`),
)
/** Those that are started as a shell does; a start of each is in test/newcomer.slow.test.ts, too. */
const started = someOf(
  binaries.map(({ name }) => name),
  'bench-runner',
  'pctodl',
)

describe('every program', () => {
  it('is pctodl, or one of its commands under a name of its own', () => {
    const known = commands.flatMap(({ binary = [] }) => binary)
    expect([...known, 'pctodl'].sort()).toEqual(binaries.map(({ name }) => name).sort())
    expect(known).toEqual(['bench-runner', 'pctodld'])
  })

  it.each(binaries.map(({ name, version }) => [name, version]))('%s tells its version', async (name, version) => {
    expect(await call(name, ['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
    expect(await helpOf(name)).toContain('--version')
  })

  it.each(commands.map(({ name }) => [name]))('pctodl %s tells its version', async (name) => {
    const binary = commands.find((entry) => entry.name === name)!.binary ?? 'pctodl'
    const { version } = binaries.find((candidate) => candidate.name === binary)!
    expect(await call('pctodl', [name, '--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it.each(binaries.map(({ name, version }) => [name, version]))('npx %s finds it in the clone', (name, version) => {
    // `npx` takes what is here before it asks the registry, where these names could be anybody's.
    const linked = path.join(root, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name)
    expect(existsSync(linked), linked).toBe(true)
    if (!started.includes(name)) return
    expect(execSync(`"${linked}" --version`, { encoding: 'utf8' })).toBe(`${version}\n`)
  })
})

describe('every command in a text', () => {
  it.each(pages)('of %s is there, with its options', async (page) => {
    const mistakes: string[] = []
    for (const command of commandsOfPage(page)) {
      const mistake = await mistakeInWritten(page, command)
      if (mistake !== undefined) mistakes.push(`${command.place}: ${command.words.join(' ')}: ${mistake}`)
    }
    expect(mistakes).toEqual([])
  })

  it('of messages, of advice and of comments is there, with its options', async () => {
    const mistakes: string[] = []
    let count = 0
    for (const { place, words } of sources.flatMap((file) => commandsOfSource(file))) {
      if (words.some((word) => word.endsWith(':')) || words[1] === 'complete') continue
      count++
      const mistake = await mistakeIn(words)
      if (mistake !== undefined) mistakes.push(`${place}: ${mistake}`)
    }
    expect(count).toBeGreaterThan(50)
    expect(mistakes).toEqual([])
  })

  it('of the advice of doctor on this machine is there, with its options', async () => {
    const { stdout } = await call('pctodl', ['doctor', '--json'])
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly advice: string | null }[] }
    for (const advice of findings.map((finding) => finding.advice ?? '')) {
      for (const [, line] of advice.matchAll(/`([^`]+)`/g)) {
        for (const words of commandsOfLine(line!)) expect(await mistakeIn(words), advice).toBeUndefined()
      }
    }
  })

  it('of help is there, with its options', async () => {
    const mistakes: string[] = []
    const texts = await Promise.all([
      ...binaries.map(({ name }) => helpOf(name)),
      ...commands.map(({ name }) => helpOf('pctodl', name)),
    ])
    for (const text of texts) {
      const example = /\nExamples?:\n([\s\S]*?)(\n\n|$)/.exec(text)?.[1]
      expect(example, text).toBeDefined()
      for (const words of example!
        .replaceAll(/\\\n\s*/g, ' ')
        .split('\n')
        .flatMap((line) => commandsOfLine(line))) {
        const mistake = await mistakeIn(words)
        if (mistake !== undefined) mistakes.push(`${words.join(' ')}: ${mistake}`)
      }
    }
    expect(mistakes).toEqual([])
  })
})

describe('commands that need neither board nor cluster nor file', () => {
  let folder: string
  const home = process.cwd()
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl commands-'))
    process.chdir(folder)
  })
  afterAll(() => {
    process.chdir(home)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  /** What a program is asked in place of long work: to say what it would do. */
  const dry: Readonly<Record<string, readonly string[]>> = {
    'bench-runner': ['--dry-run'],
    'pctodl profile': ['--dry-run'],
    'pctodl predict': [],
    'pctodl partition': [],
    'pctodl segments': [],
  }
  const needsMore =
    /^(report|compare|execute|replan|deploy)$|^--(detect-gpu|fleet|profiles|slo|test|params|services)$|^nvml$|^slurm$/
  /** Long work that the tests of its package do. */
  const needsLong = /^tail$/
  const typed = [...pages.flatMap((page) => commandsOfPage(page)), ...examplesOfHelp()]
    .map((command) => ({ ...command, words: command.words[0] === 'npx' ? command.words.slice(1) : command.words }))
    .filter(
      ({ words, isWhole }) =>
        isWhole && dry[commandIn(words)] && !words.some((word) => needsMore.test(word) || needsLong.test(word)),
    )
    // The guides run theirs as they stand.
    .filter(({ place }) => !place.startsWith('docs/'))
    .map(({ words }) => words.join(' '))

  it('are many', () => expect(new Set(typed).size).toBeGreaterThan(10))

  it.each([...new Set(typed)])('%s', async (line) => {
    const [name = '', ...argv] = line.split(' ')
    expect(await call(name, [...argv, ...dry[commandIn([name, ...argv])]!])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\w/),
    })
  })
})

describe('a command that is not there', () => {
  it.each([
    ['bench-runner --slurm', /bench-runner has no --slurm/],
    ['pctodl bench --slurm', /pctodl bench has no --slurm/],
    ['pctodl gpu unlock', /there is no pctodl gpu unlock/],
    ['pctodl measure', /pctodl has no command measure/],
    ['pctodl gpu lock --volts 3', /pctodl gpu lock has no --volts/],
    ['bench-runner plot results', /there is no bench-runner plot/],
    ['pctodl-bench', /no package brings the program pctodl-bench/],
  ])('is noticed: %s', async (line, mistake) => expect(await mistakeIn(line.split(' '))).toMatch(mistake))

  it('is not mistaken for one that is', async () => {
    for (const line of [
      'pctodl gpu lock --sm 1005 -- x --y',
      'pctodl segments 2 --json',
      'pctodl help',
      'bench-runner report x',
    ])
      expect(await mistakeIn(line.split(' ')), line).toBeUndefined()
  })
})

/** The words that choose what is done, of a call: `bench-runner`, `pctodl fit`. */
function commandIn(words: readonly string[]): string {
  return words.slice(0, words[0] === 'pctodl' ? 2 : 1).join(' ')
}

/** The examples at the end of each program's help. */
function examplesOfHelp(): WrittenCommand[] {
  return sources.flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(/example:\s*'([^'\n]+)'/g)].flatMap(([, line]) =>
      commandsOfLine(line!).map((words) => ({ place: file, words, isWhole: true })),
    ),
  )
}

async function mistakeInWritten(page: string, command: WrittenCommand): Promise<string | undefined> {
  if (isOurs(command.words[0]!)) return mistakeIn(command.words)
  const [program, ...words] = command.words
  if (program === 'npx') return mistakeInNpx(page, words)
  if (program === 'npm' && words[0] === 'install') return mistakeInInstall(words.slice(1))
  if (program === 'npm' || program === 'pnpm') return mistakeInScript(page, words)
  const script = words.find((word) => /\.(ts|mjs|js)$/.test(word))
  return program === 'node' &&
    script !== undefined &&
    script.startsWith('scripts/') &&
    !existsSync(path.join(root, script))
    ? `there is no ${script}`
    : undefined
}

/** In the clone `npx` finds the programs of the family. Elsewhere it asks the registry for a package of that name, which is right for `pctodl`. */
async function mistakeInNpx(page: string, words: readonly string[]): Promise<string | undefined> {
  if (words[0] === '-p' || words[0] === '--package') {
    const [, from, name = '', ...argv] = words
    const binary = binaries.find((candidate) => candidate.name === name)
    if (binary?.package !== from) return `${name} is not a program of ${from}`
    return mistakeIn([name, ...argv])
  }
  const ours = binaries.find(({ name }) => name === words[0])
  const isFoundAnywhere = ours?.package === ours?.name
  if (ours && !isFoundAnywhere && page.startsWith('packages/'))
    return 'outside a clone it is npx -p <package> <program>'
  if (ours) return mistakeIn(words)
  const installed = existsSync(path.join(root, 'node_modules', '.bin', words[0] ?? ''))
  return installed ? undefined : `the repository has no program ${words[0]}`
}

function mistakeInInstall(words: readonly string[]): string | undefined {
  const manifests = [root, ...packageFolders.map((folder) => path.join(root, folder))].map((folder) =>
    JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')),
  )
  const known = manifests.flatMap(({ name, dependencies, peerDependencies, devDependencies }) =>
    Object.keys({ [name]: '', ...dependencies, ...peerDependencies, ...devDependencies }),
  )
  const unknown = words.filter((word) => !/^-|\.tgz$/.test(word) && !known.includes(word))
  return unknown.length === 0 ? undefined : `no package of ours, nor one that ours depend on: ${unknown.join(', ')}`
}

function mistakeInScript(page: string, words: readonly string[]): string | undefined {
  const filter = words.indexOf('--filter')
  const [verb = '', named = ''] = words.filter((_, i) => filter < 0 || (i !== filter && i !== filter + 1))
  const script = verb === 'run' ? named : verb
  const filtered = filter < 0 ? undefined : words[filter + 1]
  const home = workspacePackages().find(
    ({ name, folder }) => name === filtered || (!filtered && page.startsWith(`${folder}/`)),
  )
  if (filtered !== undefined && home === undefined) return `there is no package ${filtered}`
  const scriptsOf = (folder: string) =>
    JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')).scripts
  const own = home !== undefined && Object.hasOwn(scriptsOf(home.folder), script)
  if (own || (filtered === undefined && Object.hasOwn(scriptsOf('.'), script))) return undefined
  const isBuiltIn = ['install', 'test', 'pack', 'audit'].includes(script)
  const isProgram = existsSync(path.join(root, 'node_modules', '.bin', script))
  return isBuiltIn || isProgram ? undefined : `there is no script ${script}`
}
