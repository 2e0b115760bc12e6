import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'vitest'
import { type Answer, callCommand } from '../../../test/call-command.js'
import { benchRunner } from '../src/matrix-command.js'

/** The folder of a call, and the files that it leaves there. */
interface Left {
  readonly cwd: string
  readonly written: readonly string[]
}

export const command: string = path.resolve(import.meta.dirname, '../bin/bench-runner.js')
const built = path.resolve(import.meta.dirname, '../dist/commands.js')
const folders: string[] = []

export function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-runner-'))
  folders.push(folder)
  return folder
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

const home = process.cwd()

/** Calls the command in a folder, without a terminal: what it says, and what it leaves there. */
export async function call(args: readonly string[], cwd: string = newFolder()): Promise<Answer & Left> {
  process.chdir(cwd)
  try {
    const answer = await callCommand('bench-runner', benchRunner, args, { env: process.env })
    return { ...answer, cwd, written: filesIn(cwd) }
  } finally {
    process.chdir(home)
  }
}

const filesIn = (folder: string) => readdirSync(folder, { recursive: true }).map(String).sort()

/** Runs the built command as a user would, without a terminal and without standard input. */
export function run(
  args: readonly string[],
  cwd: string = newFolder(),
): Omit<Answer, 'code'> & { status: number | null } & Left {
  expect(existsSync(built), 'build first: pnpm build').toBe(true)
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 240_000,
  })
  return { status, stdout, stderr, cwd, written: filesIn(cwd) }
}
