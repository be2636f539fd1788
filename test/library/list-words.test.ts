/** Lists of conversations by words: which ones have all of them, and which of those come first. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { soughtWords } from '../../src/domain/text/sought-words.js'
import { openLedger, type Ledger } from '../../src/index.js'

let ledger: Ledger
/** The texts of the messages of each conversation; the first one is the title. The last conversation is the newest. */
const TALKS: Readonly<Record<string, readonly string[]>> = {
  apart: ['Berth nine is taken', 'The date is wrong', 'It was a bug'],
  together: ['Berth two', 'There is a BUG in the date', 'Thank you'],
  phrase: ['Berth three', 'We call it the date bug'],
  titled: ['A bug of the date', 'Which one?'],
  'titled-phrase': ['The date bug again', 'Which one?'],
  other: ['Crane four', 'Nothing here but 100% bugs'],
}

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  for (const [at, [id, texts]] of Object.entries(TALKS).entries())
    await ledger.append(
      id,
      texts.map((content, number) => ({
        role: number % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content,
        created_at: `2026-03-0${String(at + 1)}T10:00:00Z`,
      })),
    )
})
afterAll(() => ledger.close())

const found = async (options: Parameters<Ledger['list']>[0]): Promise<readonly string[]> =>
  (await ledger.list(options)).conversations.map(({ conversationId }) => conversationId)

it('finds words in any order and case, and shows first where they are in the title, then in one message', async () => {
  const ranked = ['titled-phrase', 'titled', 'phrase', 'together', 'apart']
  expect(await found({ grep: 'date bug' })).toEqual(ranked)
  expect((await found({ grep: 'BUG date' })).toSorted()).toEqual(ranked.toSorted())
  expect(await found({ grep: '"date bug"' })).toEqual(['titled-phrase', 'phrase'])
  expect(await found({ grep: 'berth "date bug"' })).toEqual(['phrase'])
  expect(await found({ grep: 'date bug', sort: 'updated', limit: 2 })).toEqual(['titled-phrase', 'titled'])
  expect(await found({ grep: '100% b_gs' })).toEqual([])
  await expect(found({ sort: 'relevance' })).rejects.toThrow('can be relevance only with grep')
  await expect(found({ grep: Array.from({ length: 33 }, (_, at) => `w${String(at)}`).join(' ') })).rejects.toThrow(
    'grep has more than 32 words',
  )
})

/** How well a conversation fits, computed from its texts; undefined if a word is missing. */
function relevanceOf(id: string, texts: readonly string[], grep: string): number | undefined {
  const words = soughtWords(grep).map((word) => word.toLowerCase())
  const names = `${id}\n${texts[0] ?? ''}`.toLowerCase()
  const messages = texts.map((text) => text.toLowerCase())
  if (!words.every((word) => [names, ...messages].some((text) => text.includes(word)))) return undefined
  const hasAll = (text: string): boolean => words.every((word) => text.includes(word))
  if (names.includes(words.join(' '))) return 4
  if (hasAll(names)) return 3
  if (messages.some((text) => text.includes(words.join(' ')))) return 2
  return messages.some(hasAll) ? 1 : 0
}

it('law: for any words and phrases, exactly the conversations that have all of them, the best first', async () => {
  const word = fc.constantFrom('date', 'Bug', 'berth', 'the', 'is', 'titled', '100%', 'crane', 'nine', "'", '\\')
  const part = fc.oneof(
    word,
    fc.tuple(word, word).map(([a, b]) => `"${a} ${b}"`),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 4 }), async (parts) => {
      const grep = parts.join(' ')
      const expected = Object.entries(TALKS)
        .flatMap(([id, texts], at) => {
          const relevance = relevanceOf(id, texts, grep)
          return relevance === undefined ? [] : [{ id, relevance, at }]
        })
        .toSorted((a, b) => b.relevance - a.relevance || b.at - a.at)
      const { conversations } = await ledger.list({ grep })
      expect(conversations.map(({ conversationId, relevance }) => ({ id: conversationId, relevance }))).toEqual(
        expected.map(({ id, relevance }) => ({ id, relevance })),
      )
    }),
    { numRuns: 60 },
  )
})
