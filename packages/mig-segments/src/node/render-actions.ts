import { join } from 'node:path'
import { quoted, workerCommand } from '../worker-command.js'
import type { DeployAction } from './deploy-actions.js'
import type { TargetSegment } from './deployment-state.js'

/** Folder of an instance's MPS daemon. */
export function mpsDirectory(directory: string, { gpu, start }: { gpu: number; start: number }): string {
  return join(directory, `gpu${gpu}-slice${start}`)
}

/** Arguments of the `nvidia-smi` calls of an action, in order; empty if it needs none. */
export function smiCalls(action: DeployAction): string[][] {
  switch (action.kind) {
    case 'enable-mig':
      return [['-i', String(action.gpu), '-mig', '1']]
    case 'destroy-instance': {
      const instance = ['-i', String(action.gpu), '-gi', String(action.instanceId)]
      return [
        ['mig', '-dci', ...instance],
        ['mig', '-dgi', ...instance],
      ]
    }
    case 'create-instance': {
      const { gpu, start, profile } = action.segment
      return [['mig', '-i', String(gpu), '-cgi', `${profile}:${start}`, '-C']]
    }
    case 'lock-clock':
      return [['-i', String(action.gpu), '-lgc', `${action.smClockMhz},${action.smClockMhz}`]]
    case 'reset-clock':
      return [['-i', String(action.gpu), '-rgc']]
    default:
      return []
  }
}

/** Returns an action as shell commands. Values that are not known yet are described in angle brackets. */
export function renderAction(action: DeployAction, directory: string, command: readonly string[]): string[] {
  switch (action.kind) {
    case 'stop-workers':
      return [`kill ${action.segment.workers.map(({ pid }) => pid).join(' ')}  # ${action.segment.model}`]
    case 'stop-mps':
      return [`echo quit | ${mpsEnvironment(action.segment.mpsDirectory)} nvidia-cuda-mps-control`]
    case 'start-mps': {
      const place = mpsDirectory(directory, action.segment)
      return [
        `CUDA_VISIBLE_DEVICES=${uuidOf(action.segment)} ${mpsEnvironment(place)} nvidia-cuda-mps-control -d`,
        `echo start_server -uid "$(id -u)" | ${mpsEnvironment(place)} nvidia-cuda-mps-control`,
      ]
    }
    case 'start-workers': {
      const { segment } = action
      const pipe = `CUDA_MPS_PIPE_DIRECTORY=${quoted(join(mpsDirectory(directory, segment), 'pipe'))}`
      const words = workerCommand(command, segment).map(quoted).join(' ')
      const times = segment.processes > 1 ? `  # ${segment.processes} times` : ''
      return [`CUDA_VISIBLE_DEVICES=${uuidOf(action.segment)} ${pipe} ${words} &${times}`]
    }
    default:
      return smiCalls(action).map((args) => `nvidia-smi ${args.join(' ')}`)
  }
}

function mpsEnvironment(place: string): string {
  return `CUDA_MPS_PIPE_DIRECTORY=${quoted(join(place, 'pipe'))} CUDA_MPS_LOG_DIRECTORY=${quoted(join(place, 'log'))}`
}

function uuidOf({ profile, start, gpu }: TargetSegment) {
  return `<UUID of ${profile} at ${start} on GPU ${gpu}>`
}
