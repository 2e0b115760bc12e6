import type { Highs, HighsCallbackMap, InterruptCallbackEvent, Model, ModelData } from 'highs'
import { certify, SolverError } from './certify.js'
import { assertProgram, type LinearProgram, type Term } from './linear-program.js'

export interface SolveOptions {
  /**
   * Most iterations of the simplex method over all linear programs of the search: work, so that the same program gives the same
   * answer on any machine. The solver looks at the limit now and then and may pass it by some. Default: none.
   */
  readonly maxIterations?: number
  /** Values of some variables to start from; the solver completes them. */
  readonly start?: readonly Term[]
  /** A bound so near to the answer proves it best. Default 1e-9. */
  readonly absoluteGap?: number
  /** How far a constraint may be missed, relative to its largest term and to 1. Default 1e-6. */
  readonly tolerance?: number
}

/** What is known when the search ends. */
export interface Answer {
  /**
   * `optimal`: `values` are best; `limited`: the work ran out, `values` are the best found or null; `infeasible`: nothing keeps
   * the constraints; `unbounded`: there is no best.
   */
  readonly status: 'optimal' | 'limited' | 'infeasible' | 'unbounded'
  /** By variable, checked against the program; null where none was found. */
  readonly values: Float64Array | null
  /** Of `values`; NaN where there are none. */
  readonly objective: number
  /** No solution is better than this: below it when minimizing, above it when maximizing. Infinite where nothing is known. */
  readonly bound: number
}

export interface Solver {
  /**
   * The same program and options give the same answer, bit by bit. It blocks until it is done.
   *
   * @throws InvalidInputError for a program that is none; SolverError where the solver fails or its answer does not hold
   */
  solve(program: LinearProgram, options?: SolveOptions): Answer
}

/** Loading takes some 100 ms, so it is done once, when it is first needed. */
let loading: Promise<Highs> | undefined

/** HiGHS (WebAssembly, one thread, in Node and in browsers) as a solver. */
export async function loadSolver(): Promise<Solver> {
  loading ??= import('highs').then(({ default: load }) => load())
  const highs = await loading
  return { solve: (program, options = {}) => solve(highs, program, options) }
}

function solve(highs: Highs, program: LinearProgram, options: SolveOptions): Answer {
  assertProgram(program)
  const { maxIterations = Number.POSITIVE_INFINITY, start, absoluteGap = 1e-9, tolerance = 1e-6 } = options
  const integer = program.variables.some(({ whole }) => whole)
  if (program.variables.length === 0) return withoutVariables(program)
  return highs.withModel(modelOf(highs, program), (model) => {
    model.options.set({
      output_flag: false,
      mip_rel_gap: 0,
      mip_abs_gap: absoluteGap,
      mip_feasibility_tolerance: tolerance,
      primal_feasibility_tolerance: Math.min(tolerance, 1e-7),
      ...(!integer && Number.isFinite(maxIterations) && { simplex_iteration_limit: maxIterations }),
    })
    if (start !== undefined) {
      model.setSolution({ indices: start.map(([variable]) => variable), values: start.map(([, value]) => value) })
    }
    const callbacks: HighsCallbackMap = {
      [highs.constants.callbackType.mipInterrupt]: ({ data, interrupt }: InterruptCallbackEvent) => {
        if (Number(data.mip_total_lp_iterations ?? 0) >= maxIterations) interrupt()
        return undefined
      },
    }
    model.run(callbacks)
    if (model.getModelStatus() === highs.constants.modelStatus.unboundedOrInfeasible) {
      // Presolve saw that it is one of the two; the simplex method says which.
      model.options.set({ presolve: 'off' })
      model.run(callbacks)
    }
    return answerOf(highs, model, program, integer, tolerance)
  })
}

/** Nothing to choose: the sum of nothing keeps a constraint or does not. HiGHS calls such a model empty. */
function withoutVariables({ constraints }: LinearProgram): Answer {
  const kept = constraints.every(({ atLeast = 0, atMost = 0 }) => atLeast <= 0 && atMost >= 0)
  return kept
    ? { status: 'optimal', values: new Float64Array(0), objective: 0, bound: 0 }
    : { status: 'infeasible', values: null, objective: Number.NaN, bound: Number.NaN }
}

function modelOf(highs: Highs, { sense, variables, constraints }: LinearProgram): ModelData {
  const { objectiveSense, variableType } = highs.constants
  const starts = [0]
  const indices: number[] = []
  const values: number[] = []
  for (const { terms } of constraints) {
    for (const [variable, coefficient] of terms) {
      if (coefficient === 0) continue
      indices.push(variable)
      values.push(coefficient)
    }
    starts.push(indices.length)
  }
  const [numRows, numCols] = [constraints.length, variables.length]
  return {
    numCols,
    numRows,
    sense: sense === 'minimize' ? objectiveSense.minimize : objectiveSense.maximize,
    colCost: variables.map(({ objective }) => objective),
    colLower: variables.map(({ atLeast = 0 }) => atLeast),
    colUpper: variables.map(({ atMost = Number.POSITIVE_INFINITY }) => atMost),
    rowLower: constraints.map(({ atLeast = Number.NEGATIVE_INFINITY }) => atLeast),
    rowUpper: constraints.map(({ atMost = Number.POSITIVE_INFINITY }) => atMost),
    matrix: { format: 'csr', numRows, numCols, starts, indices, values },
    ...(variables.some(({ whole }) => whole) && {
      integrality: variables.map(({ whole }) => (whole === true ? variableType.integer : variableType.continuous)),
    }),
  }
}

function answerOf(highs: Highs, model: Model, program: LinearProgram, integer: boolean, tolerance: number): Answer {
  const { modelStatus } = highs.constants
  const status = model.getModelStatus()
  const worst = program.sense === 'minimize' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (status === modelStatus.infeasible)
    return { status: 'infeasible', values: null, objective: Number.NaN, bound: Number.NaN }
  if (status === modelStatus.unbounded) {
    return { status: 'unbounded', values: null, objective: Number.NaN, bound: worst }
  }
  const optimal = status === modelStatus.optimal
  if (
    !optimal &&
    status !== modelStatus.interrupted &&
    status !== modelStatus.iterationLimit &&
    status !== modelStatus.solutionLimit
  ) {
    throw new SolverError(`the solver ended with status ${status}`)
  }
  const { colValue } = model.getSolution()
  const found = Number(model.info.get('primal_solution_status')) === 2 && colValue && colValue.length > 0
  const values = found ? Float64Array.from(colValue) : null
  if (optimal && values === null) throw new SolverError('the solver calls nothing an optimum')
  const objective = values === null ? Number.NaN : certify(program, values, 10 * tolerance)
  const dualBound = integer ? Number(model.info.get('mip_dual_bound')) : optimal ? objective : worst
  const bound = Number.isFinite(dualBound) ? dualBound : optimal ? objective : worst
  return { status: optimal ? 'optimal' : 'limited', values, objective, bound }
}
