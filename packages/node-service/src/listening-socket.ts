import { chmodSync, existsSync, fstatSync, lstatSync, rmSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import path from 'node:path'
import { makePrivateFolder, trustedPath } from '@pctodl/command-line'

import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'

/** <fcntl.h> */
const F_SETFD = 2
const FD_CLOEXEC = 1

/** Connections waiting to be accepted; the kernel allows no more. */
const MAX_WAITING = 4096

/** The first file descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST_FD = 3

/**
 * The file descriptor of a socket that systemd has opened for us; null if there is none.
 *
 * @throws PctodlError `SOCKET` if systemd passes several, or something else
 */
export function activatedSocket(env: Readonly<Record<string, string | undefined>> = process.env): number | null {
  // Only if meant for this process, not for a parent that inherited the variables.
  if (env['LISTEN_PID'] !== String(process.pid) || env['LISTEN_FDS'] === undefined) return null
  if (env['LISTEN_FDS'] !== '1')
    throw new PctodlError('SOCKET', `${env['LISTEN_FDS']} sockets were handed over; give one`)
  if (!fstatSync(FIRST_FD).isSocket()) throw new PctodlError('SOCKET', 'what was handed over is no socket')
  keepToOurselves(FIRST_FD)
  return FIRST_FD
}

/**
 * Keep child processes from inheriting the socket, as systemd's file descriptors otherwise are. A child with it could
 * accept our clients in our name, including MPS servers that run as other users.
 */
function keepToOurselves(fd: number): void {
  const fcntl = load(null).func('int fcntl(int fd, int command, ...)')
  if (fcntl(fd, F_SETFD, 'int', FD_CLOEXEC) !== 0)
    throw new PctodlError('SOCKET', 'cannot keep the socket to ourselves')
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
}

/**
 * Listen on a path. The kernel identifies clients; the policy decides what they may do.
 *
 * @param mode file mode of the socket, i.e. who may connect
 * @throws PctodlError `SOCKET` if another service listens there, or if others can write to the folder
 */
export async function listenOn(server: Server, socket: string, mode: number): Promise<void> {
  const folder = path.dirname(socket)
  try {
    // Everybody may traverse the folder, whatever the umask. It is not created through somebody else's link.
    if (!existsSync(folder)) makePrivateFolder(folder, 0o755)
    trustedPath(folder)
    const there = lstatSync(socket, { throwIfNoEntry: false })
    if (there) {
      if (!there.isSocket() || there.uid !== process.geteuid?.()) throw new Error('something else is there already')
      if (await answers(socket)) throw new Error('a service listens there already')
      rmSync(socket)
    }
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ path: socket, backlog: MAX_WAITING }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    chmodSync(socket, mode)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new PctodlError('SOCKET', `cannot listen on ${socket}: ${reason}`, { cause })
  }
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect(socket)
    attempt.once('connect', () => {
      attempt.destroy()
      resolve(true)
    })
    attempt.once('error', () => resolve(false))
  })
}
