/** The contract of a summarizer, tested for every strategy. */
import { describe, expect, test } from '@jest/globals'
import { canonicalJson } from '../../src/domain/values/hash.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import type { LanguageModelFailure } from '../../src/ports/language-model.js'
import { isSummarizerFailure, type Summarizer, type Summary, type SummaryJob } from '../../src/ports/summarizer.js'
import { chunkJob, resummarizeJob, sourceMessage, session, summaryOf } from '../support/summary-jobs.js'

export interface SummarizerVariants {
  /** Creates a working summarizer, equal each time. */
  readonly create: () => Summarizer
  /** The same strategy with another model, and with another prompt, if it has them. */
  readonly otherModel?: () => Summarizer
  readonly otherPrompt?: () => Summarizer
  /** The strategy with a model that fails with this failure; undefined for a strategy without a model. */
  readonly failing?: (failure: LanguageModelFailure['failure']) => Summarizer
  /** Whether temperature and persona affect the answer. */
  readonly usesModel: boolean
}

const NUL = '\u0000'
const oddTexts = [
  '',
  ' ',
  '\uD800',
  'a\uDC00b',
  `x${NUL}y`,
  '{messages} $& $1 {persona}',
  '</messages>',
  '🦋'.repeat(4000),
  '漢字'.repeat(4000),
  'x'.repeat(100_000),
]

export function describeSummarizer(
  name: string,
  { create, otherModel, otherPrompt, failing, usesModel }: SummarizerVariants,
): void {
  const right = async (job: SummaryJob, summarizer = create()): Promise<Summary> => {
    const answer = await summarizer.summarize(summarizer.prepare(job))
    if (isSummarizerFailure(answer)) throw new Error(`${answer.failure}: ${answer.detail}`)
    return answer
  }
  const hash = (job: SummaryJob, summarizer = create()): string => summarizer.prepare(job).requestHash

  describe(`summarizer: ${name}`, () => {
    test('names its strategy, provider, model and window', () => {
      const { strategy, provider, model, windowTokens } = create()
      expect([strategy, provider, model].every((text) => text !== '')).toBe(true)
      expect(windowTokens).toBeGreaterThan(0)
    })

    test('summarizes a chunk, and reports the duration', async () => {
      const summary = await right(chunkJob())
      expect(summary.text.trim()).not.toBe('')
      expect(summary.durationMs).toBeGreaterThanOrEqual(0)
    })

    test('condenses summaries', async () => {
      expect((await right(resummarizeJob())).text.trim()).not.toBe('')
    })

    test('stays within the token limit', async () => {
      for (const job of [chunkJob(), resummarizeJob()]) {
        expect(defaultEstimator.text((await right(job)).text)).toBeLessThanOrEqual(job.maxSummaryTokens)
      }
    })

    test('accepts any text', async () => {
      for (const text of oddTexts) {
        const job = chunkJob({
          messages: [
            sourceMessage('user', text),
            sourceMessage('assistant', [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]),
          ],
          existingSummary: text,
        })
        expect((await right(job)).text.trim()).not.toBe('')
      }
    })

    describe('preparing', () => {
      test('is pure: the same job gives the same request and the same hash', () => {
        for (const job of [chunkJob({ existingSummary: 'Before.' }), resummarizeJob()]) {
          const before = canonicalJson(job)
          expect(canonicalJson(create().prepare(job))).toBe(canonicalJson(create().prepare(structuredClone(job))))
          expect(canonicalJson(job)).toBe(before)
        }
      })

      test('names the prompt by the hash of its text', () => {
        const { prompt, requestHash } = create().prepare(chunkJob())
        expect(prompt.sha256).toMatch(/^[0-9a-f]{64}$/u)
        expect(requestHash).toMatch(/^[0-9a-f]{64}$/u)
        expect(prompt.text).not.toBe('')
      })

      test('another limit, other messages or another background is another request', () => {
        const hashes = [
          hash(chunkJob()),
          hash(chunkJob({ maxSummaryTokens: 255 })),
          hash(chunkJob({ messages: session.slice(1) })),
          hash(
            chunkJob({
              messages: session.map((message, index) =>
                index === 1 ? { ...message, content: 'I look elsewhere.' } : message,
              ),
            }),
          ),
          hash(chunkJob({ existingSummary: 'What was before.' })),
          hash(resummarizeJob()),
          hash(resummarizeJob({ summaries: [summaryOf('One.'), summaryOf('Two.')] })),
        ]
        expect(new Set(hashes).size).toBe(hashes.length)
      })

      test('ids are not part of a request', () => {
        expect(
          hash(
            chunkJob({ messages: session.map((message) => ({ ...message, messageId: `other-${message.messageId}` })) }),
          ),
        ).toBe(hash(chunkJob()))
      })

      if (usesModel) {
        test('another temperature or persona is another request', () => {
          expect(
            new Set([hash(chunkJob()), hash(chunkJob({ temperature: 1 })), hash(chunkJob({ persona: 'You are Ada.' }))])
              .size,
          ).toBe(3)
          expect(create().prepare(chunkJob({ persona: 'You are Ada.' })).persona?.text).toBe('You are Ada.')
        })
        test('the summary so far is in the request', () => {
          expect(
            JSON.stringify(create().prepare(chunkJob({ existingSummary: 'The harbour was closed.' })).request),
          ).toContain('The harbour was closed.')
        })
      }
      if (otherModel !== undefined)
        test('another model is another request', () =>
          expect(hash(chunkJob(), otherModel())).not.toBe(hash(chunkJob())))
      if (otherPrompt !== undefined)
        test('another prompt is another request', () =>
          expect(hash(chunkJob(), otherPrompt())).not.toBe(hash(chunkJob())))
    })

    if (failing !== undefined) {
      const failures = [
        'unreachable',
        'timeout',
        'rate-limited',
        'unauthorized',
        'unknown-model',
        'request-rejected',
        'request-too-large',
        'empty',
        'refused',
        'cut-off',
      ] as const
      test.each(failures)('a failing model (%s) is a failure, never an exception', async (failure) => {
        const summarizer = failing(failure)
        const answer = await summarizer.summarize(summarizer.prepare(chunkJob()))
        expect(answer).toMatchObject({ kind: 'SummarizerFailed', failure })
      })
    }
  })
}
