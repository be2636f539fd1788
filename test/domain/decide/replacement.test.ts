/** When another state may come into force: an adopted edition, what one had replaced, or what was before some cycles. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import type { Conversation } from '../../../src/domain/conversation/conversation.js'
import { appended, at, pinned } from '../../support/builders.js'
import { givenEvents, givenState, small } from '../../support/given-events.js'

const conversation = givenEvents(small, appended('a'), appended('b'))
/** An edition that knows the conversation as far as it has come. */
const edition = (some: Partial<Conversation> = {}): Conversation => ({
  ...conversation.state,
  editionId: 'e1',
  conversationRevision: 2,
  ...some,
})

describe('AdoptEdition', () => {
  it('records what comes into force, and which messages leave', () => {
    const [a, b] = conversation.state.window
    if (a === undefined || b === undefined) throw new Error('both messages are live')
    const batch = {
      batchId: 'e-b1',
      label: 'of the edition',
      depth: 0,
      startTime: at(0),
      endTime: at(0),
      messageCount: 1,
      firstRevision: 1,
      lastRevision: 1,
      content: 'It is told.',
      tokens: 4,
      revision: 7,
    }
    const { revision: _revision, ...whole } = batch
    expect(
      conversation.when({ type: 'AdoptEdition', edition: edition({ window: [b], batches: [batch], cycles: 1 }) })
        .events,
    ).toMatchObject([
      {
        type: 'EditionAdopted',
        data: {
          editionId: 'e1',
          cycle: 1,
          windowStart: 2,
          left: ['a'],
          restored: [],
          batches: [{ ...whole, origin: { editionId: 'e1', revision: 7 } }],
          carried: { messagesAppended: 2, lineage: { since: 3, edition: { editionId: 'e1', adoptedAt: 3 } } },
        },
      },
    ])
  })

  it('records nothing where it is in force', () => {
    const lineage = { since: 2, edition: { editionId: 'e1', adoptedAt: 2 } }
    givenState({ ...conversation.state, lineage })
      .when({ type: 'AdoptEdition', edition: edition() })
      .records()
  })

  it('refuses one that has not seen everything, or that compacted what is pinned or withdrawn by now', () => {
    conversation
      .when({ type: 'AdoptEdition', edition: edition({ conversationRevision: 1 }) })
      .rejected({ kind: 'ConversationMoved', revision: 2, expected: 1 })
    givenEvents(small, appended('a'), pinned('a'))
      .when({ type: 'AdoptEdition', edition: edition({ window: [] }) })
      .rejected({ kind: 'PinnedMessageCompacted', messageId: 'a' })
    conversation
      .when({ type: 'AdoptEdition', edition: edition({ withdrawn: { messages: 2, compacted: 1 } }) })
      .rejected({ kind: 'WithdrawnMessageCompacted', messages: 1 })
  })
})

describe('RevertEdition', () => {
  it('refuses where no edition is in force', () => {
    conversation
      .when({ type: 'RevertEdition', before: conversation.state, lateSummaries: [] })
      .rejected({ kind: 'NoEditionInForce' })
  })
})

describe('UndoCycles', () => {
  const undone = [{ cycle: 1, revision: 2 }]
  const large = givenEvents(small, appended('a', { tokens: 990 }), appended('b', { tokens: 20 })).state
  const compacted = givenState({ ...large, window: large.window.slice(1), cycles: 1, tokens: 20 })

  it('puts the messages back, and lets the soft limit wait for a chunk of new ones', () => {
    expect(
      givenState({ ...conversation.state, window: conversation.state.window.slice(1), cycles: 1 }).when({
        type: 'UndoCycles',
        undone,
        before: conversation.state,
        lateSummaries: [],
      }).events,
    ).toMatchObject([
      { type: 'CycleUndone', data: { undone, softLimitBackoffUntil: 5, cycle: 0, restored: [{ messageId: 'a' }] } },
    ])
  })

  it('refuses what would pass the hard limit, unless messages are withdrawn behind it', () => {
    compacted
      .when({ type: 'UndoCycles', undone, before: large, lateSummaries: [] })
      .rejected({ kind: 'UndoPassesHardLimit', tokens: 1_010, limit: 1_000, cycle: 1 })
    expect(
      compacted.when({ type: 'UndoCycles', undone, before: large, toWithdraw: true, lateSummaries: [] }).events,
    ).toMatchObject([{ data: { softLimitBackoffUntil: 0 } }])
  })
})
