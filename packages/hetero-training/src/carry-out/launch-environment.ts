import { InvalidInputError } from '@pctodl/platform'
import type { PlanFile } from './plan-file.js'

/** Training GPUs of a plan, in rank order. */
export function trainingGpus({ gpus }: PlanFile): (PlanFile['gpus'][number] & { powerLimitW: number })[] {
  return gpus.flatMap((gpu) => (gpu.powerLimitW === null ? [] : [{ ...gpu, powerLimitW: gpu.powerLimitW }]))
}

/**
 * Environment of a launcher such as `torchrun`, in addition to what it sets for its workers (`RANK`, `WORLD_SIZE`,
 * ...):
 *
 * - `CUDA_VISIBLE_DEVICES`: the training GPUs; local rank n is the nth of them.
 * - `PCTODL_SHARES`: samples of each rank in a step. Rank n trains on those of the shuffled global batch that follow
 * the shares before its own.
 * - `PCTODL_MICRO_BATCHES`: number of parts in which each rank processes its share, accumulating the gradients.
 *
 * @param uuids of all training GPUs of the plan, by name
 * @throws InvalidInputError if two GPUs of the plan are the same device
 */
export function launchEnvironment(plan: PlanFile, uuids: ReadonlyMap<string, string>): Record<string, string> {
  const gpus = trainingGpus(plan)
  const visible = gpus.map(({ name }) => uuids.get(name)!)
  const twice = visible.find((uuid, i) => visible.indexOf(uuid) !== i)
  if (twice !== undefined)
    throw new InvalidInputError('device', `${twice} twice`, 'a separate device for each GPU of the plan')
  return {
    CUDA_VISIBLE_DEVICES: visible.join(),
    PCTODL_SHARES: gpus.map(({ share }) => share).join(),
    PCTODL_MICRO_BATCHES: gpus.map(({ microBatches = 1 }) => microBatches).join(),
  }
}
