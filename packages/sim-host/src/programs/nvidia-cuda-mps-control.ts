import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { reasonOf } from '@pctodl/platform'
import { MessageClient } from '../message-socket.js'
import type { MpsAnswer } from '../mps-daemon.js'
import { serveControlPipe } from './mps-control-daemon.js'
import { controlPipe } from './mps-control-protocol.js'

const BACKGROUND = '--simulated-daemon'

async function main(args: readonly string[]): Promise<number> {
  switch (args[0]) {
    case undefined:
      return commandLoop()
    case '-d':
      return startInBackground()
    case '-f':
      if (await isRunning()) return alreadyRunning()
      return serveControlPipe(() => {})
    case BACKGROUND:
      return serveControlPipe(() => process.send?.('ready', () => process.disconnect()))
    case '-v':
    case '--version':
      process.stdout.write('CUDA MPS Control, simulated\n')
      return 0
    case '-h':
    case '--help':
      process.stdout.write('Usage: nvidia-cuda-mps-control [-d | -f | -v | -h]\n')
      return 0
    default:
      process.stderr.write(`nvidia-cuda-mps-control: invalid option '${args[0]}'\n`)
      return 1
  }
}

/** Reads commands from standard input, one per line, and prints the answers on standard output. */
async function commandLoop(): Promise<number> {
  const daemon = await MessageClient.open(controlPipe()).catch(() => undefined)
  if (!daemon) {
    process.stderr.write('Cannot find MPS control daemon process\n')
    return 1
  }
  const lines = createInterface({ input: process.stdin })
  try {
    for await (const line of lines) {
      const { output, quit } = await daemon.request<MpsAnswer>({ line: line.trim() })
      process.stdout.write(output)
      if (quit) break
    }
    return 0
  } catch {
    process.stderr.write('Failed to communicate with MPS control daemon\n')
    return 1
  } finally {
    lines.close()
    process.stdin.destroy()
    daemon.close()
  }
}

async function startInBackground(): Promise<number> {
  if (await isRunning()) return alreadyRunning()
  const child = spawn(process.execPath, [__filename, BACKGROUND], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ready = await new Promise<boolean>((resolve) => {
    child.once('message', () => resolve(true))
    child.once('exit', () => resolve(false))
  })
  child.unref()
  if (ready) return 0
  process.stderr.write('Failed to start MPS control daemon\n')
  return 1
}

async function isRunning(): Promise<boolean> {
  const daemon = await MessageClient.open(controlPipe()).catch(() => undefined)
  daemon?.close()
  return daemon !== undefined
}

function alreadyRunning(): number {
  process.stderr.write('An instance of this daemon is already running\n')
  return 1
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    process.stderr.write(`nvidia-cuda-mps-control: ${reasonOf(error)}\n`)
    process.exitCode = 1
  },
)
