import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { SimulatedHost } from './simulated-host.js'

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

/**
 * Run a command on the host and forward the signals that this process gets.
 *
 * @returns its exit code; 128 plus the number of the signal that ended it, 127 if there is no such command
 */
export function runInHost(host: SimulatedHost, command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // Installed before the command starts, so that no signal arrives without a handler.
    const handlers = forwarded.map((signal) => {
      // A key typed at the terminal reaches the command without us.
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
