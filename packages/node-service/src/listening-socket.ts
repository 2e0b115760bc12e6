import { chmodSync, existsSync, fstatSync, lstatSync, rmSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import path from 'node:path'
import { makePrivateFolder, trustedPath } from '@pctodl/command-line'

import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'

/** <fcntl.h> */
const F_SETFD = 2
const FD_CLOEXEC = 1

/** Connections that wait to be accepted; the kernel allows no more. */
const MOST_WAITING = 4096

/** The first descriptor that systemd hands over (sd_listen_fds(3)). */
const FIRST_FD = 3

/**
 * The descriptor of a socket that systemd has opened for us; null where it has not.
 *
 * @throws PctodlError `SOCKET` where it has opened several, or something else
 */
export function activatedSocket(env: Readonly<Record<string, string | undefined>> = process.env): number | null {
  // Meant for us, and not for a program that has started us.
  if (env['LISTEN_PID'] !== String(process.pid) || env['LISTEN_FDS'] === undefined) return null
  if (env['LISTEN_FDS'] !== '1')
    throw new PctodlError('SOCKET', `${env['LISTEN_FDS']} sockets were handed over; give one`)
  if (!fstatSync(FIRST_FD).isSocket()) throw new PctodlError('SOCKET', 'what was handed over is no socket')
  keepToOurselves(FIRST_FD)
  return FIRST_FD
}

/**
 * Whoever inherits the descriptor can accept our clients in our name: MPS servers, which are other users' processes, among them. What
 * systemd hands over is inherited by every child.
 */
function keepToOurselves(fd: number): void {
  const fcntl = load(null).func('int fcntl(int fd, int command, ...)')
  if (fcntl(fd, F_SETFD, 'int', FD_CLOEXEC) !== 0)
    throw new PctodlError('SOCKET', 'cannot keep the socket to ourselves')
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
}

/**
 * Listen on a path: who connects, the kernel says, and what they may, the policy.
 *
 * @param mode of the socket: who may connect
 * @throws PctodlError `SOCKET` where another service listens there, or where others have a hand in the folder
 */
export async function listenOn(server: Server, socket: string, mode: number): Promise<void> {
  const folder = path.dirname(socket)
  try {
    // Everybody may come this far, whatever the umask; nothing is made where somebody else's link leads.
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
      server.listen({ path: socket, backlog: MOST_WAITING }, () => {
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
