import { exampleFolder, loadObjectives, loadProfiles, planSegments, scenarioAt } from '@pctodl/mig-segments'

/** How many boards the services of a row of objectives need, and what stands on them. */
export async function plan(board: string, row: number): Promise<string> {
  const profiles = loadProfiles(exampleFolder(board))
  const models = profiles.map(({ model }) => model)
  const objectives = scenarioAt(loadObjectives(exampleFolder('example-objectives'), models), row)
  const { gpus, gpuCount, lowerBoundGpus } = await planSegments(profiles, objectives)
  const lines = gpus.map(({ index, segments }) => {
    return `GPU ${index}: ${segments.map(({ sizeGpcs, start, model }) => `${sizeGpcs}g@${start} ${model}`).join(', ')}`
  })
  return [`${gpuCount} GPUs (no plan has fewer than ${lowerBoundGpus})`, ...lines].join('\n')
}
