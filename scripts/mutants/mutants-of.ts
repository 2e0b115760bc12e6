import ts from 'typescript'

/** One small change of one source file. */
export interface Mutant {
  /** Path relative to the repository root. */
  readonly file: string
  /** Line number, counted from 1. */
  readonly line: number
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** Description of the change: the expression before and after. */
  readonly change: string
  /** Part of a function that must run before the change can have an effect; null if the change is in module code. */
  readonly within: { readonly start: number; readonly end: number; readonly kind: 'statement' | 'expression' } | null
}

const operators: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '||=': '&&=',
  '??=': '&&=',
}

const methods: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  some: 'every',
  every: 'some',
}

/**
 * Returns all mutants of a source: inverted operators, comparisons and conditions, changed numbers and booleans,
 * removed statements. Code in a `throw` is not changed, because no test should depend on error messages; types are not
 * changed either.
 */
export function mutantsOf(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, true)
  const mutants: Mutant[] = []
  const add = (node: ts.Node, replacement: string, shown: ts.Node = node) => {
    const [start, end] = [node.getStart(tree), node.getEnd()]
    const [from, to] = [shown.getStart(tree), shown.getEnd()]
    const before = source.slice(from, to)
    const after = source.slice(from, start) + replacement + source.slice(end, to)
    const { line } = tree.getLineAndCharacterOfPosition(start)
    const change = `${brief(before)} -> ${brief(after)}`
    mutants.push({ file, line: line + 1, start, end, replacement, change, within: within(node, tree) })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isThrowStatement(node)) return
    if (ts.isBinaryExpression(node) && !isText(node.left) && !isText(node.right)) {
      const other = operators[node.operatorToken.getText(tree)]
      if (other !== undefined) add(node.operatorToken, other, node)
    } else if (ts.isPrefixUnaryExpression(node)) {
      const { operator, operand } = node
      if (operator === ts.SyntaxKind.ExclamationToken || operator === ts.SyntaxKind.MinusToken) {
        add(node, ` ${operand.getText(tree)}`)
      }
    } else if (ts.isNumericLiteral(node)) {
      const value = Number(node.text)
      add(node, String(Number.isInteger(value) && value <= 10 ? value + 1 : 2 * value), statementPart(node))
    } else if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false', statementPart(node))
    else if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true', statementPart(node))
    else if (ts.isConditionalExpression(node)) add(node.condition, `!(${node.condition.getText(tree)})`, node)
    else if (ts.isIfStatement(node)) {
      if (!endsInThrow(node.thenStatement)) add(node.expression, 'true')
      add(node.expression, 'false')
    } else if (ts.isExpressionStatement(node) && !isSuperCall(node.expression)) add(node, ';')
    else if (
      ts.isPropertyAccessExpression(node) &&
      ts.isCallExpression(node.parent) &&
      node.parent.expression === node
    ) {
      const other = Object.hasOwn(methods, node.name.text) ? methods[node.name.text] : undefined
      if (other !== undefined) add(node.name, other, node.parent)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return mutants
}

/**
 * Inserts a call of `mark` with the mutant's index at each mutant, so that a test run shows which mutants it reaches.
 */
export function markedSource(source: string, mutants: readonly Mutant[], mark: string): string {
  const marks = mutants.flatMap(({ within: part }, i) => {
    if (part === null) return []
    const call = `${mark}(${i})`
    if (part.kind === 'statement') return [{ at: part.start, text: `${call};` }]
    return [
      { at: part.start, text: `(${call}, ` },
      { at: part.end, text: ')' },
    ]
  })
  return marks
    .reverse()
    .sort((a, b) => b.at - a.at)
    .reduce((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), source)
}

function within(node: ts.Node, tree: ts.SourceFile): Mutant['within'] {
  for (let part = node; !ts.isSourceFile(part); part = part.parent) {
    const { parent } = part
    const place = { start: part.getStart(tree), end: part.getEnd() }
    if (ts.isArrowFunction(parent) && parent.body === part && !ts.isBlock(part)) return { ...place, kind: 'expression' }
    const inBlock = (ts.isBlock(parent) || ts.isCaseOrDefaultClause(parent)) && ts.isStatement(part)
    if (inBlock && ts.findAncestor(part, ts.isFunctionLike)) return { ...place, kind: 'statement' }
  }
  return null
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)
}

function isSuperCall(node: ts.Expression): boolean {
  return ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword
}

function endsInThrow(node: ts.Statement): boolean {
  return ts.isThrowStatement(node) || (ts.isBlock(node) && node.statements.some(ts.isThrowStatement))
}

/** The code to show for a literal, which is not clear without its context. */
function statementPart(node: ts.Node): ts.Node {
  return ts.isSourceFile(node.parent) ? node : node.parent
}

const MAX_SHOWN = 70

function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}...` : line
}
