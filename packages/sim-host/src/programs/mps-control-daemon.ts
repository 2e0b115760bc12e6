import { appendFileSync, chmodSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { controlSocket } from '../host-folder-layout.js'
import { MessageClient, onMessages, send } from '../message-socket.js'
import type { MpsAnswer } from '../mps-daemon.js'
import { controlPipe, logDirectory, pidFile, pipeDirectory } from './mps-control-protocol.js'

/**
 * Runs the daemon process. It owns the pipe and the pid file, and forwards commands to the simulator, which has the MPS
 * state. The process ends on `quit` or a signal, or when the simulator ends.
 *
 * @param onReady called when the daemon accepts commands
 * @returns the exit code
 */
export async function serveControlPipe(onReady: () => void): Promise<number> {
  process.title = 'nvidia-cuda-mps-control'
  const folder = process.env['PCTODL_GPU_SIM_FOLDER'] ?? ''
  const simulator = await MessageClient.open(controlSocket(folder))
  const { accepted } = await simulator.request<{ accepted: boolean }>({
    kind: 'mps-daemon',
    pipeDirectory: pipeDirectory(),
    visible: process.env['CUDA_VISIBLE_DEVICES'] ?? '',
  })
  if (!accepted) return 1
  makeFolder(pipeDirectory())
  for (const file of [controlPipe(), pidFile()]) rmSync(file, { force: true })
  writeFileSync(pidFile(), `${process.pid}`, { flag: 'wx' })
  // As with the real daemon (driver 580.159), everybody who can enter the folder may write to the file.
  chmodSync(pidFile(), 0o666)
  const log = logger()

  return new Promise((resolve) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      onMessages(socket, async (message) => {
        const { line } = message as { line: string }
        log(`NEW COMMAND: ${line}`)
        const answer = await simulator.request<MpsAnswer>({ kind: 'mps-command', line }).catch(() => null)
        if (!answer) return socket.destroy()
        send(socket, answer)
        if (answer.quit) end(0)
      })
    })
    const end = (code: number) => {
      simulator.onClose = () => {}
      simulator.close()
      server.close()
      for (const socket of sockets) socket.end()
      for (const file of [controlPipe(), pidFile()]) rmSync(file, { force: true })
      log('Exit')
      resolve(code)
    }
    simulator.onClose = () => end(1)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end(0))
    server.listen(controlPipe(), () => {
      // As with the real daemon, any user who can enter the folder may become a client.
      chmodSync(controlPipe(), 0o666)
      log('Start')
      onReady()
    })
  })
}

/**
 * Creates a folder but, like the real daemon, not its parent. Otherwise a daemon that outlives its host would create
 * the host's folder again.
 */
function makeFolder(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // A folder of another user is refused, because its owner could redirect the files written there.
    const { uid } = lstatSync(path)
    if (uid !== process.geteuid?.()) throw new Error(`${path} belongs to user ${uid}`)
  }
}

/**
 * Returns a function that logs a line. As with the real daemon, logging is optional: the daemon also starts if its log
 * folder is not writable.
 */
function logger(): (text: string) => void {
  const file = join(logDirectory(), 'control.log')
  try {
    makeFolder(logDirectory())
  } catch {
    // See above.
  }
  return (text) => {
    try {
      const now = new Date().toISOString().replace('T', ' ').replace('Z', '')
      appendFileSync(file, `[${now} Control ${process.pid}] ${text}\n`)
    } catch {
      // See above.
    }
  }
}
