import type { Terminal } from '@pctodl/command-line'
import { systemClock } from '@pctodl/platform'
import { applyChange, verifyApplied } from '../control/apply-change.js'
import { type BoardChange, describeChange } from '../control/board-change.js'
import { LeaseHeldError } from '../lease/lease-errors.js'
import { LeaseFolder } from '../lease/lease-folder.js'
import { orNull } from '../nvml/nvml-error.js'
import { type BoardOptions, nvmlOf, printJson, selectDevices } from './open-boards.js'

/**
 * Sets boards to the driver's defaults, whatever their settings are, and deletes their journals. For boards whose
 * earlier settings no journal records. Boards whose lease is held are refused.
 */
export async function reset(options: BoardOptions, terminal: Terminal): Promise<number> {
  const nvml = nvmlOf(options)
  const folder = new LeaseFolder(options.leaseDir)
  const done: { gpu: number; changes: string[]; notSupported: string[] }[] = []
  for (const device of selectDevices(nvml, options)) {
    const { uuid } = device
    const lock = folder.tryLock(uuid)
    if (!lock) throw new LeaseHeldError(device.subject, folder.holder(uuid))
    try {
      const limits = orNull(() => device.powerLimits())
      const changes: BoardChange[] = [
        { kind: 'sm-clock', range: null },
        { kind: 'mem-clock', range: null },
        ...(limits ? [{ kind: 'power-limit', powerLimitW: limits.defaultW } as const] : []),
        { kind: 'compute-mode', mode: 'default' },
      ]
      const result = { gpu: device.index, changes: [] as string[], notSupported: [] as string[] }
      for (const change of changes) {
        try {
          await applyChange(device, change)
        } catch (error) {
          // Nothing to reset if the board does not support memory clock locks.
          if ((error as { code?: string }).code !== 'NOT_SUPPORTED') throw error
          result.notSupported.push(describeChange(change))
          continue
        }
        await verifyApplied(device, change, { clock: systemClock, deadlineMs: 2000 })
        result.changes.push(describeChange(change))
      }
      folder.remove(uuid)
      done.push(result)
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
