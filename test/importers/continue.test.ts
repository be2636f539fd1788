/** Sessions of Continue: titles, and compactions of its command line. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { continueDev } from '../../src/application/importers/continue.js'
import { isLong, runsOf } from '../support/length.js'
import { rawOf } from '../support/raw-counts/raw-json.js'
import type { Raw } from '../support/written/written.js'
import { asFile, itemsFrom, ofKind } from './reading.js'

it.each([
  ['New Session', undefined],
  ['Untitled Session', undefined],
  ['Paint the hull', 'Paint the hull'],
])('a session with the title %s has the title %s', (title, expected) => {
  const session = { sessionId: '9c0e', title, workspaceDirectory: '', history: [] }
  const items = itemsFrom(continueDev.read('9c0e.json', plainContentId), asFile(session))
  expect(ofKind(items, 'conversation').map((conversation) => conversation.title)).toEqual([expected])
})

describe('a session that the command line compacts in place', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'continue-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  type Step = 'turn' | 'compaction' | 'import'
  const steps = fc.array(fc.constantFrom<Step>('turn', 'turn', 'compaction', 'import'), { maxLength: isLong ? 12 : 6 })

  /** The items of a turn. Every turn has equal words: only their position distinguishes them. */
  const turn = (index: number): readonly Raw[] => [
    { message: { role: 'user', content: 'Go on.' }, contextItems: [] },
    {
      message: { role: 'assistant', content: '', toolCalls: [{ id: `c${String(index)}`, function: { name: 'ls' } }] },
      toolCallStates: [{ toolCallId: `c${String(index)}`, status: 'done', output: [{ content: 'hull.md' }] }],
    },
    { message: { role: 'assistant', content: 'Done.' }, contextItems: [] },
  ]

  it('is recorded once, and its context is what the program sends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), steps, async (hasSystem, all) => {
        const ledger = await openLedger({ store: 'memory' })
        const file = join(folder, '9c0f.json')
        const system: readonly Raw[] = hasSystem ? [{ message: { role: 'system', content: 'Be brief.' } }] : []
        let history: readonly Raw[] = [...system, ...turn(0)]
        let sent: readonly unknown[] = []
        let [recorded, compactions] = [0, 0]
        const read = async (): Promise<void> => {
          await writeFile(file, JSON.stringify({ sessionId: '9c0f', title: 'x', workspaceDirectory: '', history }))
          const { conversations } = await ledger.transcripts.import(file)
          recorded += conversations[0]?.messages ?? 0
          compactions += conversations[0]?.compactions ?? 0
          sent = history.flatMap(({ message, toolCallStates }) => [
            rawOf(message)['content'] === '' ? null : rawOf(message)['content'],
            ...(toolCallStates === undefined ? [] : ['hull.md']),
          ])
          expect((await ledger.context('continue/9c0f')).messages.map(({ content }) => content)).toEqual(sent)
        }
        let [turns, made] = [1, 0]
        await read()
        for (const step of [...all, 'import'] as const) {
          if (step === 'import') await read()
          if (step === 'turn') {
            history = [...history, ...turn(turns)]
            turns += 1
            // What the program drops before an import is never recorded.
            await read()
          }
          if (step === 'compaction') {
            made += 1
            const content = `Summary ${String(made)}`
            history = [...system, { message: { role: 'assistant', content }, conversationSummary: content }]
            await read()
          }
        }
        expect({ recorded, compactions }).toEqual({ recorded: system.length + turns * 4, compactions: made })
        await ledger.close()
      }),
      { numRuns: runsOf(50) },
    )
  })
})
