import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { type SlurmJobEnd, type SlurmJobStart, SlurmJobs } from '@pctodl/job-array'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cgroupHindrance, OneNodeSlurm, slurmHindrance } from './one-node-slurm.js'

/** Everything that happened until `enough`. */
async function watchUntil(
  jobs: SlurmJobs,
  enough: (starts: readonly SlurmJobStart[], ends: readonly SlurmJobEnd[]) => boolean,
): Promise<{ starts: SlurmJobStart[]; ends: SlurmJobEnd[] }> {
  const all = { starts: [] as SlurmJobStart[], ends: [] as SlurmJobEnd[] }
  while (!enough(all.starts, all.ends)) {
    const { starts, ends } = await jobs.next(Number.POSITIVE_INFINITY)
    all.starts.push(...starts)
    all.ends.push(...ends)
  }
  return all
}

/** Waits for USR1, then says so and leaves with 85, as one that has saved. */
const saver =
  "process.on('SIGUSR1', () => { console.log('saved'); process.exit(85) }); console.log('ready'); setInterval(() => {}, 1000)"

function suite(cgroup: boolean): void {
  const cluster = new OneNodeSlurm({ cgroup })
  const environment = { SLURM_CONF: process.env['SLURM_CONF'] }
  let folder: string
  let jobs: SlurmJobs

  beforeAll(async () => {
    await cluster.up()
    process.env['SLURM_CONF'] = cluster.configurationFile
  })
  afterAll(async () => {
    await cluster.down()
    if (environment.SLURM_CONF === undefined) delete process.env['SLURM_CONF']
    else process.env['SLURM_CONF'] = environment.SLURM_CONF
  })
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm jobs '))
    jobs = new SlurmJobs({ workDir: folder })
  })
  afterEach(() => {
    jobs.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it(`says what binds a job: ${cgroup ? 'its cores and its memory' : 'nothing'}`, async () => {
    const command = [process.execPath, '-e', 'process.exit(Number(process.env.CODE))'] as const
    await jobs.submit({ id: 'a', command, environment: { CODE: '7' }, cpusPerNode: 1, memoryMbPerNode: 300 })
    const { starts, ends } = await watchUntil(jobs, (_, { length }) => length === 1)
    expect(starts).toMatchObject([
      { id: 'a', cpus: cgroup ? 1 : availableParallelism(), memoryLimitBytes: cgroup ? 300 * 2 ** 20 : null },
    ])
    expect(ends).toMatchObject([{ id: 'a', exitCode: 7 }])
    expect(ends[0]!.atUnixS).toBeGreaterThanOrEqual(starts[0]!.atUnixS)
    // Submitted once, it is never submitted again, by nobody.
    jobs.close()
    const later = new SlurmJobs({ workDir: folder })
    await later.submit({ id: 'a', command, cpusPerNode: 1 })
    expect((await watchUntil(later, (_, { length }) => length === 1)).ends).toMatchObject([{ exitCode: 7 }])
    later.close()
  })

  if (cgroup) return

  it('passes a signal to the command, which may save and say so by its exit code', async () => {
    await jobs.submit({ id: 'saver', command: [process.execPath, '-e', saver], cpusPerNode: 1 })
    const { starts, ends } = await watchUntil(jobs, ({ length }) => length === 1)
    expect([starts.length, ends.length]).toEqual([1, 0])
    // It has begun, but may not listen yet: it says when.
    const log = path.join(folder, 'log', 'saver')
    while (!readFileSync(log, 'utf8').includes('ready')) await jobs.next(performance.now() + 50)
    await jobs.signal('saver', 'USR1')
    expect((await watchUntil(jobs, (_, { length }) => length === 1)).ends).toMatchObject([{ exitCode: 85 }])
    expect(readFileSync(log, 'utf8')).toContain('saved')
    // It has ended: nothing happens.
    await jobs.signal('saver', 'USR1')
    await jobs.cancel('saver')
  })

  it('keeps a job waiting for the one before it, and notes one that is killed', async () => {
    const forever = [process.execPath, '-e', 'setInterval(() => {}, 1000)'] as const
    await jobs.submit({ id: 'first', command: forever, cpusPerNode: 1 })
    await jobs.submit({ id: 'second', command: ['true'], cpusPerNode: 1, after: 'first' })
    await watchUntil(jobs, ({ length }) => length === 1)
    await jobs.cancel('first')
    const { starts, ends } = await watchUntil(jobs, (_, { length }) => length === 2)
    expect(starts.map(({ id }) => id)).toEqual(['second'])
    expect(ends.map(({ id, exitCode }) => [id, exitCode])).toEqual(
      expect.arrayContaining([
        ['second', 0],
        ['first', expect.toSatisfy((code) => code === null || code > 128)],
      ]),
    )
  })

  it('lets the environment and the words of a job reach the command alone', async () => {
    const script =
      'require("node:fs").writeFileSync(process.argv[1], process.env.PATH + process.env.least + process.env.code)'
    const written = path.join(folder, 'written')
    const environment = { PATH: '/nowhere', least: 'a', code: "b'; exit 3; '" }
    await jobs.submit({ id: 'env', command: [process.execPath, '-e', script, written], environment, cpusPerNode: 1 })
    // Words that mean something to a shell are names of programs, which are not there.
    const words = ['exit', 'if', 'binds', 'A=b', ':'] as const
    for (const [i, word] of words.entries()) {
      await jobs.submit({ id: `word-${i}`, command: [word, 'true'], cpusPerNode: 1 })
    }
    const { starts, ends } = await watchUntil(jobs, (_, { length }) => length === 1 + words.length)
    expect(starts).toHaveLength(1 + words.length)
    expect(Object.fromEntries(ends.map(({ id, exitCode }) => [id, exitCode]))).toEqual({
      env: 0,
      ...Object.fromEntries(words.map((_, i) => [`word-${i}`, 127])),
    })
    expect(readFileSync(written, 'utf8')).toBe("/nowhereab'; exit 3; '")
  })

  it('keeps its log where it says, in a folder whose name Slurm would take for a pattern', async () => {
    const patterned = new SlurmJobs({ workDir: path.join(folder, '50%j %%a') })
    try {
      await patterned.submit({ id: 'a', command: ['echo', 'here'], cpusPerNode: 1 })
      const { ends } = await watchUntil(patterned, (_, { length }) => length === 1)
      expect(ends).toMatchObject([{ exitCode: 0 }])
      expect(readFileSync(ends[0]!.logFile, 'utf8')).toBe('here\n')
    } finally {
      patterned.close()
    }
  })

  it('refuses what is no request, and says what Slurm refuses', async () => {
    const request = { id: 'a', command: ['true'], cpusPerNode: 1 } as const
    await expect(jobs.submit({ ...request, id: '../a' })).rejects.toThrow(/id: got '..\/a'/)
    await expect(jobs.submit({ ...request, id: '..' })).rejects.toThrow(/id: got '..'/)
    await expect(jobs.submit({ ...request, after: 'b' })).rejects.toThrow(/job a: after: got 'b'/)
    const injected = { 'A=1; touch injected; B': '' }
    await expect(jobs.submit({ ...request, environment: injected })).rejects.toThrow(/environment: got 'A=1; touch/)
    writeFileSync(path.join(folder, 'job', 'planted'), '--user=somebody')
    await expect(jobs.submit({ ...request, id: 'planted' })).rejects.toThrow(/planted: got '--user=somebody'/)
    await expect(jobs.submit({ ...request, cpusPerNode: 1.5 })).rejects.toThrow(/job a: cpusPerNode: got 1.5/)
    await expect(jobs.submit({ ...request, memoryMbPerNode: 0 })).rejects.toThrow(/memoryMbPerNode: got 0/)
    await expect(jobs.submit({ ...request, nodes: [] })).rejects.toThrow(/nodes: got 'none'/)
    await expect(jobs.submit({ ...request, nodes: ['nowhere'] })).rejects.toThrow(/sbatch .*nowhere/s)
  })
}

const hindrance = slurmHindrance()
describe.skipIf(hindrance)(`jobs of a real one-node Slurm${hindrance ? ` (skipped: ${hindrance})` : ''}`, () =>
  suite(false),
)

const noCgroup = hindrance ?? cgroupHindrance()
describe.skipIf(noCgroup)(`the same bound by cgroups${noCgroup ? ` (skipped: ${noCgroup})` : ''}`, () => suite(true))
