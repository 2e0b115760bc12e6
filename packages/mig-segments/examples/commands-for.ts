import { boardsOf, parseDeploymentMap } from '../src/map/deployment-map.js'
import { deployActions, renderAction, segmentsOfNode } from '../src/node/deploy-actions.js'

/** The commands that make an empty node with boards of one type run its part of a map. */
export function commandsFor(map: string, node: number, board: string, worker: readonly string[]): string[] {
  const gpusPerNode = 8
  const target = segmentsOfNode(boardsOf(parseDeploymentMap(map, 'map.csv'), board), board, node)
  const gpus = Array.from({ length: gpusPerNode }, (_, index) => ({ index, uuid: '', name: board, migEnabled: false }))
  const nothingRuns = { workersRun: () => false, mpsRuns: () => false }
  const actions = deployActions(target, [], { gpus, instances: [] }, true, nothingRuns)
  return actions.flatMap((action) => renderAction(action, '/run/segments', worker))
}
