import { InvalidInputError } from '@pctodl/platform'
import { type AcquiredLease, acquireServed, ServedLease } from './served-lease.js'
import type { ServiceClientOptions } from './service-client.js'

/**
 * A lease of one MIG instance, from the node service: only this program's processes may run on it, if wanted through
 * its own MPS daemon. Clocks, power limit and modes belong to the whole board, so an instance's lease cannot set them;
 * a program that also holds a lease of the board (`ServiceLease`) sets them through that. Otherwise, leases of a board
 * and of its instances exclude each other.
 */
export class InstanceLease extends ServedLease {
  private constructor(uuid: string, acquired: AcquiredLease) {
    super(uuid, `MIG instance ${uuid}`, acquired)
  }

  /**
   * @param uuid of the instance, `MIG-...`
   * @throws InvalidInputError; ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`
   */
  static async acquire(uuid: string, options: ServiceClientOptions = {}): Promise<InstanceLease> {
    if (!uuid.startsWith('MIG-'))
      throw new InvalidInputError('uuid', uuid, 'the UUID of a MIG instance (MIG-...), as `nvidia-smi -L` prints it')
    return new InstanceLease(uuid, await acquireServed(uuid, options))
  }

  /** Environment that makes a process see and use this instance only. */
  get environment(): { readonly CUDA_VISIBLE_DEVICES: string } {
    return { CUDA_VISIBLE_DEVICES: this.uuid }
  }
}
