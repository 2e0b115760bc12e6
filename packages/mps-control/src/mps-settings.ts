import { InvalidInputError } from '@pctodl/platform'
import { assertPercent, memoryLimit } from './client-environment.js'
import type { ControlProgram } from './control-program.js'
import { MpsError } from './mps-errors.js'

/** Settings of a running daemon, read back after each change. `NOT_SUPPORTED`: its version lacks the setting. */
export class MpsSettings {
  readonly #control: ControlProgram

  constructor(control: ControlProgram) {
    this.#control = control
  }

  /** Sets the share for clients of servers that start later, percent. Running servers keep their share. */
  async setDefaultPercent(percent: number): Promise<void> {
    assertPercent(percent)
    await this.#set('default_active_thread_percentage', '', percent)
  }

  /** Sets the share for clients of one server that start later, percent. */
  async setServerPercent(server: number, percent: number): Promise<void> {
    assertPercent(percent)
    await this.#set('active_thread_percentage', ` ${server}`, percent)
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
    if (!/^\d+$|^GPU-[\w-]+$/.test(String(device)))
      throw new InvalidInputError('device', device, 'an ordinal or a UUID (GPU-...)')
    if (server === undefined) await this.#set('default_device_pinned_mem_limit', ` ${device}`, limit)
    else await this.#set('device_pinned_mem_limit', ` ${server} ${device}`, limit)
  }

  /** Sets the priority of clients of servers that start later: 0 normal, 1 below normal. */
  async setDefaultPriority(priority: 0 | 1): Promise<void> {
    if (priority !== 0 && priority !== 1) throw new InvalidInputError('priority', priority, '0 or 1')
    await this.#set('default_client_priority', '', priority)
  }

  /** Static partitions, as the daemon lists them. @throws MpsError `NOT_SUPPORTED` */
  staticPartitions(): Promise<string[]> {
    return this.#control.askIfKnown('lspart')
  }

  /**
   * @param chunks size in the chunks that `lspart` reports
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

  /**
   * Changes a setting and reads it back.
   * @param target arguments that select the target of the setting, each after a space
   * @throws MpsError `MPS_REFUSED` unless the new value is read back
   */
  async #set(setting: string, target: string, value: string | number): Promise<void> {
    const command = `set_${setting}${target} ${value}`
    await this.#control.askIfKnown(command)
    const answer = (await this.#control.askIfKnown(`get_${setting}${target}`)).join(' ').trim()
    // The daemon may report a percentage with one decimal, and a memory limit in another unit.
    if (answer === '' || !(Math.abs(numberIn(answer) - numberIn(String(value))) < 0.06))
      throw new MpsError('MPS_REFUSED', `the MPS daemon accepted '${command}', but reads back '${answer}'`)
  }
}

/** A number, or a memory limit in MiB: `2G` equals `2048M`. */
function numberIn(text: string): number {
  const [, value, unit] = /^([\d.]+)\s*([MG])?B?$/i.exec(text) ?? []
  return Number(value) * (unit?.toUpperCase() === 'G' ? 1024 : 1)
}
