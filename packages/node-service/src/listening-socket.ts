import { once } from 'node:events'
import { chmodSync, existsSync, fstatSync, lstatSync, rmSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import path from 'node:path'
import { makePrivateFolder, trustedPath } from '@pctodl/command-line'
import { reasonOf } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'

/** <fcntl.h> */
const F_SETFD = 2
const FD_CLOEXEC = 1

const MAX_WAITING = 4096

/** The first file descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST_FD = 3

/** Returns the descriptor of a socket that systemd has opened; null if there is none. @throws PctodlError `SOCKET` */
export function activatedSocket(env: Readonly<Record<string, string | undefined>> = process.env): number | null {
  // If the pid differs, the variables were inherited from a parent process and are ignored.
  if (env['LISTEN_PID'] !== String(process.pid) || env['LISTEN_FDS'] === undefined) return null
  if (env['LISTEN_FDS'] !== '1')
    throw new PctodlError('SOCKET', `${env['LISTEN_FDS']} sockets were handed over; give one`)
  if (!fstatSync(FIRST_FD).isSocket()) throw new PctodlError('SOCKET', 'what was handed over is no socket')
  keepToOurselves(FIRST_FD)
  return FIRST_FD
}

/** A child that inherits the socket, such as another user's MPS server, could pose as the service. */
function keepToOurselves(fd: number): void {
  const fcntl = load(null).func('int fcntl(int fd, int command, ...)')
  if (fcntl(fd, F_SETFD, 'int', FD_CLOEXEC) !== 0)
    throw new PctodlError('SOCKET', 'cannot keep the socket to ourselves')
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
}

/**
 * Listens on a unix socket. Its file mode decides who may connect; the policy decides what a client may do.
 * @throws PctodlError `SOCKET` if another service listens on it, or if others can write to its folder
 */
export async function listenOn(server: Server, socket: string, mode: number): Promise<void> {
  const folder = path.dirname(socket)
  try {
    // All users must be able to enter the folder, whatever the umask is. It is not created through a link that belongs
    // to another user.
    if (!existsSync(folder)) makePrivateFolder(folder, 0o755)
    trustedPath(folder)
    const there = lstatSync(socket, { throwIfNoEntry: false })
    if (there) {
      if (!there.isSocket() || there.uid !== process.geteuid?.()) throw new Error('something else is there already')
      if (await answers(socket)) throw new Error('a service listens there already')
      rmSync(socket)
    }
    await once(server.listen({ path: socket, backlog: MAX_WAITING }), 'listening')
    chmodSync(socket, mode)
  } catch (cause) {
    throw new PctodlError('SOCKET', `cannot listen on ${socket}: ${reasonOf(cause)}`, { cause })
  }
}

async function answers(socket: string): Promise<boolean> {
  const attempt = connect(socket)
  try {
    await once(attempt, 'connect')
    return true
  } catch {
    return false
  } finally {
    attempt.destroy()
  }
}
