export type { LinearConstraint, LinearProgram, Term, Variable } from './linear-program.js'
export { type Answer, loadSolver, type SolveOptions } from './solver.js'
export { SolverError } from './certify.js'
