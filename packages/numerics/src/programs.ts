export { SolverError } from './programs/certify.js'
export type { LinearConstraint, LinearProgram, Term, Variable } from './programs/linear-program.js'
export { type Answer, loadSolver } from './programs/solver.js'
