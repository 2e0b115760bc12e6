import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readNote, SlurmExecutor, SlurmJobs } from '../src/index.js'

/** Never waits. */
const hurried: Clock = { ...systemClock, sleep: async (_, signal) => signal?.throwIfAborted() }
const request = { id: 'a', command: ['true'], cpusPerNode: 1 } as const

describe("Slurm's commands, played by scripts that fail", () => {
  const { PATH } = process.env
  let folder: string
  const inFolder = (...parts: string[]) => path.join(folder, ...parts)
  const read = (name: string) =>
    existsSync(inFolder(name)) ? readFileSync(inFolder(name), 'utf8').trim().split('\n') : []

  /** A command that notes its words and then does `body`. */
  function play(name: string, body: string): void {
    writeFileSync(inFolder('bin', name), `#!/bin/sh\necho "$@" >> ${inFolder(`${name}.calls`)}\n${body}\n`)
    chmodSync(inFolder('bin', name), 0o755)
  }
  const jobsHere = (more = {}) => new SlurmJobs({ workDir: inFolder('work'), clock: hurried, pollMs: 1, ...more })

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm-faults-'))
    mkdirSync(inFolder('bin'))
    process.env['PATH'] = `${inFolder('bin')}:${PATH}`
    play('sbatch', 'echo 7')
    play('squeue', 'echo 7 RUNNING')
    play('scancel', '')
  })
  afterEach(() => {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true })
  })

  it('does not mind a queue that cannot be asked for a while', async () => {
    // Five failures, then the job has gone.
    play(
      'squeue',
      `[ $(wc -l < ${inFolder('squeue.calls')}) -gt 5 ] || { echo "Socket timed out" >&2; exit 1; }; echo 7 TIMEOUT`,
    )
    const jobs = jobsHere()
    await jobs.submit(request)
    const { ends } = await jobs.next(Number.POSITIVE_INFINITY)
    expect(ends).toMatchObject([{ id: 'a', exitCode: null, state: 'TIMEOUT' }])
    jobs.close()
  })

  it('says in the end that Slurm is silent and which jobs it left, and ends none', async () => {
    play('squeue', 'echo "Unable to contact slurm controller" >&2; exit 1')
    const jobs = jobsHere({ longestSilenceMs: 0 })
    await jobs.submit(request)
    await expect(jobs.next(Number.POSITIVE_INFINITY)).rejects.toMatchObject({
      code: 'SLURM_UNREACHABLE',
      message: expect.stringMatching(
        /answered for \d+ s; its jobs 7 are left running: call again with the same folder/,
      ),
    })
    jobs.close()
    const array = new SlurmExecutor({ workDir: inFolder('array'), clock: hurried, pollMs: 1, longestSilenceMs: 0 })
    await expect(array.run([request])).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    expect([read('squeue.calls').length, read('scancel.calls')]).toEqual([2, []])
  })

  it('finds a job again whose submission was not noted, by its mark or by its start', async () => {
    const first = jobsHere()
    await first.submit(request)
    first.close()
    const mark = /--comment=(\S+)/.exec(read('sbatch.calls')[0]!)![1]!
    // As if the process had ended before it noted Slurm's answer.
    rmSync(inFolder('work', 'job', 'a'))
    play('squeue', `echo "6 other"; echo "7 ${mark}"`)
    const second = jobsHere()
    await second.submit(request)
    expect([read('sbatch.calls').length, readFileSync(inFolder('work', 'job', 'a'), 'utf8')]).toEqual([1, '7'])
    second.close()
    rmSync(inFolder('work', 'job', 'a'))
    play('squeue', 'true')
    writeFileSync(inFolder('work', 'start', 'a'), '1.5 2 none 9\n')
    const third = jobsHere()
    await third.submit(request)
    expect([read('sbatch.calls').length, readFileSync(inFolder('work', 'job', 'a'), 'utf8')]).toEqual([1, '9'])
    third.close()
    // Neither queued nor started: it was not submitted.
    rmSync(inFolder('work', 'job', 'a'))
    rmSync(inFolder('work', 'start', 'a'))
    const fourth = jobsHere()
    await fourth.submit(request)
    expect(read('sbatch.calls')).toHaveLength(2)
    fourth.close()
  })

  it('submits once what sbatch did without answering, again what it did not, and believes a refusal', async () => {
    const silent = (accepted: boolean) =>
      `mark=$(echo "$@" | sed 's/.*--comment=\\([^ ]*\\).*/\\1/'); ${accepted ? `echo "8 $mark" > ${inFolder('queue')};` : ''} ` +
      `[ $(wc -l < ${inFolder('sbatch.calls')}) -gt 1 ] && { echo 9; exit; }; echo "Socket timed out" >&2; exit 1`
    play('squeue', `cat ${inFolder('queue')} 2>/dev/null; true`)
    for (const accepted of [true, false]) {
      rmSync(inFolder('sbatch.calls'), { force: true })
      rmSync(inFolder('queue'), { force: true })
      play('sbatch', silent(accepted))
      const jobs = jobsHere({ workDir: inFolder(`work-${accepted}`) })
      await jobs.submit(request)
      expect(readFileSync(inFolder(`work-${accepted}`, 'job', 'a'), 'utf8')).toBe(accepted ? '8' : '9')
      expect(read('sbatch.calls')).toHaveLength(accepted ? 1 : 2)
      jobs.close()
    }
    play('sbatch', 'echo "Invalid account" >&2; exit 1')
    const jobs = jobsHere()
    await expect(jobs.submit({ ...request, id: 'b' })).rejects.toThrow(/Invalid account/)
    jobs.close()
  })

  it('cancels and signals what it submitted, by its mark if its ID was not noted, and asks for nothing else', async () => {
    const jobs = jobsHere()
    await jobs.cancel('a')
    expect([read('squeue.calls'), read('scancel.calls')]).toEqual([[], []])
    await jobs.submit(request)
    await jobs.signal('a', 'USR1')
    await jobs.cancel('a')
    jobs.close()
    expect(read('scancel.calls')).toEqual(['--full --signal=USR1 7', '7'])
    const mark = /--comment=(\S+)/.exec(read('sbatch.calls')[0]!)![1]!
    rmSync(inFolder('work', 'job', 'a'))
    play('squeue', `echo "6 other"; echo "8 ${mark}"`)
    const after = jobsHere()
    await after.cancel('a')
    after.close()
    expect(read('scancel.calls').at(-1)).toBe('8')
  })

  it('runs a job once that was submitted twice, and follows the one that runs', async () => {
    // Slurm starts it as 8, though the answer was 7.
    play(
      'sbatch',
      `SLURM_JOB_ID=8 sh "$(echo "$@" | sed 's/.* //')"; SLURM_JOB_ID=7 sh "$(echo "$@" | sed 's/.* //')"; echo 7`,
    )
    play('squeue', 'echo 8 RUNNING')
    const jobs = jobsHere()
    await jobs.submit({ ...request, command: ['sh', '-c', `echo once >> ${inFolder('ran')}`] })
    expect(await jobs.next(Number.POSITIVE_INFINITY)).toMatchObject({ starts: [{ id: 'a' }], ends: [] })
    expect(await jobs.next(Number.POSITIVE_INFINITY)).toMatchObject({ starts: [], ends: [{ id: 'a', exitCode: 0 }] })
    expect([read('ran'), readFileSync(inFolder('work', 'job', 'a'), 'utf8')]).toEqual([['once'], '8'])
    jobs.close()
  })

  it('believes no folder in which others write, and no link', async () => {
    mkdirSync(inFolder('open'))
    chmodSync(inFolder('open'), 0o777)
    symlinkSync(inFolder('bin'), inFolder('link'))
    for (const workDir of [inFolder('open'), inFolder('link')]) {
      expect(() => new SlurmJobs({ workDir })).toThrow(/open can be written by others|link: got 'a symlink'/)
      await expect(new SlurmExecutor({ workDir }).run([request])).rejects.toThrow(
        /open can be written by others|link: got 'a symlink'/,
      )
    }
    const jobs = jobsHere()
    jobs.close()
    rmSync(inFolder('work', 'exit'), { recursive: true })
    symlinkSync(inFolder('bin'), inFolder('work', 'exit'))
    expect(() => jobsHere()).toThrow(/exit: got 'a symlink'/)
    symlinkSync('/etc/hostname', inFolder('planted'))
    expect(() => readNote(inFolder('planted'))).toThrow(/planted is a symbolic link/)
    expect(readNote(inFolder('nothing'))).toBeUndefined()
  })
})
