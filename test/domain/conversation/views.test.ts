/** The two views of what was compacted, as text. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Batch } from '../../../src/domain/conversation/batch.js'
import { archivedContent, batchLabel } from '../../../src/domain/conversation/batch.js'
import { clipArchiveParts, joinParts, shownAt, type Clips } from '../../../src/domain/conversation/clip-archive.js'
import { mergeSections } from '../../../src/domain/conversation/merge-sections.js'
import { NO_SECTIONS, type Sections } from '../../../src/domain/events/index.js'
import { sessionSummaryParts } from '../../../src/domain/conversation/session-summary.js'
import { defaultEstimator } from '../../../src/domain/values/tokens.js'
import { at } from '../../support/builders.js'

function batch(number: number, depth = 0, some: Partial<Batch> = {}): Batch {
  const span = { depth, startTime: at(number * 60), endTime: at(number * 60 + 1), messageCount: 20 }
  return {
    batchId: `b${String(number)}`,
    label: batchLabel('c', span.endTime),
    ...span,
    firstRevision: 0,
    lastRevision: 0,
    content: archivedContent(span, `Summary ${String(number)}.\nSecond line.`),
    tokens: 5,
    revision: 0,
    ...some,
  }
}

const CLIPS = { clipFirst: 2, clipMiddle: 1, clipLast: 2, maxSummaryTokens: 20 }
const clipped = (batches: readonly Batch[], clips: Partial<Clips> = {}): string =>
  joinParts(clipArchiveParts({ batches, messagesCompressed: batches.length * 20, cycles: 3 }, { ...CLIPS, ...clips }))
const batches = (count: number): Batch[] => Array.from({ length: count }, (_none, number) => batch(number))
const firstLines = (text: string): (string | undefined)[] =>
  text.split('\n\n').map((paragraph) => paragraph.split('\n')[0])

describe('archived content', () => {
  it('starts with its header line, and has a label by its end', () => {
    expect(batch(1, 2).content).toBe(
      '[depth:2|start:2026-01-01T00:01:00.000Z|end:2026-01-01T00:01:01.000Z|count:20]\nSummary 1.\nSecond line.',
    )
    expect(batch(1).label).toBe('compaction-batch-c-2026-01-01T00:01:01.000Z')
  })
})

describe('the clip-archive view', () => {
  it('shows all batches while they are few, with their times to the minute', () => {
    expect(clipped(batches(3))).toBe(
      [
        '[Context Summary — 60 messages compressed across 3 compaction cycles]',
        '## Earliest context',
        '[Batch 1: 2026-01-01 00:00 UTC]\nSummary 0.\nSecond line.',
        '[Batch 2: 2026-01-01 00:01 UTC]\nSummary 1.\nSecond line.',
        '## Recent context',
        '[Batch 3: 2026-01-01 00:02 UTC]\nSummary 2.\nSecond line.',
      ].join('\n\n'),
    )
  })

  it('names days only if they differ', () => {
    const endTime = at(90_000)
    expect(clipped([batch(0, 0, { endTime: at(120) }), batch(1, 0, { endTime })])).toContain(
      '[Batch 1: 2026-01-01 00:00 to 00:02 UTC]',
    )
    expect(clipped([batch(0, 0, { endTime })])).toContain('[Batch 1: 2026-01-01 00:00 to 2026-01-02 01:00 UTC]')
  })

  it('shows the first, the deepest of the rest, and the last, and describes each run that it omits', () => {
    const text = clipped([batch(0), batch(1), batch(2, 1), batch(3, 2), batch(4), batch(5), batch(6)])
    expect(firstLines(text)).toEqual([
      '[Context Summary — 140 messages compressed across 3 compaction cycles]',
      '## Earliest context',
      '[Batch 1: 2026-01-01 00:00 UTC]',
      '[Batch 2: 2026-01-01 00:01 UTC]',
      '## In between',
      '[... 1 summary of 20 messages from 2026-01-01 00:02 UTC omitted, searchable via memory_read: batch b2 ...]',
      '[Batch 4, merged from several summaries: 2026-01-01 00:03 UTC]',
      '[... 1 summary of 20 messages from 2026-01-01 00:04 UTC omitted, searchable via memory_read: batch b4 ...]',
      '## Recent context',
      '[Batch 6: 2026-01-01 00:05 UTC]',
      '[Batch 7: 2026-01-01 00:06 UTC]',
    ])
  })

  it('names the time span, the messages and the ids of many omitted batches in one line', () => {
    const text = clipped(batches(20))
    expect(text).not.toContain('## In between')
    expect(text).toContain(
      '[... 16 summaries of 320 messages from 2026-01-01 00:02 to 00:17 UTC omitted, searchable via memory_read: batches b2, b3, b4, b5, b6, b7, b8, b9 and 8 more ...]',
    )
  })

  it('shows more batches while its budget has room: ten short ones are not hidden', () => {
    const text = clipped(batches(14), { maxSummaryTokens: 75 })
    expect(text).not.toContain('omitted')
    expect(text).toContain('[Batch 14: ')
  })

  it('shows first batches only if some are wanted', () => {
    expect(clipped(batches(2), { clipFirst: 0, clipMiddle: 0, clipLast: 1 })).not.toContain('## Earliest context')
  })

  it('shows or names each batch, and takes no more than its budget beyond the batches that it always shows', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ depth: fc.nat(3), tokens: fc.nat(200) }), { minLength: 1, maxLength: 30 }),
        fc.record({
          clipFirst: fc.nat(3),
          clipMiddle: fc.nat(3),
          clipLast: fc.integer({ min: 1, max: 3 }),
          maxSummaryTokens: fc.nat(150),
        }),
        (sizes, clips) => {
          const all = sizes.map(({ depth, tokens }, number) =>
            batch(number, depth, { tokens, content: archivedContent(batch(number, depth), 'word'.repeat(tokens)) }),
          )
          const view = shownAt(all, clips)
          const { length } = all
          const merged = all.flatMap(({ depth }, index) =>
            depth > 0 && index >= clips.clipFirst && index < length - clips.clipLast ? [index] : [],
          )
          const always = (index: number): boolean => index < clips.clipFirst || index >= length - clips.clipLast
          expect(all.every((_batch, index) => !always(index) || view.has(index))).toBe(true)
          expect(merged.filter((index) => view.has(index)).length).toBeGreaterThanOrEqual(
            Math.min(clips.clipMiddle, merged.length),
          )
          const added = [...view].filter((index) => !always(index)).length - clips.clipMiddle
          const budget = (clips.clipFirst + clips.clipMiddle + clips.clipLast) * clips.maxSummaryTokens
          const tokens = [...view].reduce((sum, index) => sum + (all[index]?.tokens ?? 0), 0)
          expect(added > 0 ? tokens : 0).toBeLessThanOrEqual(budget)
          const text = clipped(all, clips)
          const counted = [...text.matchAll(/\[\.\.\. (\d+) summar/gu)].reduce(
            (sum, [, count]) => sum + Number(count),
            0,
          )
          expect(counted + view.size).toBe(length)
        },
      ),
    )
  })
})

describe('the session summary', () => {
  const withSections = (number: number, some: Partial<Sections>): Batch =>
    batch(number, 0, { sections: { ...NO_SECTIONS, ...some } })
  const view = (visible: readonly Batch[], originalTask: string | undefined, tokens = 1_000): string =>
    joinParts(sessionSummaryParts({ batches: visible, originalTask, cycles: 4 }, tokens, defaultEstimator))
  const attended = (description: string) => ({ file: '', action: 'attended', description })

  it('merges the sections of all batches, and has the original request word for word', () => {
    const text = view(
      [
        withSections(0, {
          requests: ['Fix the double booking.'],
          completedWork: [{ file: 'a.ts', action: 'edited', description: 'first | try\nfailed' }],
          decisions: ['Integer cents.'],
          facts: ['The port is 5432.'],
          currentState: ['Broken.'],
          openItems: ['Fix the rounding in a.ts'],
          nextSteps: ['Read a.ts.'],
        }),
        withSections(1, {
          constraints: ['Never touch audit_log.'],
          completedWork: [{ file: 'a.ts', action: 'edited', description: 'done' }],
          decisions: ['integer cents', 'UTC.'],
          currentState: ['Green.'],
          openItems: ['Review b.ts'],
          closedItems: ['Fixed the rounding in a.ts by integer cents.'],
          errors: ['Flaky: fixed clock.'],
        }),
      ],
      'Fix the\ndouble booking.',
    )
    expect(text).toBe(
      [
        '## Session Summary (Compaction Round 4)',
        '### Original request\nFix the\ndouble booking.',
        '### Requests\n- Fix the double booking.',
        '### Constraints and preferences\n- Never touch audit_log.',
        '### Key decisions\n- integer cents\n- UTC.',
        '### Facts\n- The port is 5432.',
        '### Completed work\n| File | Action | Description |\n| --- | --- | --- |\n| a.ts | edited | first \\| try failed |\n| a.ts | edited | done |',
        '### Errors and resolutions\n- Flaky: fixed clock.',
        '### Earlier state (2026-01-01, may have changed)\n- Broken.',
        '### Current state (as of 2026-01-01 00:01 UTC)\n- Green.',
        '### Open items\n- [ ] Review b.ts',
        '### Next steps (as of 2026-01-01 00:00 UTC)\n- Read a.ts.',
      ].join('\n\n'),
    )
  })

  it('of a dialogue keeps each event, without a column for files, and calls a greeting the first message', () => {
    const work = ['the support group', 'a workshop', 'the parade', 'a picnic', 'the poetry reading', 'a concert']
    const text = view(
      work.map((description, number) => withSections(number, { completedWork: [attended(description)] })),
      'Hey Mel! Good to see you! How have you been?',
    )
    expect(text).toContain('### First message\nHey Mel!')
    expect(text).toContain(
      `### Actions and events\n| Action | Description |\n| --- | --- |\n${work.map((description) => `| attended | ${description} |`).join('\n')}`,
    )
    expect(text).not.toContain('File')
  })

  it('shows each text of a batch without sections under its dates, in time order with the merged sections', () => {
    const text = view([batch(0), withSections(1, { facts: ['A fact.'] }), batch(2)], undefined)
    expect(firstLines(text)).toEqual([
      '## Session Summary (Compaction Round 4)',
      '### 2026-01-01 00:00 UTC',
      '### Facts',
      '### 2026-01-01 00:02 UTC',
    ])
    expect(text).toContain('Summary 0.')
    expect(text).toContain('Summary 2.')
  })

  it('keeps the earliest and the newest texts if not all fit, and describes those that it omits', () => {
    expect(view(batches(40), undefined, 10_000)).not.toContain('omitted')
    const text = view(
      batches(40).map((each) => ({ ...each, tokens: 100 })),
      undefined,
      500,
    )
    expect(firstLines(text)).toEqual([
      '## Session Summary (Compaction Round 4)',
      '### 2026-01-01 00:00 UTC',
      expect.stringMatching(
        /^\[\.\.\. 37 summaries of 740 messages from 2026-01-01 00:01 to 00:37 UTC omitted, searchable via memory_read: batches b1, .* and 29 more \.\.\.\]$/u,
      ),
      '### 2026-01-01 00:38 UTC',
      '### 2026-01-01 00:39 UTC',
    ])
  })

  it('gives requests, constraints and open items room first, and counts what it omits with its dates', () => {
    const entries = (name: string): string[] =>
      Array.from({ length: 100 }, (_none, number) => `${name} number ${String(number)} about the harbour.`)
    const text = view(
      [
        withSections(0, { decisions: entries('Decision'), openItems: ['Book the berth.'] }),
        withSections(1_440, { facts: entries('Fact'), constraints: ['Never book twice.'], errors: ['One error.'] }),
      ],
      undefined,
      400,
    )
    expect(defaultEstimator.text(text)).toBeLessThanOrEqual(420)
    expect(defaultEstimator.text(text)).toBeGreaterThan(320)
    expect(text).toContain('- [ ] Book the berth.')
    expect(text).toContain('- Never book twice.')
    expect(text).toContain('- One error.')
    expect(text).toContain('- Decision number 99 about')
    expect(text).toMatch(/\[\.\.\. \d+ decisions of 2026-01-01 omitted, searchable via memory_read \.\.\.\]/u)
    expect(text).toMatch(/\[\.\.\. \d+ facts of 2026-01-02 omitted/u)
  })

  it('never takes more than its budget, and shows or counts each entry', () => {
    const texts = fc.array(
      fc.string({ minLength: 1, maxLength: 200 }).filter((text) => /[a-z]/iu.test(text)),
      {
        maxLength: 6,
      },
    )
    fc.assert(
      fc.property(
        fc.array(fc.record({ requests: texts, decisions: texts, facts: texts, openItems: texts }), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.integer({ min: 0, max: 600 }),
        (sections, budget) => {
          const all = sections.map((some, number) => withSections(number, some))
          const text = view(all, undefined, budget)
          // Headings and the lines about what has no room take these even without a budget.
          expect(defaultEstimator.text(text)).toBeLessThanOrEqual(Math.max(budget, 0) + 80)
          const { requests, decisions, facts, openItems } = mergeSections(all)
          const entries = [requests, decisions, facts, openItems].flat()
          const isShown = ({ text: entry }: { readonly text: string }): boolean =>
            text.includes(`] ${entry}`) || text.includes(`- ${entry}`)
          expect(entries.every(isShown) || text.includes('omitted, searchable via memory_read')).toBe(true)
        },
      ),
    )
  })

  it('has parts that can be shortened one by one, each with an id', () => {
    const parts = sessionSummaryParts(
      { batches: [withSections(0, { facts: ['A.'], openItems: ['B.'] }), batch(1)], originalTask: 'Hi!', cycles: 1 },
      1_000,
      defaultEstimator,
    )
    expect(parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : []))).toEqual([
      'original-task',
      'facts',
      'b1',
      'open-items',
    ])
  })
})
