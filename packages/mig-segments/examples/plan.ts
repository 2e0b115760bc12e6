import { exampleFolder, loadObjectives, loadProfiles, planSegments, scenarioAt } from '@pctodl/mig-segments'

/** Say how many boards the services of a row of objectives need, and what stands on them. */
export async function plan(board: string, row: number): Promise<string> {
  const profiles = loadProfiles(exampleFolder(board))
  const models = profiles.map(({ model }) => model)
  const objectives = scenarioAt(loadObjectives(exampleFolder('example-objectives'), models), row)
  const { gpus, gpuCount, lowerBoundGpus, unserved } = await planSegments(profiles, objectives)
  const lines = gpus.map(({ index, segments }) => {
    const instances = segments.map(({ sizeGpcs, start, model }) => `${sizeGpcs}g@${start} ${model}`)
    return `GPU ${index}: ${instances.join(', ')}`
  })
  const proof = gpuCount === lowerBoundGpus ? 'proved' : `at least ${lowerBoundGpus}`
  return [`${gpuCount} GPUs (${proof})`, ...lines, ...unserved.map(({ message }) => message)].join('\n')
}
