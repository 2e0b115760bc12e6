import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { SeededRandom } from '@pctodl/numerics'

/** A tree in the exported form, and the plain walk that its evaluation has to equal. */
export type Tree = [number[], number[], number[]]

/** A random tree of at most the given depth, in depth-first pre-order. */
export function randomTree(random: SeededRandom, features: number, depth: number): Tree {
  const tree: Tree = [[], [], []]
  const grow = (left: number): void => {
    const node = tree[0].length
    const leaf = left === 0 || random.uniform() < 0.15
    tree[0].push(leaf ? -1 : random.integer(features))
    // Few distinct thresholds, some of them exactly on values that features take.
    tree[1].push(leaf ? random.normal() : random.integer(9) / 2)
    tree[2].push(-1)
    if (leaf) return
    grow(left - 1)
    tree[2][node] = tree[0].length
    grow(left - 1)
  }
  grow(depth)
  return tree
}

export function walk([features, values, rights]: Tree, x: ArrayLike<number>): number {
  let node = 0
  while (features[node] !== -1) {
    node = Math.fround(x[features[node]!]!) <= values[node]! ? node + 1 : rights[node]!
  }
  return values[node]!
}

/** A folder with one made-up network in the Python code's exported layout. */
export function writePublishedFolder(): { folder: string; remove: () => void } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'reference-'))
  const random = new SeededRandom(3)
  const ensemble = (features: number, init: number) => ({
    init,
    learning_rate: 0.1,
    n_features: features,
    trees: Array.from({ length: 20 }, () => randomTree(random, features, 5)),
  })
  const gbr = {
    ensembles: { sm: ensemble(13, 80), mem: ensemble(11, 50), throughput: ensemble(14, 900), power: ensemble(8, 90) },
  }
  const params = {
    sm_base: { lambda_sm: 0.1, gamma_sm: 0.4, beta_sm: 4 },
    sm_system: { alpha: 0.4, beta: 60, kappa: 2 },
    mem_base: { phi_mem: 50, alpha_mem: 0.6, lambda_mem: 0.9, beta_mem: -0.5 },
    mem_system: { k1: 0.001, k2: 0.8, alpha: 4.6, beta: 0.45, mu: 0.001, tau: 16 },
    throughput: {
      kappa_a: 2,
      kappa_b: 30,
      batch_aware_kappa: true,
      gamma_t: 0.7,
      T_start: 700,
      f_ref: 1950,
      f_min: 210,
    },
    power: {
      static: { delta_3: 2e-8, delta_2: -5e-5, delta_1: 0.037, delta_0: 62 },
      dynamic: { gamma_p: 1.1, P_base: 65, f_ref: 1950, f_min: 210 },
    },
    workload: { gflops: 1000, params_M: 25 },
  }
  const entry = { model: 'resnet50', dataset: 'imagenet', platform: null, mem_freq_mhz: 9501 }
  writeFileSync(path.join(folder, 'index.json'), JSON.stringify([{ ...entry, params: 'p.json', gbr: 'g.json.gz' }]))
  writeFileSync(path.join(folder, 'p.json'), JSON.stringify(params))
  writeFileSync(path.join(folder, 'g.json.gz'), gzipSync(JSON.stringify(gbr)))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) }
}
