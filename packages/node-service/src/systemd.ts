import { load } from 'koffi'

let notify: ((unset: number, state: string) => number) | null | undefined

/** Reports the service's state to systemd (sd_notify(3)). Does nothing unless systemd has set `NOTIFY_SOCKET`. */
export function sayToSystemd(state: 'READY=1' | 'WATCHDOG=1' | 'STOPPING=1'): void {
  if (!process.env['NOTIFY_SOCKET']) return
  if (notify === undefined) {
    try {
      notify = load('libsystemd.so.0').func('int sd_notify(int unset, const char *state)')
    } catch {
      process.stderr.write('pctodld: libsystemd.so.0 is missing, so systemd does not hear that the service is ready\n')
      notify = null
    }
  }
  notify?.(0, state)
}
