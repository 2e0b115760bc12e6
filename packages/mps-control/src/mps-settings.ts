import { InvalidInputError } from '@pctodl/platform'
import { assertPercent, memoryLimit } from './client-environment.js'
import type { ControlProgram } from './control-program.js'
import { MpsError } from './mps-errors.js'
import { setAndVerify } from './servers.js'

/**
 * Settings of a running daemon. Every value is read back. A setting that the daemon's version lacks throws
 * `NOT_SUPPORTED`.
 */
export class MpsSettings {
  readonly #control: ControlProgram

  constructor(control: ControlProgram) {
    this.#control = control
  }

  /** Sets the share for clients of servers that start later, percent. Running servers keep their share. */
  async setDefaultPercent(percent: number): Promise<void> {
    assertPercent(percent)
    const verb = 'default_active_thread_percentage'
    await setAndVerify(this.#control, `set_${verb} ${percent}`, `get_${verb}`, percent)
  }

  /**
   * Sets the share for clients of one server that start later, percent. Running clients keep their share until they
   * restart.
   */
  async setServerPercent(server: number, percent: number): Promise<void> {
    assertPercent(percent)
    const verb = 'active_thread_percentage'
    await setAndVerify(this.#control, `set_${verb} ${server} ${percent}`, `get_${verb} ${server}`, percent)
  }

  /**
   * Sets the maximum device memory of a client, either for servers that start later or for later clients of one server.
   * The daemon does not check the device: it accepts a limit for an unknown number or UUID, which then has no effect.
   */
  async setPinnedMemoryLimit(
    device: string | number,
    bytes: number,
    { server }: { server?: number } = {},
  ): Promise<void> {
    const limit = memoryLimit(bytes)
    if (!/^\d+$|^GPU-[\w-]+$/.test(String(device))) {
      throw new InvalidInputError('device', device, 'an ordinal or a UUID (GPU-...)')
    }
    const [verb, target] =
      server === undefined ? ['default_device_pinned_mem_limit', ''] : ['device_pinned_mem_limit', `${server} `]
    await setAndVerify(
      this.#control,
      `set_${verb} ${target}${device} ${limit}`,
      `get_${verb} ${target}${device}`,
      limit,
    )
  }

  /** Sets the priority of clients of servers that start later: 0 normal, 1 below normal. */
  async setDefaultPriority(priority: 0 | 1): Promise<void> {
    if (priority !== 0 && priority !== 1) throw new InvalidInputError('priority', priority, '0 or 1')
    const verb = 'default_client_priority'
    await setAndVerify(this.#control, `set_${verb} ${priority}`, `get_${verb}`, priority)
  }

  /** Static partitions, as the daemon lists them. @throws MpsError `NOT_SUPPORTED` */
  staticPartitions(): Promise<string[]> {
    return this.#control.askIfKnown('lspart')
  }

  /**
   * Adds a static partition.
   * @param chunks size of the partition, in the chunks that `lspart` reports
   * @returns the id for `ClientLimits.smPartition`
   */
  async addStaticPartition(deviceUuid: string, chunks: number): Promise<string> {
    const answer = (await this.#control.askIfKnown(`sm_partition add ${deviceUuid} ${chunks}`)).join(' ')
    const id = /GPU-[\w-]+\/\S+/.exec(answer)?.[0]
    if (id === undefined)
      throw new MpsError('MPS_REFUSED', `the MPS daemon made no partition of ${chunks} chunks: ${answer}`)
    return id
  }

  async removeStaticPartition(deviceUuid: string, partition: string): Promise<void> {
    await this.#control.askIfKnown(`sm_partition rm ${deviceUuid} ${partition}`)
  }
}
