/** The command lines of the documents. */
import { readFileSync } from 'node:fs'

/** The lines of the shell blocks of a document. A continued line is one line. */
export const shellLinesOf = (document: string): string[] =>
  [...readFileSync(document, 'utf8').matchAll(/```sh\n([\s\S]*?)```/gu)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  )

/** The words of a line as a shell has them: quotes kept together, a comment left out, variables by their names. */
export function wordsOf(line: string): string[] {
  const words: string[] = []
  for (const [whole, single, double] of line.matchAll(/'([^']*)'|"([^"]*)"|[^\s'"]+/gu)) {
    if (whole.startsWith('#')) break
    if (/^(?:\||&&|;|>)/u.test(whole)) break
    words.push(single ?? double ?? whole)
  }
  return words
}
