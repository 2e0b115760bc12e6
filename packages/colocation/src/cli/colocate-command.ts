import { type CommandFunction, commandOfCommands } from '@pctodl/command-line'
import { version } from '../../package.json'
import { evaluateCommand } from './evaluate-command.js'
import { pairCommand } from './pair-command.js'
import { predictCommand } from './predict-command.js'

export const pctodlColocate: CommandFunction = commandOfCommands(
  {
    name: 'pctodl colocate',
    version,
    description: 'Predict how jobs slow each other down on one GPU, and choose jobs to share it.',
    example: 'pctodl colocate predict --study ./measured --members resnet50_batch8-inf,vgg19_batch4-inf',
  },
  {
    predict: { summary: 'throughput of each member of a colocation, with intervals', run: predictCommand },
    pair: { summary: 'the best co-runners for a workload, or the best groups of a pool', run: pairCommand },
    evaluate: { summary: 'evaluate models and selection rules on the splits of a study', run: evaluateCommand },
  },
)
