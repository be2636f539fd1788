/** Which items and summaries the working-state view shows in its room. */
import { describe, expect, it } from '@jest/globals'
import { archivedContent, type Batch } from '../../../src/domain/conversation/batch.js'
import { workingStateParts } from '../../../src/domain/conversation/working-state-view.js'
import type { StateItem } from '../../../src/domain/events/index.js'
import { defaultEstimator } from '../../../src/domain/values/tokens.js'

const item = (kind: StateItem['kind'], revision: number, some: Partial<StateItem>): StateItem => ({
  id: `${kind}${String(revision)}`,
  kind,
  by: 'agent',
  text: `the ${kind} of message ${String(revision)}, with enough words that a small view has only some of them`,
  weight: 70,
  sourceRevisions: [revision],
  ...some,
})

const many = (count: number, make: (at: number) => StateItem): StateItem[] =>
  Array.from({ length: count }, (_, at) => make(at + 1))

function shown(items: readonly StateItem[], maxTokens: number, summary = 'A summary of the newest messages.'): string {
  const span = { depth: 0, startTime: '2026-03-10T08:00:00.000Z', endTime: '2026-03-10T09:00:00.000Z', messageCount: 9 }
  const batch: Batch = {
    batchId: 'batch-1',
    label: 'label',
    ...span,
    firstRevision: 1,
    lastRevision: 9,
    content: archivedContent(span, summary),
    workingState: { items: [...items] },
    tokens: 10,
    revision: 10,
  }
  return workingStateParts([batch], { messagesCompressed: 9, cycles: 1 }, maxTokens, defaultEstimator)
    .map(({ text }) => text)
    .join('\n')
}

describe('the working-state view', () => {
  it('shows errors, files and facts although statements of more weight would fill it, and every rule', () => {
    const statements = many(200, (at) => item('statement', at, { by: 'user' }))
    const view = shown(
      [
        ...statements,
        item('error', 301, { weight: 48 }),
        item('file', 302, { weight: 45 }),
        item('fact', 303, { weight: 30 }),
        ...many(10, (at) => item('statement', 400 + at, { by: 'user', weight: 90 })),
      ],
      1_500,
    )
    for (const revision of [301, 302, 303, ...many(10, (at) => item('fact', at, {})).map((_, at) => 401 + at)])
      expect(view).toContain(`r${String(revision)}:`)
    expect(defaultEstimator.text(view)).toBeLessThanOrEqual(1_500)
  })

  it('uses its room', () => {
    const items = many(900, (at) => item('fact', at, { weight: 40 }))
    for (const limit of [1_000, 5_120, 12_000]) {
      const tokens = defaultEstimator.text(shown(items, limit))
      expect(tokens).toBeLessThanOrEqual(limit)
      expect(tokens).toBeGreaterThan(limit * 0.85)
    }
  })

  it('shows a summary with other words than the items have, and an extract only if the items leave room', () => {
    const facts = many(100, (at) => item('fact', at, { weight: 40 }))
    expect(shown(facts, 1_000)).toContain('A summary of the newest messages.')
    const extract = [
      ...facts.slice(0, 4).map(({ text }) => `assistant: ${text}`),
      'assistant: Now I look at this file.',
    ]
    expect(shown(facts, 1_000, extract.join('\n'))).not.toContain('Now I look at this file.')
    expect(shown(facts.slice(0, 4), 1_000, extract.join('\n'))).toContain('Now I look at this file.')
  })

  it('shows a fact that the last report has once', () => {
    const report = item('progress', 1, { text: 'The parser is done. / The printer is next.' })
    const view = shown([report, item('fact', 2, { text: 'The printer is next.' }), item('fact', 3, {})], 1_000)
    expect(view.split('The printer is next.')).toHaveLength(2)
    expect(view).toContain('r3:')
  })
})
