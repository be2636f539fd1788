/** The two views of what was compacted, as text. */
import { describe, expect, it } from '@jest/globals'
import type { Batch } from '../../../src/domain/conversation/batch.js'
import { archivedContent, batchLabel } from '../../../src/domain/conversation/batch.js'
import { clipArchiveParts, joinParts } from '../../../src/domain/conversation/clip-archive.js'
import type { Sections } from '../../../src/domain/events/index.js'
import { sessionSummaryParts } from '../../../src/domain/conversation/session-summary.js'
import { defaultEstimator } from '../../../src/domain/values/tokens.js'
import { at } from '../../support/builders.js'

function batch(number: number, depth = 0, some: Partial<Batch> = {}): Batch {
  const span = { depth, startTime: at(number), endTime: at(number + 1), messageCount: 20 }
  return {
    batchId: `b${String(number)}`,
    label: batchLabel('c', span.endTime),
    ...span,
    firstRevision: 0n,
    lastRevision: 0n,
    content: archivedContent(span, `Summary ${String(number)}.\nSecond line.`),
    tokens: 5,
    revision: 0n,
    ...some,
  }
}

const CLIPS = { clipFirst: 2, clipMiddle: 1, clipLast: 2 }
const clipped = (batches: readonly Batch[], clips = CLIPS): string =>
  joinParts(clipArchiveParts({ batches, messagesCompressed: batches.length * 20, cycles: 3 }, clips))

describe('archived content', () => {
  it('starts with its header line, and has a label by its end', () => {
    expect(batch(1, 2).content).toBe(
      '[depth:2|start:2026-01-01T00:00:01.000Z|end:2026-01-01T00:00:02.000Z|count:20]\nSummary 1.\nSecond line.',
    )
    expect(batch(1).label).toBe('compaction-batch-c-2026-01-01T00:00:02.000Z')
  })
})

describe('the clip-archive view', () => {
  it('shows all batches while they are few, and no line about others', () => {
    expect(clipped([batch(0), batch(1), batch(2)])).toBe(
      [
        '[Context Summary — 60 messages compressed across 3 compaction cycles]',
        '## Earliest context',
        '[Batch 1 — depth 0, 2026-01-01T00:00:00.000Z to 2026-01-01T00:00:01.000Z]\nSummary 0.\nSecond line.',
        '[Batch 2 — depth 0, 2026-01-01T00:00:01.000Z to 2026-01-01T00:00:02.000Z]\nSummary 1.\nSecond line.',
        '## Recent context',
        '[Batch 3 — depth 0, 2026-01-01T00:00:02.000Z to 2026-01-01T00:00:03.000Z]\nSummary 2.\nSecond line.',
      ].join('\n\n'),
    )
  })

  it('shows the first, the deepest of the rest, and the last, and says how many it leaves out', () => {
    const text = clipped([batch(0), batch(1), batch(2, 1), batch(3, 2), batch(4), batch(5), batch(6)])
    expect(text.split('\n\n').map((paragraph) => paragraph.split('\n')[0])).toEqual([
      '[Context Summary — 140 messages compressed across 3 compaction cycles]',
      '## Earliest context',
      '[Batch 1 — depth 0, 2026-01-01T00:00:00.000Z to 2026-01-01T00:00:01.000Z]',
      '[Batch 2 — depth 0, 2026-01-01T00:00:01.000Z to 2026-01-01T00:00:02.000Z]',
      '## In between',
      '[Batch 4 — depth 2, 2026-01-01T00:00:03.000Z to 2026-01-01T00:00:04.000Z]',
      '[... 2 earlier summaries omitted, searchable via memory_read ...]',
      '## Recent context',
      '[Batch 6 — depth 0, 2026-01-01T00:00:05.000Z to 2026-01-01T00:00:06.000Z]',
      '[Batch 7 — depth 0, 2026-01-01T00:00:06.000Z to 2026-01-01T00:00:07.000Z]',
    ])
  })

  it('shows nothing in between that was not re-summarized', () => {
    const text = clipped([0, 1, 2, 3, 4, 5].map((number) => batch(number)))
    expect(text).not.toContain('## In between')
    expect(text).toContain('[... 2 earlier summaries omitted, searchable via memory_read ...]')
  })

  it('shows no first batches where none are wanted', () => {
    expect(clipped([batch(0), batch(1)], { clipFirst: 0, clipMiddle: 0, clipLast: 1 })).not.toContain(
      '## Earliest context',
    )
  })
})

describe('the session summary', () => {
  const sections = (some: Partial<Sections>): Sections => ({
    completedWork: [],
    decisions: [],
    currentState: [],
    pendingWork: [],
    errors: [],
    ...some,
  })
  const view = (batches: readonly Batch[], originalTask: string | undefined, tokens = 1_000): string =>
    joinParts(sessionSummaryParts({ batches, originalTask, cycles: 4 }, tokens, defaultEstimator))

  it('integrates the sections of all rounds, and has the original task word for word', () => {
    const text = view(
      [
        batch(0, 0, {
          sections: sections({
            completedWork: [{ file: 'a.ts', action: 'edited', description: 'first | try\nfailed' }],
            decisions: ['Integer cents.'],
            currentState: ['Broken.'],
            pendingWork: ['Fix a.ts'],
          }),
        }),
        batch(1, 0, {
          sections: sections({
            completedWork: [{ file: 'a.ts', action: 'edited', description: 'done' }],
            decisions: ['integer cents.', 'UTC.'],
            currentState: ['Green.'],
            errors: ['Flaky: fixed clock.'],
          }),
        }),
      ],
      'Fix the\ndouble booking.',
    )
    expect(text).toBe(
      [
        '## Session Summary (Compaction Round 4)',
        '### Original Task\nFix the\ndouble booking.',
        '### Completed Work\n| File | Action | Description |\n| --- | --- | --- |\n| a.ts | edited | done |',
        '### Key Technical Decisions\n- integer cents.\n- UTC.',
        '### Current State\n- Green.',
        '### Errors and Resolutions\n- Flaky: fixed clock.',
      ].join('\n\n'),
    )
  })

  it('shows the text of a batch that has no sections', () => {
    expect(view([batch(0)], undefined)).toContain('Summary 0.')
  })

  it('stays within its room, the oldest entries first to go, and says how many', () => {
    const decisions = Array.from({ length: 200 }, (_, number) => `Decision number ${String(number)} about the harbour.`)
    const text = view([batch(0, 0, { sections: sections({ decisions }) })], undefined, 400)
    expect(defaultEstimator.text(text)).toBeLessThan(200)
    expect(text).toContain('Decision number 199')
    expect(text).toMatch(/\[\.\.\. \d+ earlier entries omitted/u)
  })
})
