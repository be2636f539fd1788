/** The summary of a chunk: what it covers, and what it cannot. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import { appended, at } from '../../support/builders.js'
import { recordChunk } from '../../support/commands.js'
import { givenEvents } from '../../support/given-events.js'

describe('RecordChunk', () => {
  it('records what it covers', () => {
    const [event] = givenEvents(
      appended('a', { createdAt: at(9) }),
      appended('b', { createdAt: at(4) }),
      appended('c'),
    ).when(recordChunk('a', 'b')).events
    expect(event).toMatchObject({
      type: 'ChunkSummarized',
      data: {
        messageIds: ['a', 'b'],
        firstRevision: 1,
        lastRevision: 2,
        startTime: at(4),
        endTime: at(9),
        messageCount: 2,
        summary: 'They talked.',
      },
    })
    expect(
      givenEvents(appended('a'), appended('b', { createdAt: at(4) }), ...(event === undefined ? [] : [event])).when(
        recordChunk('a', 'b'),
      ).events,
    ).toEqual([])
  })

  it('refuses messages that are gone', () => {
    givenEvents(appended('a')).when(recordChunk('a', 'b')).rejected({ kind: 'MessageNotLive', messageId: 'b' })
  })
})
