import { minDemand, profileJob, profileOfMatrix, throughputAt } from '@pctodl/resource-sensitivity/job-profile'

/** What a loader that prepares 100 samples a second on each core needs beside a GPU that computes 900, found from few runs. */
export async function profileLoader(): Promise<string> {
  const tried: number[] = []
  const matrix = await profileJob({
    ...{ job: 'loader', gpus: 1, batchPerGpu: 32, dataset: { gb: 100, samples: 1_000_000 }, residentGb: 4 },
    ...{ storageMBps: 50, fairShare: { cpus: 3, memoryGb: 54 }, memoryPercents: [0, 50, 100], search: { maxCpus: 24 } },
    memoryGBps: async () => 10,
    run: async (cpus) => {
      tried.push(cpus) // a real run comes here: `runTraining` of `@pctodl/resource-sensitivity/node`, or your own
      return { iterationS: { mean: 32 / Math.min(cpus * 100, 900), low: null, high: null }, iterations: 50 }
    },
  })
  const { cpu, memGb } = minDemand(matrix)
  const speed = throughputAt(profileOfMatrix(matrix), 6, memGb)
  return `${tried.length} runs: asks for ${cpu} cores and ${memGb} GB; with 6 cores ${speed.toFixed(1)} times its fair share's speed`
}
