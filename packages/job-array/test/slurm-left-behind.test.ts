import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SlurmExecutor, SlurmJobs } from '../src/index.js'

const jobs = [{ id: 'a', command: ['true'], cpusPerNode: 1 }] as const
const unreached = 'echo "Unable to contact slurm controller" >&2; exit 1'

describe('what a call leaves behind on a Slurm that hangs, answers late or answers nothing, played by scripts', () => {
  const { PATH } = process.env
  let folder: string
  let waited: number[]
  let stopWatching = () => {}
  const inFolder = (...parts: string[]) => path.join(folder, ...parts)
  const callsOf = (name: string) =>
    existsSync(inFolder(`${name}.calls`))
      ? readFileSync(inFolder(`${name}.calls`), 'utf8')
          .trim()
          .split('\n')
      : []
  const note = () => inFolder('work', 'array.json')
  const mark = `$(echo "$@" | sed 's/.*--comment=\\([^ ]*\\).*/\\1/')`
  /** Slurm takes what sbatch was called with. */
  const takes = (index = '0') => `echo "${index} 8 ${mark}" >> ${inFolder('queue')}`
  /** The elements are done. */
  /** An element of the array that is noted has ended. */
  const exit = (index: number, code: number) => `echo ${code} > ${inFolder('work', 'exit')}/${notedMark()}-${index}`
  const notedMark = () => `$(sed 's/.*"mark":"\\([^"]*\\)".*/\\1/' ${note()})`
  const done = () => `${exit(0, 0)}; rm -f ${inFolder('queue')}`
  const queue = () => `cat ${inFolder('queue')} 2>/dev/null; true`

  function play(name: string, body: string): void {
    writeFileSync(inFolder('bin', name), `#!/bin/sh\necho "$@" >> ${inFolder(`${name}.calls`)}\n${body}\n`)
    chmodSync(inFolder('bin', name), 0o755)
  }
  /** No waits, but they are noted; also those for time limits, see `killWhatHangs`. */
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      waited.push(ms)
    },
  }
  const options = (more = {}) => ({ workDir: inFolder('work'), clock, pollMs: 1, ...more })
  const arrayHere = (more = {}) => new SlurmExecutor(options(more))

  /** A command that does `first`, says that it hangs and then does. */
  const hangs = (first = 'true') => `trap '' TERM; ${first}; mkdir ${inFolder('hung', '$$')}; exec sleep 1000`
  /** The time of a command is up as soon as one hangs, and after `first`. */
  function killWhatHangs(first = () => {}): void {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const watcher = watch(inFolder('hung'), () => {
      first()
      vi.advanceTimersByTime(60_000)
    })
    stopWatching = () => watcher.close()
  }

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm-left-'))
    for (const name of ['bin', 'hung']) mkdirSync(inFolder(name))
    process.env['PATH'] = `${inFolder('bin')}:${PATH}`
    waited = []
    play('sbatch', `${takes()}; echo 8`)
    play('squeue', queue())
    play('scancel', `rm -f ${inFolder('queue')}`)
  })
  afterEach(async () => {
    stopWatching()
    vi.useRealTimers()
    process.env['PATH'] = PATH
    // What hung has been ended, also where it did not heed SIGTERM.
    for (const pid of readdirSync(inFolder('hung'))) {
      await expect.poll(() => existsSync(`/proc/${pid}`), { interval: 5 }).toBe(false)
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it('an array that was given up without an answer is followed by the next call of its jobs', async () => {
    play('sbatch', `${takes()}; ${unreached}`)
    play('squeue', unreached)
    await expect(arrayHere({ longestSilenceMs: 0 }).run(jobs)).rejects.toMatchObject({
      code: 'SLURM_UNREACHABLE',
      message: expect.stringMatching(/call again with the same folder/),
    })
    play('squeue', `${queue()}; ${done()}`)
    expect(await arrayHere().run(jobs)).toEqual([{ id: 'a', exitCode: 0, attempts: 1 }])
    expect([callsOf('sbatch').length, callsOf('scancel').length, existsSync(note())]).toEqual([1, 0, false])
    // What is over is done anew.
    play('sbatch', `${done()}; echo 9`)
    await arrayHere().run(jobs)
    expect(callsOf('sbatch')).toHaveLength(2)
  })

  it('what had ended before is told again, and a second submission is followed as the second', async () => {
    const two = [jobs[0], { ...jobs[0], id: 'b' }]
    play('sbatch', `[ -e ${inFolder('second')} ] && ${takes('1')} || { ${exit(0, 0)}; ${exit(1, 3)}; }; echo 8`)
    // Silent from the second submission on.
    play('squeue', `[ -e ${inFolder('queue')} ] && { ${unreached}; }; echo > ${inFolder('second')}`)
    await expect(arrayHere({ longestSilenceMs: 0 }).run(two)).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    play('squeue', `${queue()}; ${exit(1, 0)}`)
    const told: unknown[] = []
    await arrayHere().run(two, { onOutcome: (outcome) => told.push(outcome) })
    expect(told).toEqual([
      { id: 'a', exitCode: 0, attempts: 1 },
      { id: 'b', exitCode: 0, attempts: 2 },
    ])
    expect(callsOf('sbatch')).toHaveLength(2)
  })

  it('an array of other jobs is not mixed with new ones while it runs', async () => {
    play('squeue', unreached)
    await expect(arrayHere({ longestSilenceMs: 0 }).run(jobs)).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    play('squeue', queue())
    const others = [{ id: 'a', command: ['false'] }] as const
    await expect(arrayHere().run(others)).rejects.toMatchObject({
      code: 'FOLDER_IN_USE',
      message: expect.stringMatching(/work: array 8 of other jobs has not ended; .* scancel/),
    })
    rmSync(inFolder('queue'))
    play('sbatch', `${done()}; echo 9`)
    expect(await arrayHere().run(others)).toMatchObject([{ exitCode: 0 }])
    writeFileSync(note(), '{"mark":"--user=all"}')
    await expect(arrayHere().run(jobs)).rejects.toThrow(/array.json: got .* remove the file/)
  })

  it('an array whose sbatch hangs when the call is told to end is ended by its mark', async () => {
    const aborting = new AbortController()
    play('sbatch', hangs(takes()))
    killWhatHangs(() => aborting.abort(new Error('enough')))
    await expect(arrayHere().run(jobs, { signal: aborting.signal })).rejects.toThrow('enough')
    expect([callsOf('scancel'), existsSync(note()), waited]).toEqual([['8'], false, []])
  })

  it('an array that Slurm takes after the call was told to end is followed by the next call', async () => {
    const aborting = new AbortController()
    play('sbatch', hangs())
    killWhatHangs(() => aborting.abort(new Error('enough')))
    await expect(arrayHere().run(jobs, { signal: aborting.signal })).rejects.toThrow('enough')
    expect([callsOf('scancel'), existsSync(note())]).toEqual([[], true])
    const late = /--comment=(\S+)/.exec(callsOf('sbatch')[0]!)![1]!
    writeFileSync(inFolder('queue'), `0 8 ${late}\n`)
    play('squeue', `${queue()}; ${done()}`)
    expect(await arrayHere().run(jobs)).toMatchObject([{ exitCode: 0 }])
    expect(callsOf('sbatch')).toHaveLength(1)
  })

  it('of an array that was handed over twice without an answer one is ended, and the other followed', async () => {
    const aborting = new AbortController()
    play('sbatch', `[ -e ${inFolder('queue')} ] || ${takes()}; ${unreached}`)
    // Each time that it is looked for, nothing is there yet.
    play('squeue', `[ $(wc -l < ${inFolder('squeue.calls')}) -eq 1 ] || ${queue()}`)
    const sleep: Clock['sleep'] = (ms, signal) => {
      if (callsOf('sbatch').length === 2) aborting.abort(new Error('enough'))
      return clock.sleep(ms, signal)
    }
    await expect(arrayHere({ clock: { ...clock, sleep } }).run(jobs, { signal: aborting.signal })).rejects.toThrow(
      'enough',
    )
    expect([callsOf('sbatch').length, callsOf('scancel'), existsSync(note())]).toEqual([2, ['8'], true])
    writeFileSync(inFolder('queue'), `0 9 ${/--comment=(\S+)/.exec(callsOf('sbatch')[1]!)![1]!}\n`)
    play('squeue', `${queue()}; ${done()}`)
    expect(await arrayHere().run(jobs)).toMatchObject([{ exitCode: 0 }])
    expect(callsOf('sbatch')).toHaveLength(2)
  })

  it.each(['', 'Submitted batch job 8', 'notice: maintenance\n8', '-8'])(
    'sbatch that answers %j is refused, and what it has taken is ended',
    async (answer) => {
      play('sbatch', `${takes()}; printf '%s\\n' '${answer}'`)
      await expect(arrayHere().run(jobs)).rejects.toMatchObject({
        code: 'SLURM_ANSWER',
        message: expect.stringContaining(`sbatch answered '${answer}', expected the id of a job`),
      })
      expect([callsOf('scancel'), existsSync(note())]).toEqual([['8'], false])
      const single = new SlurmJobs(options({ workDir: inFolder('single') }))
      await expect(single.submit(jobs[0])).rejects.toMatchObject({ code: 'SLURM_ANSWER' })
      expect(existsSync(inFolder('single', 'job', 'a'))).toBe(false)
      single.close()
    },
  )

  it('a command that hangs was silent', async () => {
    killWhatHangs()
    const told: (string | undefined)[] = []
    const onSilence = ({ error }: { error: Error | null }) => told.push(error?.message.replace(/ .*:/, ':'))
    const jobsHere = new SlurmJobs(options({ workDir: inFolder('single'), longestSilenceMs: 1e9, onSilence }))
    const onceHanging = (name: string) => `[ $(wc -l < ${inFolder(`${name}.calls`)}) -gt 1 ] || { ${hangs()}; }`
    play('sbatch', `${onceHanging('sbatch')}; echo 8`)
    play('scancel', onceHanging('scancel'))
    await jobsHere.submit(jobs[0])
    play('squeue', `${onceHanging('squeue')}; echo 8 TIMEOUT`)
    rmSync(inFolder('squeue.calls'))
    await jobsHere.cancel('a')
    expect(await jobsHere.next(Number.POSITIVE_INFINITY)).toMatchObject({ ends: [{ state: 'TIMEOUT' }] })
    jobsHere.close()
    const late = 'did not answer in its time, and was killed'
    expect(told).toEqual(['sbatch', 'scancel', 'squeue'].flatMap((name) => [`${name}: ${late}`, undefined]))
  })

  it('a command that hangs is no reason to wait where the call is told to end', async () => {
    const aborting = new AbortController()
    play('squeue', hangs())
    killWhatHangs(() => aborting.abort(new Error('enough')))
    const jobsHere = new SlurmJobs(options({ workDir: inFolder('single') }))
    await jobsHere.submit(jobs[0])
    await expect(jobsHere.next(Number.POSITIVE_INFINITY, aborting.signal)).rejects.toThrow('enough')
    jobsHere.close()
  })

  it('an array is ended though the connection was lost for a moment, and left where Slurm is silent already', async () => {
    const onSilence = () => aborting.abort(new Error('enough'))
    let aborting = new AbortController()
    play('scancel', `[ $(wc -l < ${inFolder('scancel.calls')}) -gt 2 ] || { ${unreached}; }; rm ${inFolder('queue')}`)
    const sleep: Clock['sleep'] = (ms, signal) => {
      onSilence()
      return clock.sleep(ms, signal)
    }
    const ending = { ...clock, sleep }
    await expect(arrayHere({ clock: ending }).run(jobs, { signal: aborting.signal })).rejects.toThrow('enough')
    expect([callsOf('scancel').length, waited, existsSync(note())]).toEqual([3, [1, 2], false])
    waited = []
    aborting = new AbortController()
    play('squeue', unreached)
    const silent = arrayHere({ onSilence }).run(jobs, { signal: aborting.signal })
    await expect(silent).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    // One look, and one try to end it.
    expect([waited, existsSync(note())]).toEqual([[1], true])
  })

  it('a job whose submission was not answered is found by who ends it', async () => {
    const aborting = new AbortController()
    play('sbatch', `echo "8 ${mark}" > ${inFolder('queue')}; ${unreached}`)
    const onSilence = () => aborting.abort(new Error('enough'))
    const single = new SlurmJobs(options({ onSilence }))
    await expect(single.submit(jobs[0], aborting.signal)).rejects.toThrow('enough')
    await single.cancel('a', undefined, 1000)
    expect(callsOf('scancel')).toEqual(['8'])
    await single.cancel('b')
    expect(callsOf('scancel')).toHaveLength(1)
    single.close()
  })
})
