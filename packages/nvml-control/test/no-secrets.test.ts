import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const packages = path.resolve(import.meta.dirname, '..', '..')

/** Words that a program which takes, keeps or passes on a secret cannot do without. */
const handling = /passw(or)?d|passphrase|askpass|credential|\bsecret|sudo["', ]+-S\b|["']-S["'].*sudo|getpass|pinentry/i

describe.each(['nvml-control', 'mps-control'])('%s', (name) => {
  const folder = path.join(packages, name)
  // Sources stand for dist where it is not built.
  const parts = [existsSync(path.join(folder, 'dist')) ? 'dist' : 'src', 'src']
  const files = [...new Set(parts)].flatMap((part) =>
    readdirSync(path.join(folder, part), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.map'))
      .map((entry) => path.join(entry.parentPath, entry.name)),
  )

  it('handles no secret in anything that is published', () => {
    expect(files.length).toBeGreaterThan(5)
    for (const file of files) {
      // The one word of sudoers that says that nothing is asked for.
      const text = readFileSync(file, 'utf8').replaceAll('NOPASSWD', '')
      expect(handling.exec(text)?.[0], file).toBeUndefined()
    }
  })
})

describe('every package', () => {
  // A name is anybody's: what is ended is known by its process id and start time.
  const byName = /\b(pkill|killall5?|skill|pidof)\b/
  const sources = readdirSync(packages).flatMap((name) =>
    ['src', 'bin', 'python', 'slurm', 'systemd']
      .map((part) => path.join(packages, name, part))
      .filter((folder) => existsSync(folder))
      .flatMap((folder) =>
        readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && /\.([cm]?[jt]s|py|sh|service)$/.test(entry.name))
          .map((entry) => path.join(entry.parentPath, entry.name)),
      ),
  )

  it('kills nothing by name', () => {
    expect(sources.length).toBeGreaterThan(300)
    expect(sources.filter((file) => byName.test(readFileSync(file, 'utf8')))).toEqual([])
    expect(byName.test("spawn('pkill', ['-f', 'python'])")).toBe(true)
  })

  it('takes no password on its command line', () => {
    const options = readFileSync(path.join(packages, 'cli', 'test', 'command-options.txt'), 'utf8')
    expect(options).toMatch(/^ {2}--policy <file>$/m)
    expect(options).not.toMatch(/--\S*(pass|secret|token|api-key|credential)/i)
  })
})

describe('the test itself', () => {
  it.each(['sudo -S nvidia-smi', "['sudo', '-S']", 'SUDO_PASSWORD', 'process.env.SUDO_ASKPASS', 'echo "$passwd"'])(
    'would find %s',
    (text) => {
      expect(handling.test(text)).toBe(true)
    },
  )

  it.each(['sudo -n nvidia-smi', "['sudo', '-n', ...words]", "staticPartitioning ? ['-S'] : []"])(
    'lets %s pass',
    (text) => {
      expect(handling.test(text)).toBe(false)
    },
  )
})
