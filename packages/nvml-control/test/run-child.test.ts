import { getEventListeners } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { Interruption, UsageError } from '@pctodl/command-line'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runChild } from '../src/commands/run-child.js'
import { isRunning, type ProcessIdentity, processIdentity } from '../src/index.js'
import { eventually } from './simulated-host.js'

let folder: string
let ending: AbortController
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-child-'))
  ending = new AbortController()
})
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Work that hears signals in between, and ends some time whatever happens. */
const working = 'for i in $(seq 1000); do sleep 0.02; done'

const shell = (script: string, options = {}) => runChild(['sh', '-c', script, 'sh', folder], ending, options)

/** The process that has written its id into a file of the folder. */
async function started(name: string): Promise<ProcessIdentity> {
  const file = path.join(folder, name)
  await eventually(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'), `${name} runs`)
  return processIdentity(Number(readFileSync(file, 'utf8')))!
}

describe('a program beside a lease', () => {
  it.each([0, 1, 7, 255])('ends with its own exit code %d', async (code) => {
    expect(await shell(`exit ${code}`)).toBe(code)
  })

  it.each(['SIGHUP', 'SIGTERM', 'SIGKILL'] as const)(
    'that %s has ended ends with 128 and the number',
    async (signal) => {
      expect(await shell(`kill -${signal.slice(3)} $$`)).toBe(128 + constants.signals[signal])
    },
  )

  it('has our environment, and what is added to it', async () => {
    expect(
      await shell('test "$PCTODL_CHILD" = "a b" && test -n "$PATH"', { environment: { PCTODL_CHILD: 'a b' } }),
    ).toBe(0)
    expect(await shell('test -z "$PCTODL_CHILD"')).toBe(0)
  })

  it('that cannot be started is an error of whoever has named it', async () => {
    await expect(runChild(['/no/such/program'], ending)).rejects.toThrow(UsageError)
    await expect(runChild(['/no/such/program'], ending)).rejects.toThrow('/no/such/program: command not found')
    const file = path.join(folder, 'text')
    writeFileSync(file, 'text')
    chmodSync(file, 0o600)
    await expect(runChild([file], ending)).rejects.toThrow(/text: .*EACCES/)
    ending.abort(new Interruption('SIGTERM'))
    await expect(runChild(['/no/such/program'], ending)).rejects.toThrow('command not found')
  })

  it.each([
    ['SIGTERM', new Interruption('SIGTERM'), 143],
    ['SIGHUP', new Interruption('SIGHUP'), 129],
    ['SIGINT', new Interruption('SIGINT'), 130],
    ['SIGINT', new Error('called off'), 130],
  ] as const)(
    'hears %s for %s, and may end in its own way; we end as we were told, with %d',
    async (signal, reason, code) => {
      const ended = shell(`trap 'echo heard > $1/heard; exit 3' ${signal.slice(3)}; echo $$ > $1/pid; ${working}`)
      await started('pid')
      ending.abort(reason)
      expect(await ended).toBe(code)
      expect(readFileSync(path.join(folder, 'heard'), 'utf8')).toBe('heard\n')
    },
  )

  it('is told at once where we were told to end before it began', async () => {
    ending.abort(new Interruption('SIGTERM'))
    expect(await shell('exec sleep 60')).toBe(143)
  })

  it('that does not end is killed after its grace, with all that it has started', async () => {
    const deaf = `trap "" TERM; echo $$ > $1/grandchild; ${working}`
    const ended = shell(`trap '' TERM; echo $$ > $1/child; sh -c '${deaf}' sh $1 & wait; ${working}`, {
      graceMs: 50,
    })
    const family = [await started('child'), await started('grandchild')]
    ending.abort(new Interruption('SIGTERM'))
    expect(await ended).toBe(143)
    expect(family.map(isRunning)).toEqual([false, false])
  })

  it('that ends is waited for until what it left behind has ended, too, gently where that helps', async () => {
    const gentle = `trap "echo gently > $1/heard; exit" TERM; echo $$ > $1/gentle; ${working}`
    const deaf = `trap "" TERM; echo $$ > $1/deaf; ${working}`
    const ended = shell(`sh -c '${gentle}' sh $1 & sh -c '${deaf}' sh $1 & wait`)
    const family = [await started('gentle'), await started('deaf')]
    ending.abort(new Interruption('SIGTERM'))
    expect(await ended).toBe(143)
    expect(family.map(isRunning)).toEqual([false, false])
    expect(readFileSync(path.join(folder, 'heard'), 'utf8')).toBe('gently\n')
  })

  it('that ends untold leaves what it has started alone', async () => {
    expect(await shell('sh -c "echo \\$\\$ > $1/pid; exec sleep 60" sh $1 > /dev/null & exit 4')).toBe(4)
    const left = await started('pid')
    expect(isRunning(left)).toBe(true)
    process.kill(left.pid, 'SIGKILL')
  })

  it('leaves no listener and no timer of ours behind', async () => {
    const listeners = () => ({
      signals: (['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'] as const).map((name) => process.listenerCount(name)),
      aborts: getEventListeners(ending.signal, 'abort').length,
    })
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const [listening, waiting] = [listeners(), timers()]
    await shell('exit 0')
    expect(listeners()).toEqual(listening)
    // Others have timers, too, which come and go; ours would be one more each time.
    const times = 8
    for (let i = 0; i < times; i++) {
      ending = new AbortController()
      const ended = shell(`echo $$ > $1/${i}; exec sleep 60`)
      await started(String(i))
      ending.abort(new Interruption('SIGTERM'))
      await ended
      expect(listeners()).toEqual(listening)
    }
    expect(timers() - waiting).toBeLessThan(times)
  })
})
