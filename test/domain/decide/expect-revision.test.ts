/** What was decided on a state holds only while nothing came since. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { it } from '@jest/globals'
import { appended } from '../../support/builders.js'
import { givenEvents } from '../../support/given-events.js'

it('Expect refuses what was decided on another revision', () => {
  givenEvents(appended('a')).when({ type: 'Expect', revision: 1 }).records()
  givenEvents(appended('a'))
    .when({ type: 'Expect', revision: 0 })
    .rejected({ kind: 'ConversationMoved', revision: 1, expected: 0 })
})
