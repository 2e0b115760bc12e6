import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, exitCodeOf } from '@pctodl/command-line'
import { beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../src/command-table.js'

/** The table of all options: what somebody who knows one command may expect of another. `UPDATE_OPTIONS=1` writes it anew. */
const file = path.join(import.meta.dirname, 'command-options.txt')

/** One word for one thing: what the Python code's scripts and earlier commands called it, which no help shows any more. */
const formerNames: Readonly<Record<string, readonly string[]>> = {
  '--gpu': ['--platform', '--board'],
  '--power-cap': ['--p_cap', '--power_cap'],
  '--model': ['--models <names...>'],
  '--shares': ['--p', '--mps-resources'],
  '--batches': ['--b', '--batch-sizes'],
  '--sm-clock': ['--f'],
  '--mem-clock': ['--mem-freq'],
}

/** By command, subcommands after a blank: the options that its help lists. */
const table = new Map<string, string[]>()

async function helpOf(command: CommandFunction, words: readonly string[]): Promise<string> {
  let text = ''
  await exitCodeOf('pctodl', command, [...words, '--help'], {
    stdout: { write: (part) => (text += part) },
    stderr: { write: () => {} },
    signal: new AbortController().signal,
    env: {},
  })
  return text
}

beforeAll(async () => {
  for (const { name, load } of commands) {
    const command = await load()
    const read = async (words: readonly string[]): Promise<void> => {
      const help = await helpOf(command, words)
      const options = help.matchAll(/^ {2}(?:-\w, )?(--[a-z][\w-]*(?: [<[][^>\]]*[>\]])?)/gm)
      table.set([name, ...words].join(' '), [...new Set([...options].map(([, option]) => option!))].sort())
      if (words.length > 0) return
      const listed = /^Commands:\n((?: .*\n?)+)/m.exec(help)?.[1] ?? ''
      for (const [, subcommand] of listed.matchAll(/^ {2}([a-z][\w-]*)/gm)) {
        if (subcommand !== 'help') await read([subcommand!])
      }
    }
    await read([])
  }
})

describe('the options of all commands', () => {
  it('are those of the table', () => {
    const text = [...table]
      .map(([name, options]) => `${name}\n${options.map((each) => `  ${each}\n`).join('')}`)
      .join('')
    if (process.env['UPDATE_OPTIONS'] !== undefined) writeFileSync(file, text)
    expect(existsSync(file) ? readFileSync(file, 'utf8') : '').toBe(text)
  })

  it('call one thing by one name', () => {
    const former = Object.values(formerNames).flat()
    for (const [name, options] of table) {
      for (const option of options) {
        expect(former, name).not.toContain(option)
        expect(former, name).not.toContain(option.split(' ')[0])
      }
    }
    const used = new Set([...table.values()].flat().map((option) => option.split(' ')[0]))
    for (const name of Object.keys(formerNames)) expect(used, name).toContain(name)
  })

  it('can all be asked for JSON where they have a result, and always take no value for it', () => {
    const asked = [...table].flatMap(([name, options]) =>
      options.filter((each) => /^--json\b/.test(each)).map((each) => [name, each]),
    )
    expect(asked.length).toBeGreaterThan(20)
    expect(asked.filter(([, option]) => option !== '--json')).toEqual([])
  })
})
