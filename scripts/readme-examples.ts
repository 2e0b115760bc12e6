import { readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { root, workspacePackages } from './pack-packages.js'

/**
 * The first example of each package's README, by folder, and all examples of the root README (`the-repository-1`, ...).
 */
export function readmeExamples(): Map<string, string> {
  const ofPackages = workspacePackages().flatMap(({ folder }) => {
    const [first] = programsOf(`${folder}/README.md`)
    return first === undefined ? [] : [[path.basename(folder), first] as const]
  })
  const ofRepository = programsOf('README.md').map((program, i) => [`the-repository-${i + 1}`, program] as const)
  return new Map([...ofRepository, ...ofPackages])
}

/** The TypeScript programs on a page. */
export function programsOf(page: string): string[] {
  return [...readFileSync(path.join(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, program]) => program!,
  )
}

/** Removes the types from an example, so that Node.js can load it as a module. */
export function javaScriptOf(source: string): string {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  return outputText
}
