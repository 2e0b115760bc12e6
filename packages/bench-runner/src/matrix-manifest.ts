import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { boardVariants } from '@pctodl/gpu-sim'
import { madeBy, sha256 } from './manifest.js'
import type { BenchOptions } from './matrix-options.js'

/** File in a result folder that describes its last matrix. */
export const MATRIX_MANIFEST = 'matrix.json'

/**
 * Describe a matrix before it runs: tasks, algorithms, seeds, and the boards of the ensemble by name and in words. The
 * same call writes the same bytes.
 */
export function writeMatrixManifest(options: BenchOptions): void {
  const { tasks, algorithms, seeds, variants, iterations, powerMarginW, shadow, resultDir, parametersFolder } = options
  const boards = [...new Set(tasks.map(({ board }) => board))]
  const of = parametersFolder === undefined ? {} : { parametersFolder }
  const manifest = {
    matrixVersion: 1,
    madeBy: boards.map((board) => ({ board, ...madeBy({ task: tasks.find((task) => task.board === board)!, ...of }) })),
    algorithms,
    seeds,
    iterations,
    powerMarginW,
    shadow,
    variantsPerBoard: variants ?? 0,
    variants: boards.flatMap((board) =>
      variants === undefined
        ? []
        : boardVariants(board, { count: variants }).map(({ name, differs, physics, host }) => ({
            name,
            differs,
            // Hash of all coefficients: the same name means the same board only if the hash is the same.
            physics: sha256(JSON.stringify({ physics, host })),
          })),
    ),
    tasks,
  }
  writeFileAtomically(path.join(resultDir, MATRIX_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
}
