/** Several batches become one, a level deeper. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import type { Event } from '../../../src/domain/events/index.js'
import { appended, archived, at } from '../../support/builders.js'
import { resummarize } from '../../support/commands.js'
import { givenEvents } from '../../support/given-events.js'

describe('RecordResummarization', () => {
  const three = ['a', 'b', 'c'].flatMap((name): Event[] => [archived(`b-${name}`, [name])])

  it('records one batch a level deeper, with the span of all', () => {
    const before = givenEvents(appended('a'), appended('b'), appended('c'), ...three)
    const events = before.when(resummarize('b-a', 'b-b')).events
    expect(events).toMatchObject([
      {
        type: 'BatchesResummarized',
        data: {
          sourceBatchIds: ['b-a', 'b-b'],
          depth: 1,
          messageCount: 2,
          startTime: at(0),
          endTime: at(1),
          content: `[depth:1|start:${at(0)}|end:${at(1)}|count:2]\nAll of it.`,
        },
      },
    ])
    givenEvents(appended('a'), appended('b'), appended('c'), ...three, ...events)
      .when(resummarize('b-a', 'b-b'))
      .records()
  })

  it.each([[['b-a', 'b-c']], [['b-b', 'b-a']], [['b-a', 'nobody']], [['b-a']]])(
    'refuses %j: no run of active batches',
    (sources) => {
      givenEvents(appended('a'), appended('b'), appended('c'), ...three)
        .when(resummarize(...sources))
        .rejected({ kind: 'BatchesNotActive', batchIds: sources })
    },
  )
})
