/** What may be pinned, and what is pinned already. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, it } from '@jest/globals'
import { appended, pinned, unpinned } from '../../support/builders.js'
import { givenEvents, small } from '../../support/given-events.js'

describe('PinMessage and UnpinMessage', () => {
  it('record once what changes', () => {
    givenEvents(appended('a')).when({ type: 'PinMessage', messageId: 'a' }).records(pinned('a'))
    givenEvents(appended('a'), pinned('a')).when({ type: 'PinMessage', messageId: 'a' }).records()
    givenEvents(appended('a'), pinned('a')).when({ type: 'UnpinMessage', messageId: 'a' }).records(unpinned('a'))
    givenEvents(appended('a')).when({ type: 'UnpinMessage', messageId: 'a' }).records()
  })

  it('refuse a message that is not live, and a pin that is too large', () => {
    givenEvents(appended('a'))
      .when({ type: 'PinMessage', messageId: 'b' })
      .rejected({ kind: 'MessageNotLive', messageId: 'b', nearest: 'a' })
    givenEvents(small, appended('a', { tokens: 300 }))
      .when({ type: 'PinMessage', messageId: 'a' })
      .rejected({ kind: 'PinTooLarge', messageId: 'a', tokens: 300, limit: 250 })
  })
})
