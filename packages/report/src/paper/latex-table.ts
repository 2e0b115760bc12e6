import type { ReportTable } from '../table/report-table.js'

const special: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
}

/** Escapes text for LaTeX. */
export function asLatex(text: string): string {
  return text.replace(/[\\~^&%$#_{}]/g, (character) => special[character] ?? `\\${character}`)
}

/**
 * Returns a LaTeX table with booktabs rules, for `\\input`. Columns of figures are aligned right, all others left.
 *
 * @param caption caption of the table, plain text
 * @param label for `\\ref`
 */
export function tableAsLatex({ head, rows }: ReportTable, caption: string, label: string): string {
  const isFigure = (text: string) => /^[-+\d.]/.test(text)
  const columns = head.map((_, i) => (i > 0 && rows.every((row) => isFigure(row[i]!)) ? 'r' : 'l'))
  const line = (cells: readonly string[]) => `    ${cells.map(asLatex).join(' & ')} \\\\`
  return `${[
    '% needs \\usepackage{booktabs}',
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${asLatex(caption)}}`,
    `  \\label{${label}}`,
    `  \\begin{tabular}{${columns.join('')}}`,
    '    \\toprule',
    line(head),
    '    \\midrule',
    ...rows.map(line),
    '    \\bottomrule',
    '  \\end{tabular}',
    '\\end{table}',
  ].join('\n')}\n`
}
