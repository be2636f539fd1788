/** A cycle that did not come about: how often, how long it backs off, and whether it could help. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import { appended, compactionFailed, summarized } from '../../support/builders.js'
import { givenEvents, small } from '../../support/given-events.js'

describe('what went wrong', () => {
  const { attempt: _attempt, retryAfterMessages: _retry, timesSent: _timesSent, ...data } = compactionFailed().data
  const failure = { ...data, sent: 1 }

  it('is counted in a row, and starts anew after a summary', () => {
    expect(givenEvents(small).when({ type: 'RecordFailure', ...failure }).events).toMatchObject([
      { data: { attempt: 1, retryAfterMessages: 1 } },
    ])
    expect(
      givenEvents(small, compactionFailed({ attempt: 4 })).when({ type: 'RecordFailure', ...failure }).events,
    ).toMatchObject([{ data: { attempt: 5, retryAfterMessages: 3 } }])
    expect(
      givenEvents(small, appended('a'), compactionFailed({ attempt: 4 }), summarized('k', ['a'])).when({
        type: 'RecordFailure',
        ...failure,
      }).events,
    ).toMatchObject([{ data: { attempt: 1 } }])
  })

  it('ahead of need rests as long as it ever does, and does not count against what a limit asks for', () => {
    expect(givenEvents(small).when({ type: 'RecordFailure', ...failure, trigger: 'ahead' }).events).toMatchObject([
      { data: { attempt: 1, retryAfterMessages: 3 } },
    ])
    expect(
      givenEvents(small, compactionFailed({ attempt: 4, trigger: 'ahead' })).when({ type: 'RecordFailure', ...failure })
        .events,
    ).toMatchObject([{ data: { attempt: 1, retryAfterMessages: 1 } }])
    expect(
      givenEvents(small, compactionFailed({ attempt: 4, trigger: 'ahead' })).when({
        type: 'RecordFailure',
        ...failure,
        trigger: 'ahead',
      }).events,
    ).toMatchObject([{ data: { attempt: 5 } }])
  })

  it('at a limit on spending waits for no messages: the day has to turn', () => {
    expect(
      givenEvents(small).when({ type: 'RecordFailure', ...failure, failure: 'limit-reached' }).events,
    ).toMatchObject([{ data: { attempt: 1, retryAfterMessages: 0 } }])
  })

  it('could not be helped is said once, and not at all where there is no need', () => {
    const huge = [small, appended('a', { tokens: 900 })]
    const [event] = givenEvents(...huge).when({ type: 'RecordCouldNotHelp', trigger: 'soft' }).events
    expect(event).toMatchObject({
      type: 'CompactionCouldNotHelp',
      data: { reason: 'recent-messages', tokens: 900, limit: 800, messageIds: ['a'] },
    })
    givenEvents(...huge, ...(event === undefined ? [] : [event]))
      .when({ type: 'RecordCouldNotHelp', trigger: 'soft' })
      .records()
    givenEvents(small, appended('a')).when({ type: 'RecordCouldNotHelp', trigger: 'soft' }).records()
  })
})
