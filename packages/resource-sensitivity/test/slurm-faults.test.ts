import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { sensitivity } from '../src/commands.js'
import { executeSchedule, SlurmScheduleExecutor } from '../src/node.js'
import { cluster, profiles } from './one-node-schedule.js'

/** Never waits. */
const hurried: Clock = { ...systemClock, sleep: async (_, signal) => signal?.throwIfAborted() }
const jobs = [{ id: 0, model: 'modest', gpus: 1, arrivalS: 0, iterations: 1 }]
const rules = { cluster, profiles, jobs, policy: 'fifo', mechanism: 'tune' } as const

describe('a schedule on a Slurm that fails, played by scripts', () => {
  const { PATH } = process.env
  let folder: string
  const calls = (name: string) => path.join(folder, `${name}.calls`)
  function play(name: string, body: string): void {
    writeFileSync(path.join(folder, name), `#!/bin/sh\necho "$@" >> ${calls(name)}\n${body}\n`)
    chmodSync(path.join(folder, name), 0o755)
  }
  const executorHere = (more = {}) =>
    new SlurmScheduleExecutor({
      ...{ workDir: path.join(folder, 'work'), nodes: ['node0'], commandOf: () => ['true'] as const },
      ...{ clock: hurried, pollMs: 1, maxFailures: 0 },
      ...more,
    })

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'schedule-faults-'))
    mkdirSync(path.join(folder, 'spool'))
    process.env['PATH'] = `${folder}:${PATH}`
    // The first two runs lose their node; the third runs.
    play('sbatch', `n=$(wc -l < ${calls('sbatch')}); [ $n -lt 3 ] || sh "$(echo "$@" | sed 's/.* //')" >&2; echo $n`)
    play('squeue', 'echo 1 NODE_FAIL; echo 2 NODE_FAIL; echo 3 RUNNING')
    play('scancel', '')
    play('sinfo', 'echo node0 idle')
  })
  afterEach(() => {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true })
  })

  it('does not count a lost node as a failure of the job, but not for ever', async () => {
    expect(await executeSchedule(rules, executorHere())).toMatchObject([{ outcome: 'finished', runs: 3 }])
    rmSync(calls('sbatch'))
    const executor = executorHere({ workDir: path.join(folder, 'again'), maxNodeFailures: 1 })
    expect(await executeSchedule(rules, executor)).toMatchObject([{ outcome: 'cancelled', runs: 2 }])
    expect([...executor.givenUp]).toMatchObject([[0, { exitCode: null, state: 'NODE_FAIL' }]])
  })

  it('sends nobody to a node that is drained, and waits where all are until one is back', async () => {
    play('sbatch', `sh "$(echo "$@" | sed 's/.* //')" >&2; wc -l < ${calls('sbatch')} | tr -d ' '`)
    play('squeue', 'true')
    play(
      'sinfo',
      `n=$(wc -l < ${calls('sinfo')}); [ $n -lt 4 ] && echo node0 drained || echo node0 idle; echo node1 idle`,
    )
    const said: string[] = []
    const onNode = ({ node, state }: { node: string; state: string }) => said.push(`${node} ${state}`)
    const executor = executorHere({ nodePollMs: 1, onNode })
    expect(await executeSchedule(rules, executor)).toMatchObject([{ outcome: 'finished', runs: 1 }])
    expect(said).toEqual(['node0 drained', 'node0 idle'])
    const unknown = executorHere({ workDir: path.join(folder, 'unknown'), nodes: ['node7'] })
    await expect(executeSchedule(rules, unknown)).rejects.toThrow(
      /nodes: got 'node7', expected node names as listed by sinfo --Node/,
    )
  })

  it.each([
    ['draining', 'idle'],
    ['draining', 'down*', 'idle'],
  ])('gives nobody the watts of a run on a node that is %s until it has left or the node is %s', async (...states) => {
    play(
      'sbatch',
      `sh "$(echo "$@" | sed 's/.* //')" > ${path.join(folder, 'output')} 2>&1 & wc -l < ${calls('sbatch')} | tr -d ' '`,
    )
    play('squeue', 'for n in 1 2 3 4; do echo $n RUNNING; done')
    play('sinfo', `cat ${path.join(folder, 'nodes')}`)
    const say = (state: string) => writeFileSync(path.join(folder, 'nodes'), `node0 ${state}\nnode1 idle\n`)
    say('idle')
    const touch = (name: string) => writeFileSync(path.join(folder, name), '')
    const waitFor = (name: string) => `until [ -e ${path.join(folder, name)} ]; do sleep 0.02; done`
    // The first run leaves when it may; the others are done when the node is back.
    const script = `[ $PCTODL_JOB.$PCTODL_RUN = 0.1 ] && { ${waitFor('may-leave')}; exit 85; }; ${waitFor('back')}`
    const told: string[] = []
    const executor = executorHere({
      ...{ nodes: ['node0', 'node1'], nodePollMs: 1, commandOf: () => ['sh', '-c', script] as const },
      onRun: ({ jobId, run }: { jobId: number; run: number }) => jobId === 0 && run === 1 && say('draining'),
      onNode: ({ state }: { state: string }) => {
        told.push(state)
        if (state === 'idle') touch('back')
      },
    })
    const point = { gpuType: 'g', powerLimitW: 100, throughput: [[1]], dynamicPowerW: 100 }
    const profile = { ...profiles[1]!, memoryGbPerGpu: [1], demand: { cpus: 1, memoryGb: 1 }, gpus: [point] }
    const result = await executeSchedule(
      {
        cluster: { servers: [{ count: 2, gpus: 1, cpus: 1, memoryGb: 1, storageMBps: 1, gpuType: 'g' }] },
        profiles: [profile],
        ...{ policy: 'fifo', mechanism: 'fair', powerBudgetW: 100, jobs: [0, 1].map((id) => ({ ...jobs[0]!, id })) },
        onEvents: (_, events) => {
          for (const { type } of events) {
            if (type === 'left') told.push('left')
            if (type === 'left' || type === 'server-failed') say('idle')
            if (type === 'server-failed') touch('may-leave')
            if (type !== 'server-draining') continue
            if (states.length === 3) say('down*')
            else touch('may-leave')
          }
        },
        onActions: (_, actions) => told.push(...actions.map(({ type, jobId }) => `${type} ${jobId}`)),
      },
      executor,
    )
    expect(result).toMatchObject([{ outcome: 'finished' }, { outcome: 'finished' }])
    expect(told.slice(0, 4)).toEqual(['place 0', 'draining', 'preempt 0', states.length === 3 ? 'down*' : 'left'])
    expect(told[4]).toMatch(/^place/)
    expect(told).toContain('idle')
  })

  it('submits a run anew under a lower limit where it begins just as it is told to leave', async () => {
    play('sbatch', `n=$(wc -l < ${calls('sbatch')}); [ $n -lt 2 ] || sh "$(echo "$@" | sed 's/.* //')" >&2; echo $n`)
    play('squeue', `[ -e ${calls('scancel')} ] && echo 1 CANCELLED || echo 1 PENDING`)
    play('scancel', `echo 1 1 none 1 > ${path.join(folder, 'work', 'start', '0.1')}`)
    const point = (powerLimitW: number) => ({
      ...{ gpuType: 'g', powerLimitW, throughput: [[powerLimitW]], dynamicPowerW: powerLimitW },
    })
    const profile = { ...profiles[1]!, memoryGbPerGpu: [1], demand: { cpus: 1, memoryGb: 1 } }
    const result = await executeSchedule(
      {
        cluster: { servers: [{ count: 1, gpus: 1, cpus: 1, memoryGb: 1, storageMBps: 1, gpuType: 'g' }] },
        profiles: [{ ...profile, gpus: [point(50), point(100)] }],
        ...{ policy: 'fifo', mechanism: 'fair', powerBudgetW: 100 },
        jobs: [{ ...jobs[0]!, iterations: 1e6 }],
        incidents: [{ atS: 1.5, event: { type: 'budget', powerBudgetW: 50 } }],
      },
      executorHere({ limitPower: async () => {} }),
    )
    expect(result).toMatchObject([{ outcome: 'finished', runs: 1 }])
    expect(readFileSync(calls('sbatch'), 'utf8')).toMatch(/script\/0\.1\n.*script\/0\.1\.1\n$/)
  })

  it('refuses a folder that another schedule has, and takes it when that is over', async () => {
    const first = executorHere()
    expect(() => executorHere()).toThrow(`work is in use by process ${process.pid}: wait for it`)
    await first.close()
    await executorHere().close()
  })

  it('is run by a command, with the words of each job, and given up jobs are told', async () => {
    play('sbatch', `sh "$(echo "$@" | sed 's/.* //')" >&2; wc -l < ${calls('sbatch')} | tr -d ' '`)
    play('squeue', 'true')
    const [trace, written] = [path.join(folder, 'jobs.csv'), path.join(folder, 'written')]
    writeFileSync(trace, '7,image-small,0,1,2\n8,image-small,0,1,1\n')
    const words = [
      'execute',
      '--trace',
      trace,
      '--servers',
      '1',
      '--gpus-per-server',
      '4',
      '--nodes',
      'node0',
      '--max-failures',
      '0',
    ]
    const script = `echo {model} {job} {gpus} >> ${written}; exit $(({job} - 7))`
    const ran = await callCommand('pctodl sensitivity', sensitivity, [
      ...words,
      ...['--work-dir', path.join(folder, 'work'), '--', 'sh', '-c', script],
    ])
    expect(ran.stderr).toMatch(/place job 7 run 1/)
    expect(ran.stdout).toMatch(/^7 {2}image-small {2}2 .* 1 {2}finished$/m)
    expect(ran.stdout).toMatch(/^given up: job 8 \(1\), see .*8\.1$/m)
    expect(readFileSync(written, 'utf8').trim().split('\n').sort()).toEqual(['image-small 7 2', 'image-small 8 1'])
    const other = executorHere()
    const second = [...words, '--work-dir', path.join(folder, 'work'), '--', 'true']
    const refused = await callCommand('pctodl sensitivity', sensitivity, second)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is in use by process')])
    await other.close()
    const wrong = await callCommand('pctodl sensitivity', sensitivity, [
      ...words,
      '--servers',
      '2',
      '--work-dir',
      'w',
      '--',
      'true',
    ])
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--nodes: got 1 names for 2 servers')])
  })

  it('loses no end of a run that it hears of just before Slurm refuses something else', async () => {
    play(
      'sbatch',
      `sh "$(echo "$@" | sed 's/.* //')" > ${path.join(folder, 'output')} 2>&1 & wc -l < ${calls('sbatch')}`,
    )
    play('squeue', `[ -e ${path.join(folder, 'killed')} ] && echo 1 CANCELLED || echo 1 RUNNING; echo 2 RUNNING`)
    // Refuses the first kill; a signal is no kill.
    const kill = `[ $(grep -vc signal ${calls('scancel')}) -gt 1 ] || { echo no >&2; exit 1; }; touch ${path.join(folder, 'killed')}`
    play('scancel', `echo "$@" | grep -q signal || { ${kill}; }`)
    const may = path.join(folder, 'may-end')
    const script = `[ $PCTODL_JOB = 1 ] && { until [ -e ${may} ]; do sleep 0.02; done; exit 0; }; trap '' USR1; sleep 30`
    const executor = executorHere({ graceS: 0, commandOf: () => ['sh', '-c', script] as const })
    const place = {
      type: 'place',
      run: 1,
      placement: [{ server: 0, gpus: 1 }],
      cpusPerGpu: 1,
      memoryGbPerGpu: 1,
    } as const
    const jobOf = (id: number) => ({ ...jobs[0]!, id })
    const until = async (isMet: () => boolean) => {
      for (let tries = 0; !isMet() && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const noted = (kind: string, id: string) => existsSync(path.join(folder, 'work', kind, id))
    await executor.apply(
      [0, 1].map((jobId) => ({ ...place, jobId })),
      jobOf,
    )
    await until(() => noted('start', '0.1') && noted('start', '1.1'))
    await executor.next(0)
    await executor.apply([{ type: 'preempt', jobId: 0, run: 1, reason: 'policy' }], jobOf)
    writeFileSync(may, '')
    await until(() => noted('exit', '1.1'))
    await expect(executor.next(executor.nowS() + 5)).rejects.toThrow(/scancel/)
    const began = performance.now()
    const events = await executor.close()
    // Long before the job that cannot be ended does.
    expect(performance.now() - began).toBeLessThan(15_000)
    expect(events).toContainEqual({ type: 'finished', jobId: 1 })
  })

  it('leaves its jobs as they are where Slurm stays silent, and finds them again when called again', async () => {
    play('squeue', 'echo "Unable to contact slurm controller" >&2; exit 1')
    const silent = executeSchedule(rules, executorHere({ longestSilenceMs: 0 }))
    await expect(silent).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    expect(existsSync(calls('scancel'))).toBe(false)
    // Meanwhile the job has run to its end.
    const script = path.join(folder, 'work', 'script', '0.1')
    play('squeue', `sh ${script} >&2; echo 1 COMPLETED`)
    expect(await executeSchedule(rules, executorHere())).toMatchObject([{ outcome: 'finished', runs: 1 }])
    expect(readFileSync(calls('sbatch'), 'utf8').trim().split('\n')).toHaveLength(1)
  })
})
