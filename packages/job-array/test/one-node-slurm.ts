import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Why a real Slurm cannot be brought up here; undefined where it can. */
export function slurmHindrance(): string | undefined {
  if (process.getuid?.() !== 0) return 'a test cluster needs root'
  for (const program of ['slurmctld', 'slurmd', 'munged', 'sbatch']) {
    if (!onPath(program)) return `${program} is not installed (Debian: slurm-wlm munge)`
  }
  return undefined
}

/** Why jobs cannot be bound by cgroups of version 1 here; undefined where they can. */
export function cgroupHindrance(): string | undefined {
  const groups = existsSync('/proc/self/cgroup') ? readFileSync('/proc/self/cgroup', 'utf8') : ''
  for (const controller of ['cpuset', 'memory']) {
    if (!groups.includes(`:${controller}:`)) return `the kernel gives no ${controller} cgroup of version 1`
    try {
      accessSync(path.join('/sys/fs/cgroup', controller), constants.W_OK)
    } catch {
      return `the ${controller} cgroup cannot be written`
    }
  }
  return undefined
}

const daemonPath = `${process.env['PATH']}:/usr/sbin:/sbin`

function onPath(program: string): boolean {
  return daemonPath.split(':').some((folder) => existsSync(path.join(folder, program)))
}

/** What the node pretends to have. */
export interface OneNodeHardware {
  /** Cores that Slurm counts, whatever the machine has. */
  readonly cpus?: number
  readonly gpus?: number
  readonly memoryMb?: number
  /** Bind jobs to their cores and memory by cgroups, of which the kernel must give version 1. */
  readonly cgroup?: boolean
}

/**
 * A real Slurm of one node with two GPUs (device files that stand for them), all of it in a folder of its own: keys, sockets,
 * configuration and state. It is reached by the environment variable SLURM_CONF.
 */
export class OneNodeSlurm {
  readonly #hardware: Required<OneNodeHardware>
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'one-node-slurm-'))
  readonly configurationFile: string = path.join(this.#folder, 'slurm.conf')

  constructor({ cpus = 2, gpus = 2, memoryMb = 1000, cgroup = false }: OneNodeHardware = {}) {
    this.#hardware = { cpus, gpus, memoryMb, cgroup }
  }

  async up(): Promise<void> {
    const inFolder = (...parts: string[]) => path.join(this.#folder, ...parts)
    for (const name of ['state', 'spool', 'log', 'munge']) mkdirSync(inFolder(name))
    chmodSync(this.#folder, 0o755)
    writeFileSync(inFolder('munge', 'key'), randomBytes(1024), { mode: 0o400 })
    const socket = inFolder('munge', 'socket')
    run('munged', [
      '--force',
      `--key-file=${inFolder('munge', 'key')}`,
      `--socket=${socket}`,
      `--pid-file=${inFolder('munged.pid')}`,
      `--log-file=${inFolder('log', 'munged.log')}`,
      `--seed-file=${inFolder('munge', 'seed')}`,
    ])
    const { cpus, gpus, memoryMb, cgroup } = this.#hardware
    for (let gpu = 0; gpu < gpus; gpu++) run('mknod', [inFolder(`gpu${gpu}`), 'c', '1', '3'])
    if (cgroup) {
      writeFileSync(
        inFolder('cgroup.conf'),
        ['CgroupPlugin=cgroup/v1', 'ConstrainCores=yes', 'ConstrainRAMSpace=yes', ''].join('\n'),
      )
    }
    const node = hostname().split('.')[0]!
    const [controllerPort, nodePort] = await Promise.all([freePort(), freePort()])
    writeFileSync(inFolder('gres.conf'), `NodeName=${node} Name=gpu File=${this.#folder}/gpu[0-${gpus - 1}]\n`)
    writeFileSync(
      this.configurationFile,
      [
        'ClusterName=test',
        `SlurmctldHost=${node}(127.0.0.1)`,
        `SlurmctldPort=${controllerPort}`,
        `SlurmdPort=${nodePort}`,
        'SlurmUser=root',
        'SlurmdUser=root',
        'AuthType=auth/munge',
        `AuthInfo=socket=${socket}`,
        'CredType=cred/munge',
        `StateSaveLocation=${inFolder('state')}`,
        `SlurmdSpoolDir=${inFolder('spool')}`,
        `SlurmctldPidFile=${inFolder('slurmctld.pid')}`,
        `SlurmdPidFile=${inFolder('slurmd.pid')}`,
        `SlurmctldLogFile=${inFolder('log', 'slurmctld.log')}`,
        `SlurmdLogFile=${inFolder('log', 'slurmd.log')}`,
        'ProctrackType=proctrack/linuxproc',
        `TaskPlugin=${cgroup ? 'task/cgroup' : 'task/none'}`,
        'SlurmdParameters=config_overrides',
        'JobAcctGatherType=jobacct_gather/none',
        'AccountingStorageType=accounting_storage/none',
        'SelectType=select/cons_tres',
        'SelectTypeParameters=CR_Core_Memory',
        'GresTypes=gpu',
        'MpiDefault=none',
        'ReturnToService=2',
        'SchedulerParameters=sched_interval=1,batch_sched_delay=0',
        'KillWait=2',
        // On a busy machine nothing counts as lost, and no node is drained, because it was slow.
        'MessageTimeout=60',
        'BatchStartTimeout=60',
        'UnkillableStepTimeout=300',
        `NodeName=${node} NodeAddr=127.0.0.1 CPUs=${cpus} RealMemory=${memoryMb} Gres=gpu:${gpus} State=UNKNOWN`,
        'PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP',
        '',
      ].join('\n'),
    )
    for (const daemon of ['slurmctld', 'slurmd']) run(daemon, ['-f', this.configurationFile])
    for (let attempt = 0; attempt < 100; attempt++) {
      if (this.#nodeState() === 'idle') return
      await sleep(200)
    }
    throw new Error(`the test cluster did not come up: node is '${this.#nodeState()}'; ${this.#log()}`)
  }

  /** Ends the daemons that this cluster started, by the process ids that they wrote, and removes the folder. */
  async down(): Promise<void> {
    for (const daemon of ['slurmd', 'slurmctld', 'munged']) {
      const pidFile = path.join(this.#folder, `${daemon}.pid`)
      if (!existsSync(pidFile)) continue
      const pid = Number(readFileSync(pidFile, 'utf8'))
      process.kill(pid, 'SIGTERM')
      for (let attempt = 0; attempt < 50 && isAlive(pid); attempt++) await sleep(100)
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  #nodeState(): string {
    try {
      return execFileSync('sinfo', ['--noheader', '--format=%T'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { ...process.env, SLURM_CONF: this.configurationFile },
      }).trim()
    } catch {
      return 'unknown'
    }
  }

  #log(): string {
    const file = path.join(this.#folder, 'log', 'slurmctld.log')
    return existsSync(file) ? readFileSync(file, 'utf8').slice(-2000) : 'no log'
  }
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, [...args], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH: daemonPath } })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
