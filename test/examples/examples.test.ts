/** The examples of the documentation, run as they stand. */
import { describe, expect, it } from '@jest/globals'
import { agentLoop } from '../../examples/agent-loop.js'
import { edition } from '../../examples/edition.js'
import { firstCompaction } from '../../examples/first-compaction.js'
import { ownSummarizer } from '../../examples/own-summarizer.js'
import { timeTravel } from '../../examples/time-travel.js'
import { longTest } from '../support/length.js'

describe('examples', () => {
  it('first-compaction: compacts, finds, and proves that nothing was lost', async () => {
    const lines: string[] = []
    await firstCompaction('memory', (line) => lines.push(line))
    expect(lines[1]).toMatch(/^\[Context Summary — \d+ messages compressed across \d+ compaction cycles;/)
    expect(lines[2]).toContain('E_70')
    expect(lines[3]).toContain('nothing was lost')
  })

  longTest('own-summarizer: the summaries name the strategy that wrote them', async () => {
    const strategies = await ownSummarizer(() => undefined)
    expect(strategies.length).toBeGreaterThan(1)
    expect(new Set(strategies)).toEqual(new Set(['first-lines']))
  })

  longTest('time-travel: the context that an answer names is there as it was', async () => {
    const lines: string[] = []
    expect(await timeTravel((line) => lines.push(line))).toBe(true)
    expect(lines[0]).toMatch(/^"Yes, go ahead\." answered \d+ messages at revision \d+; its hash is the recorded one$/u)
    expect(lines[2]).toContain('among what was compacted')
    expect(lines[4]).toMatch(/^cycle 1: [1-9]\d* messages left, [1-9]\d* batches came, /u)
  })

  longTest(
    'edition: another prompt keeps the rule that the first one forgot; adopted it is shown, and put back the context is what it was',
    async () => {
      const {
        report,
        contexts: [before, adopted, reverted],
      } = await edition(() => undefined)
      const rules = report.losses.find(({ kind }) => kind === 'constraints')
      expect(rules).toMatchObject({
        against: { kept: 0 },
        gained: {
          kept: {
            items: [
              { text: 'Never deploy from a branch.', mentions: 1 },
              { text: expect.stringContaining('REL-412'), mentions: 1 },
            ],
          },
        },
      })
      expect([before.includes('Never deploy'), adopted.includes('Never deploy')]).toEqual([false, true])
      expect(reverted).toBe(before)
    },
    60_000,
  )

  longTest('agent-loop: the agent reads its own memory', async () => {
    const lines: string[] = []
    expect(await agentLoop(undefined, (line) => lines.push(line))).toContain('5544')
    expect(lines[0]).toContain('5544')
  })
})
