/**
 * Every command line that the documents give is one that the program takes: its command, its words and its flags exist.
 */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { openLedger, type MessageInput } from '../src/index.js'
import { parsed } from '../src/interfaces/cli/parser.js'
import { longTest } from './support/length.js'
import { startTestService } from './support/service.js'
import { shellLinesOf, wordsOf } from './support/shell-lines.js'

const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .toSorted()
    .map((path) => `docs/${path}`),
]
const lines = documents.flatMap((document) => {
  const blocks = shellLinesOf(document)
  const inline = [...readFileSync(document, 'utf8').matchAll(/`((?:npx )?context-ledger [^`]+)`/gu)].map(
    ([, line = '']) => line,
  )
  return [...blocks, ...inline].flatMap((line) => {
    const at = /(?:^|\s)(?:npx )?context-ledger (.+)$/u.exec(line)?.[1]
    // A name in capitals or an ellipsis is a placeholder; brackets and alternatives mark a usage form, not a line to
    // type.
    return at === undefined || /[[\]|(]|^COMMAND/u.test(at.split(' #')[0] ?? '') ? [] : [{ document, line: at }]
  })
})

describe('the figures of the first screen', () => {
  longTest('are those of the sample', async () => {
    const firstScreen = `${readFileSync('README.md', 'utf8')}\n${readFileSync('docs/before-after.svg', 'utf8')}`
    const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_400, buffer: 4 } })
    let tokens = 0
    let messages = 0
    for (const line of readFileSync('examples/sample-conversation.jsonl', 'utf8').trimEnd().split('\n')) {
      // The sample is in this repository. Its only line without a message is the header.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const message = JSON.parse(line) as MessageInput & { readonly type?: string }
      if (message.type === 'conversation') continue
      await ledger.append('sample-harbour', message)
      await ledger.admin.waitForCompaction()
      messages += 1
    }
    let [cycles, batches, again] = [0, 0, 0]
    for await (const event of ledger.log('sample-harbour')) {
      if (event.type === 'MessageAppended') tokens += event.data.tokens
      else if (event.type === 'MessagesPruned') cycles += 1
      else if (event.type === 'BatchArchived') batches += 1
      else if (event.type === 'BatchesResummarized') again += 1
    }
    const context = await ledger.context('sample-harbour')
    await ledger.close()
    expect(context.tokens).toBeLessThan(2_000)
    for (const sentence of [
      `${String(messages)} messages, ${tokens.toLocaleString('en-US')} tokens`,
      `${String(cycles)} cycles, ${String(batches)} batches,`,
      `${String(again)} re-summarizations`,
    ])
      expect(firstScreen).toContain(sentence)
    for (const line of [
      'never touch the production database harbour_prod',
      `across ${String(cycles)} compaction cycles`,
    ])
      expect([firstScreen.includes(line), JSON.stringify(context.messages).includes(line)]).toEqual([true, true])
  })
})

describe('the documents', () => {
  it('have command lines', () => {
    expect(lines.length).toBeGreaterThan(30)
  })

  it.each(lines)('$document: context-ledger $line', async ({ line }) => {
    const words = wordsOf(line)
    if (words[0] === 'help' || words.includes('--help') || words[0] === 'completion') return
    expect(await parsed(words)).toBeDefined()
  })
})

/** Requests that the documents show, as curl would send them: those to the address that `serve` has of itself. */
const requests = documents.flatMap((document) =>
  shellLinesOf(document).filter((line) => /^curl\s.*http:\/\/127\.0\.0\.1:7411\//u.test(line)),
)

it('the requests that they show are answered, one behind the other', async () => {
  expect(requests.length).toBeGreaterThan(1)
  const at = await startTestService()
  try {
    for (const request of requests) {
      const words = wordsOf(request)
      const url = new URL(words.find((word) => word.startsWith('http')) ?? '')
      const valuesOf = (flag: string): string[] => words.filter((_word, place) => words[place - 1] === flag)
      const headers = Object.fromEntries(valuesOf('-H').map((header) => header.split(': ', 2)))
      const [body] = valuesOf('-d')
      const { status } = await at.ask(`${url.pathname}${url.search}`, {
        headers,
        ...(body === undefined ? {} : { body }),
      })
      expect([request, status]).toEqual([request, 200])
    }
  } finally {
    await at.close()
  }
})

it('no page lets npm fetch the package by its name, which is not in the registry', () => {
  // These two begin with a checkout, in which npx runs the checkout.
  const ofCheckout = new Set(['README.md', 'docs/getting-started.md'])
  const found = [...documents, 'src/interfaces/cli/install/run-install.ts'].flatMap((document) =>
    readFileSync(document, 'utf8')
      .split('\n')
      .filter(
        (line) =>
          /npm i(?:nstall)?(?: -g| --global)? context-ledger\b/u.test(line) ||
          (!ofCheckout.has(document) && /npx(?:", "args": \["| )context-ledger\b/u.test(line)),
      )
      .map((line) => `${document}: ${line}`),
  )
  expect(found).toEqual([])
})

/** The code blocks of the documents, by the language that they name. */
const codeBlocks = documents.flatMap((document) =>
  [...readFileSync(document, 'utf8').matchAll(/^ *```(\w+)[^\n]*\n([\s\S]*?)^ *```$/gmu)].map(
    ([, language = '', code = '']) => ({ document, language, code }),
  ),
)

it('a program with `using` names a TypeScript file, since Node 20 and 22 reject it in JavaScript', () => {
  const withUsing = codeBlocks.filter(({ code }) => /\busing \w+ =/u.test(code))
  expect(withUsing.length).toBeGreaterThan(0)
  expect(withUsing.filter(({ language, code }) => language !== 'ts' || !/^\/\/ \S+\.ts\n/u.test(code))).toEqual([])
  expect(codeBlocks.filter(({ language }) => language === 'js').length).toBeGreaterThan(0)
})
