import { InvalidInputError } from '@pctodl/platform'
import { type AcquiredLease, acquireServed, ServedLease } from './served-lease.js'
import type { ServiceClientOptions } from './service-client.js'

/**
 * A lease of one MIG instance, from the node service: processes on it are this program's alone, through an MPS daemon of its own where it
 * wants one. Clocks, power limit and modes are the whole board's, which others may share, so an instance's lease sets none; a program that
 * holds a lease of the board, too (`ServiceLease`), sets them by that. Leases of a board and of its instances exclude each other
 * otherwise.
 */
export class InstanceLease extends ServedLease {
  private constructor(uuid: string, acquired: AcquiredLease) {
    super(uuid, `MIG instance ${uuid}`, acquired)
  }

  /**
   * @param uuid of the instance, `MIG-...`
   * @throws InvalidInputError; ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`; `SERVICE_PROTOCOL` where the
   *   service is too old
   */
  static async acquire(uuid: string, options: ServiceClientOptions = {}): Promise<InstanceLease> {
    if (!uuid.startsWith('MIG-'))
      throw new InvalidInputError('uuid', uuid, 'the UUID of a MIG instance (MIG-...), as `nvidia-smi -L` prints it')
    return new InstanceLease(uuid, await acquireServed(uuid, options))
  }

  /** What a process must have in its environment to work on the instance, and to see nothing else. */
  get environment(): { readonly CUDA_VISIBLE_DEVICES: string } {
    return { CUDA_VISIBLE_DEVICES: this.uuid }
  }
}
