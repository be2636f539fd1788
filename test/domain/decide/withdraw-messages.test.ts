/** Messages are said no more: live ones only, each once. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, it } from '@jest/globals'
import type { WithdrawMessages } from '../../../src/domain/decide/withdraw-messages.js'
import { appended, archived, prunedBy } from '../../support/builders.js'
import { givenEvents } from '../../support/given-events.js'

const withdraw = (...messageIds: string[]): WithdrawMessages => ({
  type: 'WithdrawMessages',
  messageIds,
  why: 'edited',
})

describe('WithdrawMessages', () => {
  it('records them by their revisions, each once, and nothing where none is named', () => {
    givenEvents(appended('s', { role: 'system' }), appended('a'))
      .when(withdraw('a', 's', 'a'))
      .records({
        type: 'MessagesWithdrawn',
        data: {
          messages: [
            { messageId: 'a', revision: 2 },
            { messageId: 's', revision: 1 },
          ],
          why: 'edited',
        },
      })
    givenEvents(appended('a')).when(withdraw()).records()
  })

  it('refuses what is compacted, and what was never said', () => {
    givenEvents(appended('a'), archived('b', ['a']), prunedBy({ b: ['a'] }))
      .when(withdraw('a'))
      .rejected({ kind: 'MessageNotLive', messageId: 'a' })
    givenEvents(appended('a')).when(withdraw('a', 'x')).rejected({ kind: 'MessageNotLive', messageId: 'x' })
  })
})
