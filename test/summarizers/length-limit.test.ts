import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { FORMATTER_VERSION } from '../../src/application/summarizers/format-messages.js'
import { createFoldInSummarizer } from '../../src/application/summarizers/fold-in.js'
import { lengthLimit, mostTokens } from '../../src/application/summarizers/length-limit.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { calledTool, chunkJob, sourceMessage } from '../support/summary-jobs.js'

const prose = 'They went to see the boat at the pier and had a long talk with its owner. '.repeat(20)
const code =
  'src/billing/migrations/store.ts calls createPostgresEventStore(migrationOptions) in PostgresStore. '.repeat(20)

describe('the length that a request asks for', () => {
  test('has fewer words for code and paths than for prose', () => {
    expect(lengthLimit(1_000, code, FORMATTER_VERSION).words).toBe(460)
    expect(lengthLimit(1_000, prose, FORMATTER_VERSION).words).toBeGreaterThan(600)
  })

  test('law: an answer with the words of the text that overruns by a third is still accepted', () => {
    const word = fc.constantFrom('the', 'harbour', 'berth', 'insurance', 'a', 'of', 'src/a.ts', '2026-01-05', 'decided')
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 40, maxLength: 80 }),
        fc.integer({ min: 100, max: 2_000 }),
        (words, limit) => {
          const text = words.join(' ')
          const { words: most } = lengthLimit(limit, text, FORMATTER_VERSION)
          const answer = Array.from({ length: Math.floor(most * 1.33) }, (_, at) => words[at % words.length]).join(' ')
          // The bounds on words per token, and the words that the answer repeats more often than the text.
          expect(defaultEstimator.text(answer)).toBeLessThanOrEqual(mostTokens(limit) * 1.08)
        },
      ),
    )
  })

  test('law: a text of so many characters of the messages has 90 to 95 % of the limit', () => {
    const texts = [
      '请把账单服务迁移到新的数据库，绝对不要动审计表。',
      '請求サービスを Postgres 16 に移行し、audit_log には絶対に触らないでください。',
      prose,
      code,
      'Bitte verschiebe die Abrechnung nach Postgres und ändere die Tabelle der Prüfer niemals. ',
    ]
    fc.assert(
      fc.property(fc.constantFrom(...texts), fc.integer({ min: 200, max: 2_000 }), (text, limit) => {
        const { characters } = lengthLimit(limit, text.repeat(10), FORMATTER_VERSION)
        const tokens = defaultEstimator.text(text.repeat(200).slice(0, characters))
        expect(tokens / limit).toBeGreaterThan(0.85)
        expect(tokens / limit).toBeLessThan(0.97)
      }),
    )
  })

  test('a custom template may name tokens, words and characters', () => {
    const model = createScriptedLanguageModel(['x'])
    const prompt = createPrompt('mine', '{max_tokens}/{max_words}/{max_characters}')
    const requestOf = (messages: Parameters<typeof chunkJob>[0]) =>
      createFoldInSummarizer({ model, prompt }).prepare(chunkJob({ maxSummaryTokens: 100, ...messages })).request
    expect(requestOf({ messages: [sourceMessage('user', prose)] })).toMatchObject({ prompt: '92/66/360' })
    expect(requestOf({ messages: calledTool('c', 'run', { command: code }, code) })).toMatchObject({
      prompt: '92/46/360',
    })
  })
})
