/** Totals of many reports: by program, version, trigger and strategy. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { forgottenOf } from '../../src/application/losses/forgotten.js'
import { TOTAL_KEYS, totalForgotten, type Counted } from '../../src/application/losses/totals.js'
import { createTalk, forgetting } from './report-input.js'

/** A compaction with one read of a file before it, and this many after it. */
function counted(keys: Counted['keys'], text: string): Counted {
  const talk = createTalk()
  const read = () => talk.work('Read', { file_path: 'src/berth.ts' }, 'export const berths = 12\nexport const quay = 1')
  const left = [talk.user('Please keep MAX_BERTHS at 12,500 in the harbour.'), ...read()]
  return { keys, report: forgottenOf(forgetting({ removed: left, text, after: read() })) }
}

describe('totals', () => {
  it('add up messages, verdicts and repeated work, for each value of each key', () => {
    const all = [
      counted({ program: 'Claude Code', version: '2.1.1', trigger: 'auto' }, 'MAX_BERTHS'),
      counted({ program: 'Claude Code', version: '2.1.14', trigger: 'manual' }, 'nothing'),
      counted({ program: 'context-ledger', strategy: 'extractive' }, 'src/berth.ts'),
    ]
    const totals = totalForgotten(all)
    expect(totals.all).toMatchObject({ compactions: 3, left: { messages: 9 }, behind: { calls: 3 }, uses: { read: 3 } })
    expect(totals.all.counts.identifier).toEqual({ kept: 1, partial: 0, lost: 2, unknown: 0 })
    expect(Object.keys(totals.by.program)).toEqual(['Claude Code', 'context-ledger'])
    expect(totals.by.program['Claude Code']).toMatchObject({ compactions: 2, behind: { calls: 2 } })
    expect(Object.keys(totals.by.version)).toEqual(['2.1.1', '2.1.14', 'unknown'])
    expect(totals.by.strategy['extractive']?.counts.file).toEqual({ kept: 1, partial: 0, lost: 0, unknown: 0 })
    expect(JSON.parse(JSON.stringify(totals))).toEqual(totals)
  })

  it('of no reports are zero', () => {
    expect(totalForgotten([])).toMatchObject({ all: { compactions: 0, behind: { calls: 0 } }, by: { program: {} } })
  })

  it('of each key add up to the whole, in any order', () => {
    const one = fc
      .tuple(fc.constantFrom('pi', 'codex'), fc.constantFrom('MAX_BERTHS', 'src/berth.ts', 'other'))
      .map(([program, text]) => counted({ program }, text))
    fc.assert(
      fc.property(fc.array(one, { maxLength: 6 }), (all) => {
        const totals = totalForgotten(all)
        for (const key of TOTAL_KEYS) {
          const groups = Object.values(totals.by[key])
          expect(groups.reduce((sum, { compactions }) => sum + compactions, 0)).toBe(all.length)
          expect(groups.reduce((sum, { verdicts }) => sum + verdicts.lost, 0)).toBe(totals.all.verdicts.lost)
        }
        expect(totalForgotten(all.toReversed())).toEqual(totals)
      }),
      { numRuns: 30 },
    )
  })
})
