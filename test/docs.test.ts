/** Every command line that the documents give is one that the program takes: its command, its words and its flags exist. */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { parserOf } from '../src/entrypoints/cli/parser.js'

/** The words of a line as a shell has them: quotes kept together, a comment left out, variables by their names. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  for (const [whole, single, double] of line.matchAll(/'([^']*)'|"([^"]*)"|[^\s'"]+/gu)) {
    if (whole.startsWith('#')) break
    if (/^(?:\||&&|;|>)/u.test(whole)) break
    words.push(single ?? double ?? whole)
  }
  return words
}

const documents = ['README.md', 'ARCHITECTURE.md', ...readdirSync('docs').filter((name) => name.endsWith('.md')).toSorted().map((name) => `docs/${name}`)]
const lines = documents.flatMap((document) => {
  const blocks = [...readFileSync(document, 'utf8').matchAll(/```sh\n([\s\S]*?)```/gu)].flatMap(([, block = '']) => block.replaceAll('\\\n', ' ').split('\n'))
  const inline = [...readFileSync(document, 'utf8').matchAll(/`((?:npx )?context-ledger [^`]+)`/gu)].map(([, line = '']) => line)
  return [...blocks, ...inline].flatMap((line) => {
    const at = /(?:^|\s)(?:npx )?context-ledger (.+)$/u.exec(line)?.[1]
    // A name in capitals or an ellipsis stands for something; what is in brackets or alternatives is a form, and no line to type.
    return at === undefined || /[[\]|(]|^COMMAND/u.test(at.split(' #')[0] ?? '') ? [] : [{ document, line: at }]
  })
})

describe('the documents', () => {
  it('have command lines', () => {
    expect(lines.length).toBeGreaterThan(30)
  })

  it.each(lines)('$document: context-ledger $line', async ({ line }) => {
    const words = wordsOf(line)
    const called: string[] = []
    if (words[0] === 'help' || words.includes('--help') || words[0] === 'completion') return
    const parser = await parserOf(words, async (command) => { called.push(command.words) })
    await parser.parseAsync()
    expect(called).toHaveLength(1)
  })
})
