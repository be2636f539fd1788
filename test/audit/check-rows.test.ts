/**
 * Who compares the rows: a thread of its own where there is much to compare, and here what that finds, and all where
 * there can be no thread.
 */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { createCheckRowsApart, isMuch } from '../../src/audit/check-rows.js'
import type { Log } from '../../src/recording/load-conversation.js'
import type { CheckRows, RowDifference } from '../../src/ports/row-check.js'
import { createHarness, CONVERSATION } from '../support/harness.js'
import { say } from '../support/conversations.js'

const differs = (conversationId: string, detail: string): RowDifference => ({ conversationId, revision: 1n, detail })

describe('rows compared in a thread of its own', () => {
  let log: Log
  let head: bigint
  let asked: string[]
  let problems: unknown[]
  let inThread: () => Promise<readonly RowDifference[]>
  const { signal } = new AbortController()

  beforeEach(async () => {
    const harness = createHarness()
    await harness.appended(say(1))
    head = 1_000_000n
    log = { ...harness.log, store: { ...harness.log.store, head: () => Promise.resolve(head) } }
    asked = []
    problems = []
    inThread = () => Promise.resolve([])
  })

  const check: CheckRows = async (conversationId, given) =>
    await createCheckRowsApart({
      log,
      here: (id = 'all') => {
        asked.push(`here ${id}`)
        return Promise.resolve([differs(id, 'as it is now')])
      },
      apart: async (id = 'all') => {
        asked.push(`apart ${id}`)
        return await inThread()
      },
      onProblem: (problem) => {
        problems.push(problem)
      },
    })(conversationId, given)

  it('is not worth its start for a short log, or a short conversation of a long one', async () => {
    expect(await isMuch(log, undefined)).toBe(true)
    expect(await isMuch(log, CONVERSATION)).toBe(false)
    head = 500n
    expect(await isMuch(log, undefined)).toBe(false)
  })

  it('is believed where it finds nothing', async () => {
    expect(await check(undefined, signal)).toEqual([])
    expect(asked).toEqual(['apart all'])
  })

  it('is not believed where it finds something: each conversation is looked at again, once', async () => {
    inThread = () =>
      Promise.resolve([
        differs(CONVERSATION, 'was behind'),
        differs('nobody', 'is in no log'),
        differs(CONVERSATION, 'was behind too'),
      ])
    expect(await check(undefined, signal)).toEqual([
      differs(CONVERSATION, 'as it is now'),
      differs('nobody', 'is in no log'),
    ])
    expect(asked).toEqual(['apart all', `here ${CONVERSATION}`])
  })

  it('is done without where it cannot begin, which is told', async () => {
    const why = new Error('there are no threads')
    inThread = () => Promise.reject(why)
    expect(await check(undefined, signal)).toEqual([differs('all', 'as it is now')])
    expect(asked).toEqual(['apart all', 'here all'])
    expect(problems).toEqual([why])
  })

  it('is not done without where nobody wants to know any more', async () => {
    const stop = new AbortController()
    inThread = () => {
      stop.abort(new Error('enough'))
      return Promise.reject(new Error('it was ended'))
    }
    await expect(check(undefined, stop.signal)).rejects.toThrow('enough')
    expect(asked).toEqual(['apart all'])
    expect(problems).toEqual([])
  })
})
