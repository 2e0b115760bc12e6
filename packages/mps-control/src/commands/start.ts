import { given, onEnding, type Terminal, UsageError } from '@pctodl/command-line'
import { type BoardLease, openGpu, runChild, untilAborted } from '@pctodl/nvml-control'
import type { MpsDaemon } from '../mps-daemon.js'
import { MpsPlace } from '../mps-place.js'
import { daemonOf, type PlaceOptions, printJson } from './mps-options.js'

export interface StartCommandOptions extends Omit<PlaceOptions, 'gpu'> {
  readonly gpu?: string[]
  readonly exclusive?: boolean
  readonly uid?: number
  readonly defaultPercent?: number
  readonly static?: boolean
  readonly graceSeconds: number
}

/**
 * Starts a daemon. With a program to run, the daemon ends with it. With `--exclusive`, it ends with this process, which
 * holds the leases for the boards' compute mode. Otherwise it keeps running.
 */
export async function start(
  options: StartCommandOptions,
  command: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { gpu, ...rest } = options
  if (gpu === undefined && options.exclusive)
    throw new UsageError('--exclusive needs --gpu: name the boards whose mode is to be changed')
  const boards = await Promise.all((gpu ?? []).map((id) => openGpu(id)))
  // A board has one place for a daemon, so if there is one, a second daemon is refused.
  const [only] = boards
  const mps = daemonOf(
    only && boards.length === 1 ? { gpu: only.device.uuid, ...rest } : { directory: new MpsPlace().directory, ...rest },
  )
  const leases: BoardLease[] = []
  try {
    if (options.exclusive) for (const board of boards) leases.push(await board.acquire())
    const { uid, defaultPercent, static: staticPartitioning } = options
    const deviceUuids = boards.length === 0 ? undefined : boards.map((board) => board.device.uuid)
    const { removed } = await mps.start({
      exclusive: leases,
      ...given({ deviceUuids, uid, defaultPercent, staticPartitioning }),
    })
    await announce(mps, removed, options, command, terminal)
    if (command.length === 0 && !options.exclusive) return 0
    const stop = async (graceMs: number) => void (await mps.stop({ graceMs }))
    const forget = onEnding({ stage: 'mps', what: 'the MPS daemon', deadlineMs: 10_000, end: () => stop(0) })
    try {
      if (command.length === 0) {
        await untilAborted(terminal.signal)
        return 0
      }
      // The program may use the whole board, unless its own environment variables ask for less.
      const percent = Number(terminal.env['CUDA_MPS_ACTIVE_THREAD_PERCENTAGE'] || 100)
      return await runChild(command, terminal, { environment: mps.clientEnvironment(percent) })
    } finally {
      forget()
      await stop(1000 * options.graceSeconds)
    }
  } finally {
    for (const lease of leases) await lease.release()
  }
}

async function announce(
  mps: MpsDaemon,
  removed: readonly string[],
  { json, exclusive }: StartCommandOptions,
  command: readonly string[],
  { stdout, stderr }: Terminal,
): Promise<void> {
  const { daemon, servers } = await mps.status()
  if (json) {
    printJson({ stdout } as Terminal, { daemon, servers, environment: mps.place.environment, removed })
    return
  }
  for (const file of removed) stderr.write(`pctodl mps: removed ${file}, left by a daemon that is gone\n`)
  const until = command.length > 0 ? ` until ${command[0]} ends` : exclusive ? '; Ctrl-C stops it' : ''
  stderr.write(`MPS daemon ${daemon?.pid ?? '(not visible from here)'} is active${until}\n`)
  // A program gets the environment variables directly, and standard output is the program's.
  if (command.length > 0) return
  for (const [name, value] of Object.entries(mps.place.environment)) stdout.write(`export ${name}=${value}\n`)
}
