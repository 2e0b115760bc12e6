import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '@pctodl/numerics'
import { afterAll, describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'

const program = path.resolve(import.meta.dirname, '../bin/bench-runner.js')
const folders: string[] = []
const newFolder = () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-resume-'))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const matrix = '--gpu 3080Ti --task-id 6 13 --algorithm pctodl,batchdvfs,powercap --iterations 3 --variants 2'.split(
  ' ',
)

function run(folder: string, ...more: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, ...matrix, '--result-dir', folder, ...more],
    {
      encoding: 'utf8',
    },
  )
  return { status, stdout, stderr }
}

/** Every file under a folder with its content. */
function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(path.join(folder, file)).isFile(),
  )
  return Object.fromEntries(files.sort().map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]))
}

describe('--resume', () => {
  const whole = newFolder()
  it('gives what an uninterrupted run gives, however often the run was killed', async () => {
    expect(run(whole, '--jobs', '1').status).toBe(0)
    const expected = contents(whole)
    expect(Object.keys(expected)).toHaveLength(12 * 3)
    const random = new SeededRandom(20)
    const kills = cases(100, 3)
    let killed = 0
    let folder = newFolder()
    while (killed < kills) {
      const args = [program, ...matrix, '--result-dir', folder, '--resume', '--jobs', killed % 2 === 0 ? '1' : '2']
      const child = spawn(process.execPath, args, { stdio: 'ignore' })
      const ended = new Promise<boolean>((resolve) =>
        child.once('exit', (_code, signal) => resolve(signal === 'SIGKILL')),
      )
      await sleep(150 + random.uniform() * 700)
      kill(child)
      if (await ended) killed++
      else {
        // It finished before the blow fell: compare, and begin anew elsewhere.
        expect(contents(folder)).toEqual(expected)
        folder = newFolder()
      }
    }
    const { status, stdout } = run(folder, '--resume', '--json')
    expect(status).toBe(0)
    expect(JSON.parse(stdout).failures).toEqual([])
    expect(contents(folder)).toEqual(expected)
  })

  it('runs nothing that is there, and again what is broken, saying why', () => {
    const file = path.join(whole, '3080Ti_powercap/6_resnet50_imagenet_130W')
    expect(run(whole, '--resume', '--jobs', '1').stderr.match(/\(kept\)/g)).toHaveLength(12)
    const before = readFileSync(`${file}_v1.csv`, 'utf8')
    appendFileSync(`${file}_v1.csv`, 'x')
    writeFileSync(`${file}_v2.manifest.json`, '{"manifestVersion": 99}')
    rmSync(path.join(whole, '3080Ti_pctodl/13_resnet50_caltech256_170W_v2.record.json'))
    const { status, stderr } = run(whole, '--resume', '--jobs', '1')
    expect(status).toBe(0)
    expect(stderr.match(/\(kept\)/g)).toHaveLength(9)
    expect(readFileSync(`${file}_v1.csv`, 'utf8')).toBe(before)
  })

  it('does not take the result of other options for the one asked for', () => {
    const { stderr } = run(whole, '--resume', '--jobs', '1', '--power-margin', '10')
    expect(stderr).not.toContain('(kept)')
  })
})

function kill(child: ChildProcess): void {
  if (child.exitCode === null) child.kill('SIGKILL')
}
