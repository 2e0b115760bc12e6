import { InvalidInputError } from '@pctodl/platform'
import type { PlanFile } from './plan-file.js'

/** GPUs of a plan that train, in the order of their ranks. */
export function trainingGpus({ gpus }: PlanFile): (PlanFile['gpus'][number] & { powerLimitW: number })[] {
  return gpus.flatMap((gpu) => (gpu.powerLimitW === null ? [] : [{ ...gpu, powerLimitW: gpu.powerLimitW }]))
}

/**
 * What a launcher such as `torchrun` is started with, beside what it tells its workers itself (`RANK`, `WORLD_SIZE`, ...):
 *
 * - `CUDA_VISIBLE_DEVICES`: the GPUs that train, such that local rank n is the nth of them.
 * - `PCTODL_SHARES`: samples of each rank in a step; rank n trains on those of the shuffled global batch after the shares before its own.
 * - `PCTODL_MICRO_BATCHES`: in how many parts each rank does its share; their gradients are accumulated.
 *
 * @param uuids of all GPUs of the plan that train, by name
 * @throws InvalidInputError where two GPUs of the plan are one
 */
export function launchEnvironment(plan: PlanFile, uuids: ReadonlyMap<string, string>): Record<string, string> {
  const gpus = trainingGpus(plan)
  const visible = gpus.map(({ name }) => uuids.get(name)!)
  const twice = visible.find((uuid, i) => visible.indexOf(uuid) !== i)
  if (twice !== undefined)
    throw new InvalidInputError('device', `${twice} twice`, 'a GPU of its own for each of the plan')
  return {
    CUDA_VISIBLE_DEVICES: visible.join(),
    PCTODL_SHARES: gpus.map(({ share }) => share).join(),
    PCTODL_MICRO_BATCHES: gpus.map(({ microBatches = 1 }) => microBatches).join(),
  }
}
