/** What a prune archives and carries forward, and which cuts are refused. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import { appended, at, calls, pinned, result, summarized } from '../../support/builders.js'
import { archiveAndPrune } from '../../support/commands.js'
import { givenEvents, small } from '../../support/given-events.js'

describe('ArchiveAndPrune', () => {
  it('archives each chunk and prunes, in this order, and carries what a load needs', () => {
    const events = givenEvents(
      small,
      appended('s', { role: 'system' }),
      appended('a'),
      appended('p', { pinned: true }),
      calls('c', 'x'),
      appended('d'),
      appended('e'),
      appended('f'),
      summarized('k', ['a', 'c', 'd']),
    ).when(archiveAndPrune('k')).events
    expect(events).toMatchObject([
      {
        type: 'BatchArchived',
        data: {
          chunkId: 'k',
          depth: 0,
          messageIds: ['a', 'c', 'd'],
          label: `compaction-batch-c1-${at(3)}`,
          content: `[depth:0|start:${at(0)}|end:${at(3)}|count:3]\nsummary of k`,
        },
      },
      {
        type: 'MessagesPruned',
        data: {
          cycle: 1,
          windowStart: 6,
          why: { trigger: 'soft', threshold: 800, terms: { modelMaxTokens: 1_000 } },
          carried: {
            messagesCompressed: 3,
            messagesAppended: 7,
            leading: [1],
            originalTask: 2,
            kept: [{ revision: 3, pinned: true }],
            chunks: [],
            compactedCalls: [{ callId: 'x', name: 'run' }],
          },
        },
      },
    ])
  })

  it('refuses what has no summary', () => {
    givenEvents(appended('a')).when(archiveAndPrune('k')).rejected({ kind: 'NotArchivedYet', chunkId: 'k' })
    givenEvents(appended('a')).when(archiveAndPrune()).rejected({ kind: 'NotArchivedYet', chunkId: '' })
  })

  it('refuses to leave a hole, to part a call from its results, and to take what is pinned', () => {
    givenEvents(small, appended('a'), appended('b'), appended('c'), summarized('k', ['b']))
      .when(archiveAndPrune('k'))
      .rejected({ kind: 'NotAtHead', messageId: 'a' })
    givenEvents(small, calls('c', 'x'), result('r', 'x'), appended('d'), summarized('k', ['c']))
      .when(archiveAndPrune('k'))
      .rejected({ kind: 'CutInsideCallGroup', messageId: 'c' })
    givenEvents(small, calls('c', 'x'), appended('d'), summarized('k', ['c']))
      .when(archiveAndPrune('k'))
      .rejected({ kind: 'CutInsideCallGroup', messageId: 'c' })
    givenEvents(small, appended('a'), appended('b'), summarized('k', ['a']), pinned('a'))
      .when(archiveAndPrune('k'))
      .rejected({ kind: 'MessagePinned', messageId: 'a' })
    givenEvents(small, calls('c', 'x'), result('r', 'x'), appended('d'), summarized('k', ['c', 'r']), pinned('r', 2))
      .when(archiveAndPrune('k'))
      .rejected({ kind: 'MessagePinned', messageId: 'c' })
  })
})
