import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { SimulatedHost } from './simulated-host.js'

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

/**
 * Runs a command on the host and forwards the signals that this process receives.
 *
 * @returns the command's exit code; 128 plus the signal's number if a signal ended it; 127 if the command does not
 *   exist
 */
export function runInHost(host: SimulatedHost, command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // The handlers are installed before the command starts, so that no signal arrives without a handler.
    const handlers = forwarded.map((signal) => {
      // Signals of terminal keys reach the command directly, so they must not be forwarded.
      const typed = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')
      const handler = () => typed || child.kill(signal)
      process.on(signal, handler)
      return () => process.off(signal, handler)
    })
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...host.environment } })
    const settle = () => {
      for (const remove of handlers) remove()
    }
    child.once('error', (error: NodeJS.ErrnoException) => {
      settle()
      if (error.code !== 'ENOENT' && error.code !== 'EACCES') return reject(error)
      process.stderr.write(
        `pctodl sim: ${command}: ${error.code === 'ENOENT' ? 'command not found' : 'permission denied'}\n`,
      )
      resolve(error.code === 'ENOENT' ? 127 : 126)
    })
    child.once('exit', (code, signal) => {
      settle()
      resolve(code ?? 128 + constants.signals[signal!])
    })
  })
}
