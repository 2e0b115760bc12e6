import type { Terminal } from '@pctodl/command-line'
import { systemClock } from '@pctodl/platform'
import { applyChange, verifyApplied } from '../control/apply-change.js'
import { type BoardChange, describeChange } from '../control/board-change.js'
import { LeaseHeldError } from '../lease/lease-errors.js'
import { LeaseFolder } from '../lease/lease-folder.js'
import { NvmlError, orNull } from '../nvml/nvml-error.js'
import { type BoardOptions, nvmlOf, printJson, selectDevices } from './open-boards.js'

/**
 * Sets boards to the driver's defaults, and deletes their journals. Needed if no journal records the earlier settings.
 * Boards with a held lease are refused.
 */
export async function reset(options: BoardOptions, terminal: Terminal): Promise<number> {
  const folder = new LeaseFolder(options.leaseDir)
  const done: { gpu: number; changes: string[]; notSupported: string[] }[] = []
  for (const device of selectDevices(nvmlOf(options), options)) {
    const { uuid } = device
    const lock = folder.tryLock(uuid)
    if (!lock) throw new LeaseHeldError(device.subject, folder.holder(uuid))
    try {
      const limits = orNull(() => device.powerLimits())
      const defaults: BoardChange[] = [
        { kind: 'sm-clock', range: null },
        { kind: 'mem-clock', range: null },
        ...(limits ? [{ kind: 'power-limit', powerLimitW: limits.defaultW } as const] : []),
        { kind: 'compute-mode', mode: 'default' },
      ]
      const [changes, notSupported]: [string[], string[]] = [[], []]
      for (const change of defaults) {
        // Nothing to reset if the board does not support memory clock locks.
        const isSupported = await applyChange(device, change).then(() => true, falseIfNotSupported)
        if (isSupported) await verifyApplied(device, change, { clock: systemClock, deadlineMs: 2000 })
        ;(isSupported ? changes : notSupported).push(describeChange(change))
      }
      folder.remove(uuid)
      done.push({ gpu: device.index, changes, notSupported })
    } finally {
      lock.release()
    }
  }
  if (options.json) printJson(terminal, done)
  else {
    for (const { gpu, changes, notSupported } of done) {
      const without = notSupported.length > 0 ? ` (not supported: ${notSupported.join(', ')})` : ''
      terminal.stdout.write(`GPU ${gpu}: ${changes.join(', ')}${without}\n`)
    }
  }
  return 0
}

function falseIfNotSupported(error: unknown): false {
  if (error instanceof NvmlError && error.code === 'NOT_SUPPORTED') return false
  throw error
}
