import { InvalidInputError } from '@pctodl/platform'
import { ServedLease } from './served-lease.js'
import type { ServiceClientOptions } from './service-client.js'

/**
 * A lease of one MIG instance that the node service grants. During the lease, only this program's processes may run on
 * the instance, with an MPS daemon of their own if they want. The lease cannot set clocks, power limit or modes, which
 * apply to the whole board. For these, the same program must also hold a lease of the board (`ServiceLease`). A board
 * and one of its instances cannot be leased to different programs at the same time.
 */
export class InstanceLease extends ServedLease {
  /**
   * @param uuid UUID of the MIG instance, `MIG-...`
   * @throws InvalidInputError; ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`
   */
  static async acquire(uuid: string, options: ServiceClientOptions = {}): Promise<InstanceLease> {
    if (!uuid.startsWith('MIG-'))
      throw new InvalidInputError('uuid', uuid, 'the UUID of a MIG instance (MIG-...), as `nvidia-smi -L` prints it')
    return (await InstanceLease.take(uuid, `MIG instance ${uuid}`, options)) as InstanceLease
  }

  /** Environment variables with which a process can use only this instance. */
  get environment(): { readonly CUDA_VISIBLE_DEVICES: string } {
    return { CUDA_VISIBLE_DEVICES: this.uuid }
  }
}
